"""Statistics: arrays in, estimates out."""
