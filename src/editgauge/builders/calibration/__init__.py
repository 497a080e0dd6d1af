"""`build calibration`: fits scores to people's ratings."""
