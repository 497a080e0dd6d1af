"""The verbs of `editgauge build` as functions, with the same words: this module is `editgauge.build`.

They come from two rooms that do not see each other, so that they meet above both.
"""

from editgauge.audits.probes.build import probes
from editgauge.building.verbs import attributes, calibration, editval, review, training, tune, unibench

__all__ = ["attributes", "calibration", "editval", "probes", "review", "training", "tune", "unibench"]
