"""Body poses: YOLOX-tiny finds people, RTMPose-s puts 26 joints on each; both run by onnxruntime.

YOLOX: Ge et al. 2021, trained on Human-Art; RTMPose: Jiang et al. 2023, whose output is one row of bins per axis and
joint (SimCC), two bins a pixel. Both are the files of OpenMMLab. The steps around the networks are written here from
the papers: a person is cut out with a quarter more around the box, at the network's aspect ratio.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from editgauge._util.images import Pixels
from editgauge.models.answers import JOINTS, Poses
from editgauge.models.lite._runtime import FromCatalog, card_of, imagenet_scaled, onnx_session
from editgauge.models.roles import ModelCard

NAME = "rtmpose-s"
ID = "YOLOX-tiny, RTMPose-s"
PEOPLE_FILE = "yolox_tiny_8xb8-300e_humanart-6f3252f9.onnx"
JOINTS_FILE = "rtmpose-s_simcc-body7_pt-body7-halpe26_700e-256x192-7f134165_20230605.onnx"
PEOPLE_SIDE = 416
PADDING_VALUE = 114
"""What the square around an image is filled with."""
MIN_PERSON_CONFIDENCE = 0.5
WIDTH, HEIGHT = 192, 256
"""Of what the second network sees."""
CROP_SCALE = 1.25
BINS_PER_PIXEL = 2.0
MAX_PEOPLE = 30

Boxes = NDArray[np.float32]


class RtmPose(FromCatalog):
    """Role `pose_reader`: people with 26 joints; 0.1 s per image plus 0.03 s per person."""

    batch = 1
    weights = (NAME,)

    @property
    def card(self) -> ModelCard:
        """Identity of the model."""
        return card_of(NAME, "pose_reader", ID, joints=len(JOINTS), threshold=MIN_PERSON_CONFIDENCE)

    def find_poses(self, images: Sequence[Pixels]) -> list[Poses]:
        """Detect the people in each image, most confident first."""
        return [self._poses(image) for image in images]

    def _poses(self, image: Pixels) -> Poses:
        boxes, confidences = self._people(image)
        joints = [self._joints(image, box) for box in boxes]
        return Poses(
            boxes=boxes,
            confidences=confidences,
            joints=np.array([positions for positions, _ in joints], np.float32).reshape(-1, len(JOINTS), 2),
            joint_confidences=np.array([sure for _, sure in joints], np.float32).reshape(-1, len(JOINTS)),
        )

    def _people(self, image: Pixels) -> tuple[Boxes, NDArray[np.float32]]:
        height, width = image.shape[:2]
        scale = PEOPLE_SIDE / max(height, width)
        size = max(round(width * scale), 1), max(round(height * scale), 1)
        mode = cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR
        square = np.full((PEOPLE_SIDE, PEOPLE_SIDE, 3), PADDING_VALUE, np.float32)
        square[: size[1], : size[0]] = cv2.resize(image, size, interpolation=mode)
        planes = np.ascontiguousarray(square[..., ::-1].transpose(2, 0, 1)[np.newaxis])  # blue first
        rows, classes = (output[0] for output in self._person_detector.run(None, {"input": planes}))
        rows = rows[(classes == 0) & (rows[:, 4] >= MIN_PERSON_CONFIDENCE)]
        rows = rows[np.argsort(-rows[:, 4], kind="stable")][:MAX_PEOPLE]
        limits = np.array([width, height, width, height], np.float32)
        boxes = np.clip(rows[:, :4] * limits / np.tile(size, 2), 0, limits)
        return np.asarray(boxes, np.float32).reshape(-1, 4), np.asarray(rows[:, 4], np.float32)

    def _joints(self, image: Pixels, box: Boxes) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return joint positions in pixels of the image, and the lower confidence of both axes."""
        matrix = _person_upright(box)
        crop = np.asarray(cv2.warpAffine(image, matrix, (WIDTH, HEIGHT), flags=cv2.INTER_LINEAR), np.uint8)
        across, down = (output[0] for output in self._joint_finder.run(None, {"input": imagenet_scaled(crop)}))
        positions = np.stack([across.argmax(axis=1), down.argmax(axis=1)], axis=1) / BINS_PER_PIXEL
        back = cv2.invertAffineTransform(matrix)
        sure = np.minimum(across.max(axis=1), down.max(axis=1))
        return np.asarray(positions @ back[:, :2].T + back[:, 2], np.float32), np.asarray(
            np.clip(sure, 0, 1), np.float32
        )

    @cached_property
    def _person_detector(self) -> Any:
        return onnx_session(self._file(PEOPLE_FILE), ID, self._threads)

    @cached_property
    def _joint_finder(self) -> Any:
        return onnx_session(self._file(JOINTS_FILE), ID, self._threads)


def _person_upright(box: Boxes) -> NDArray[np.float64]:
    """Return the affine map from the image to the network's input around a box."""
    left, top, right, bottom = (float(side) for side in box)
    width, height = max(right - left, 1.0), max(bottom - top, 1.0)
    scale = 1 / (CROP_SCALE * max(width / WIDTH, height / HEIGHT))
    x, y = (left + right) / 2, (top + bottom) / 2
    return np.array([[scale, 0, WIDTH / 2 - scale * x], [0, scale, HEIGHT / 2 - scale * y]], np.float64)
