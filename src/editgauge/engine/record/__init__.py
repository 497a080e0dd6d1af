"""What is recorded beside scores: set scores, judge usage, merged runs."""
