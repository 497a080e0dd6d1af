"""People's answers as probes."""
