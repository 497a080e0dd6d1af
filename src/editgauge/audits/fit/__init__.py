"""Fits the models of the protocol `editgauge` on human ratings: `python -m editgauge.audits.fit --help`."""
