"""The verbs of `editgauge build` as functions, with the same words: this module is `editgauge.build`.

Files of this room are named after their verbs, so that the functions need a place of their own.
"""

from editgauge.building.attributes.build import attributes
from editgauge.building.calibration.build import calibration
from editgauge.building.editval.build import editval
from editgauge.building.review.server import review
from editgauge.building.training.build import training
from editgauge.building.training.tuning import tune
from editgauge.building.unibench.build import unibench

__all__ = ["attributes", "calibration", "editval", "review", "training", "tune", "unibench"]
