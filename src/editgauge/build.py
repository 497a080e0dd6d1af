"""Build benchmarks, probes, training data and calibrations: the verbs of `editgauge build` as functions."""

from editgauge.audits.probes.build import probes
from editgauge.building.attributes import attributes
from editgauge.building.calibration.build import calibration
from editgauge.building.contact_sheets import sheets
from editgauge.building.editval.build import editval
from editgauge.building.review.server import review
from editgauge.building.training.build import training
from editgauge.building.training.tuning import tune
from editgauge.building.unibench.build import unibench

__all__ = ["attributes", "calibration", "editval", "probes", "review", "sheets", "training", "tune", "unibench"]
