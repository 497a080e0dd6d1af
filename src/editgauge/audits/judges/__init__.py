"""Judges asked about pairs of probes."""
