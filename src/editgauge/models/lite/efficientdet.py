"""EfficientDet-Lite, run by LiteRT (formerly TensorFlow Lite).

The files hold the whole detector: boxes come out decoded, with duplicates removed, at most 25 of a picture and each
with the one word that fits best. Of a crowd some people are therefore missing.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from editgauge._util.images import Pixels
from editgauge.models.lite.coco import Boxes, CocoDetector
from editgauge.models.lite.runtime import litert, litert_outputs
from editgauge.models.weights import weights_of

BOXES, NUMBERS, CONFIDENCES, COUNT = (f"StatefulPartitionedCall:{place}" for place in (3, 2, 1, 0))


class _EfficientDet(CocoDetector):
    @cached_property
    def _network(self) -> Any:
        return litert(self._weights or weights_of(self.name).path(f"{self.name}.tflite"), self.id, self._threads)

    def _run(self, square: Pixels) -> tuple[Boxes, NDArray[np.float32], NDArray[np.int64]]:
        outputs = litert_outputs(self._network, square)
        count = int(outputs[COUNT])
        top_left_bottom_right = outputs[BOXES][:count]
        numbers = outputs[NUMBERS][:count].astype(np.int64) + 1  # the network counts from 0, COCO from 1
        return top_left_bottom_right[:, [1, 0, 3, 2]], outputs[CONFIDENCES][:count], numbers


class EfficientDetLite2(_EfficientDet):
    """Sees the 80 kinds of objects of COCO in less than a tenth of a second a picture on one core."""

    name = "efficientdet-lite2"
    weights = (name,)
    id = "EfficientDet-Lite2"
    side = 448
    operating_point = 0.25


class EfficientDetLite0(_EfficientDet):
    """The smaller brother of Lite2: twice as fast, and it overlooks more."""

    name = "efficientdet-lite0"
    weights = (name,)
    id = "EfficientDet-Lite0"
    side = 320
    operating_point = 0.3
