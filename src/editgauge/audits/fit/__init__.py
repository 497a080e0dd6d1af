"""Fits the models of the protocol `editgauge` on probes."""
