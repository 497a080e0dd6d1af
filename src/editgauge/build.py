"""Build benchmarks, probes, training data and calibrations: the verbs of `editgauge build` as functions."""

from editgauge.audits.probes.build import probes
from editgauge.builders.attributes import attributes
from editgauge.builders.calibration.build import calibration
from editgauge.builders.contact_sheets import sheets
from editgauge.builders.editval.build import editval
from editgauge.builders.review.server import review
from editgauge.builders.training.build import training
from editgauge.builders.training.tuning import tune
from editgauge.builders.unibench.build import unibench

__all__ = ["attributes", "calibration", "editval", "probes", "review", "sheets", "training", "tune", "unibench"]
