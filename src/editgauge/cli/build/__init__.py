"""`editgauge build`: one file per verb."""
