"""What is recorded in addition to scores: set scores, judge usage, merged runs."""
