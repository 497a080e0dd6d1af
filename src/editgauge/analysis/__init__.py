"""Analysis: intervals, tests and tables from run folders. Needs no torch and no image."""
