"""The judges of a run side by side."""
