"""The verbs of `editgauge build` as functions, with the same words: this module is `editgauge.build`.

Files of this room are named after their verbs, so that the functions need a place of their own.
"""

from editgauge.building.attributes import attributes
from editgauge.building.calibration import calibration
from editgauge.building.editval import editval
from editgauge.building.reviewing.server import review
from editgauge.building.supervision.training import training
from editgauge.building.supervision.tuning import tune
from editgauge.building.unibench import unibench

__all__ = ["attributes", "calibration", "editval", "review", "training", "tune", "unibench"]
