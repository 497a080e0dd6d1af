"""Build benchmarks, probes, training data and calibrations: the verbs of `editgauge build` as functions."""

from editgauge.audits.probes import probes
from editgauge.builders.attributes import attributes
from editgauge.builders.calibration import calibration
from editgauge.builders.editval import editval
from editgauge.builders.review.app import review
from editgauge.builders.sheets import sheets
from editgauge.builders.training import training
from editgauge.builders.tune import tune
from editgauge.builders.unibench import unibench

__all__ = ["attributes", "calibration", "editval", "probes", "review", "sheets", "training", "tune", "unibench"]
