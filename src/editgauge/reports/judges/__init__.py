"""The judges of a run beside each other."""
