"""Tables for the terminal, one file per verb."""
