"""`build editval`: an EditVal-style set of edits from COCO annotations."""
