"""Studies on other platforms: tasks for people there, and their answers back. `exchanges.py` knows them by name."""
