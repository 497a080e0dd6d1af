"""The review page: people accept, edit or drop what was proposed; every answer is on disk before it is shown.

| file | what it does |
|---|---|
| `desk.py` | the review file: read, changed and saved, one answer at a time |
| `app.py` | the pages |
| `pages.py` | what a page shows, with objects as lines to be drawn over a picture |
| `server.py` | runs it and opens the browser |
"""
