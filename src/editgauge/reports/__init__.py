"""Reports: tables and pictures of a run, for people."""
