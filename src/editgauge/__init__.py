"""EditGauge tells how good text-guided image edits are."""

__version__ = "0.1.0"
