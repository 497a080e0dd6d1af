"""SSD-MobileNetV2, run by OpenCV: for machines that have pip and no npm, or no LiteRT."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from editgauge._util.images import Pixels
from editgauge.models.lite.coco import Boxes, CocoDetector
from editgauge.models.weights import weights_of

GRAPH = "frozen_inference_graph.pb"
TEXT = "ssd_mobilenet_v2_coco_2018_03_29.pbtxt"


class SsdMobileNetV2(CocoDetector):
    """Sees the 80 kinds of objects of COCO: at most 100 of a picture, from a confidence of 0.01 on."""

    name = "ssd-mobilenet-v2"
    weights = (name,)
    id = "SSD-MobileNetV2 (COCO, 2018-03-29)"
    side = 300
    operating_point = 0.3

    @cached_property
    def _net(self) -> Any:
        import cv2

        folder = self._weights or weights_of(self.name).path(GRAPH).parent
        return cv2.dnn.readNetFromTensorflow(str(folder / GRAPH), str(folder / TEXT))

    def _run(self, square: Pixels) -> tuple[Boxes, NDArray[np.float32], NDArray[np.int64]]:
        import cv2

        self._net.setInput(cv2.dnn.blobFromImage(square))
        rows = self._net.forward()[0, 0]  # picture, number, confidence, left, top, right, bottom
        return rows[:, 3:7], rows[:, 2], rows[:, 1].astype(np.int64)
