"""PP-OCR (PaddleOCR), run by onnxruntime: which words stand in an image, and where.

A first network marks the pixels of text; each marked stretch is cut out upright and read letter by letter by a second
one (Du et al. 2020, `arXiv:2009.09941`; the boxes after Liao et al. 2020). The steps between the networks are written
here from those descriptions, so that nothing except OpenCV is needed. Text that stands on its head is not turned.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from editgauge._util.images import Pixels
from editgauge.models.answers import TextLines
from editgauge.models.lite._runtime import FromCatalog, card_of, onnx_session
from editgauge.models.roles import ModelCard

NAME = "pp-ocr"
ID = "PP-OCRv6 small"
SHORTEST_SIDE, LONGEST_SIDE = 640, 1280
"""Small images are enlarged, so that small letters can be seen, and large ones reduced."""
STEP = 32
MIN_PIXEL_PROBABILITY = 0.3
"""How sure the first network has to be of a pixel."""
MIN_LINE_SCORE = 0.5
"""How sure it has to be of a line, on the average of its pixels."""
GROWN = 1.6
"""The network marks the middle of lines; each side is moved out by this times area over circumference."""
MIN_LINE_HEIGHT = 5
"""Of a line in pixels of what the network sees."""
LETTER_HEIGHT = 48
MIN_CONFIDENCE = 0.5
"""How sure the second network has to be, on the average of the letters."""
MAX_LINES = 200

Corners = NDArray[np.float32]
"""4 x 2: x and y of the corners, from the top left one in the direction of a clock."""


class PpOcr(FromCatalog):
    """Role `text_reader`: lines of text in most scripts; 0.3 s per image, more with text."""

    batch = 1
    weights = (NAME,)

    @property
    def card(self) -> ModelCard:
        """Identity of the model."""
        return card_of(
            NAME, "text_reader", ID, shorter_side=SHORTEST_SIDE, longer_side=LONGEST_SIDE, threshold=MIN_CONFIDENCE
        )

    def read(self, images: Sequence[Pixels]) -> list[TextLines]:
        """Read the lines of each image, from top to bottom."""
        return [self._lines(image) for image in images]

    def _lines(self, image: Pixels) -> TextLines:
        outlines = self._find(image)
        read = [(self._spell(_upright(image, corners)), corners) for corners in outlines]
        lines = [(text, sure, corners) for (text, sure), corners in read if text and sure >= MIN_CONFIDENCE]
        lines.sort(key=lambda line: (round(float(line[2][:, 1].min()) / 10), float(line[2][:, 0].min())))
        return TextLines(
            tuple(text for text, _, _ in lines),
            np.array([corners for _, _, corners in lines], np.float32).reshape(-1, 4, 2),
            np.array([sure for _, sure, _ in lines], np.float32),
        )

    def _find(self, image: Pixels) -> list[Corners]:
        """Return the corners of every line, in pixels of the image."""
        height, width = image.shape[:2]
        scale = min(max(SHORTEST_SIDE / min(height, width), 1.0), LONGEST_SIDE / max(height, width))
        seen_width, seen_height = (max(round(side * scale / STEP), 1) * STEP for side in (width, height))
        mode = cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR
        resized = cv2.resize(image, (seen_width, seen_height), interpolation=mode)
        sure = self._finder.run(None, {"x": _planes(np.asarray(resized, np.uint8))})[0][0, 0]
        back = np.array([width / seen_width, height / seen_height], np.float32)
        return [corners * back for corners in lines_in(sure)]

    def _spell(self, line: Pixels) -> tuple[str, float]:
        """Decode a line greedily (CTC) and return its text and confidence."""
        height, width = line.shape[:2]
        resized = cv2.resize(line, (max(round(width * LETTER_HEIGHT / height), 16), LETTER_HEIGHT))
        steps = self._reader.run(None, {"x": _planes(np.asarray(resized, np.uint8))})[0][0]
        best = steps.argmax(axis=1)
        starts = (best != 0) & (best != np.concatenate([[-1], best[:-1]]))
        text = "".join(self._letters[index] for index in best[starts].tolist()).strip()
        return text, float(steps.max(axis=1)[starts].mean()) if text else 0.0

    @cached_property
    def _letters(self) -> list[str]:
        """Characters by output index: the first is CTC's blank, the last a space."""
        listed = self._reader.get_modelmeta().custom_metadata_map["character"].splitlines()
        return ["", *listed, " "]

    @cached_property
    def _finder(self) -> Any:
        return onnx_session(self._file("PP-OCRv6_det_small.onnx"), ID, self._threads)

    @cached_property
    def _reader(self) -> Any:
        return onnx_session(self._file("PP-OCRv6_rec_small.onnx"), ID, self._threads)


def lines_in(sure: NDArray[np.float32]) -> list[Corners]:
    """Extract the corners of text lines from a probability map."""
    marked = (sure > MIN_PIXEL_PROBABILITY).astype(np.uint8)
    outlines, _ = cv2.findContours(marked, cv2.RETR_LIST, cv2.CHAIN_APPROX_SIMPLE)
    rectangles = [cv2.minAreaRect(outline) for outline in sorted(outlines, key=cv2.contourArea)[::-1][:MAX_LINES]]
    return [
        _corners(_grown(rectangle))
        for rectangle in rectangles
        if min(rectangle[1]) >= MIN_LINE_HEIGHT / 2 and _mean_inside(sure, rectangle) >= MIN_LINE_SCORE
    ]


def _grown(rectangle: Any) -> Any:
    (x, y), (width, height), angle = rectangle
    out = GROWN * width * height / max(2 * (width + height), 1e-6)
    return (x, y), (width + 2 * out, height + 2 * out), angle


def _mean_inside(sure: NDArray[np.float32], rectangle: Any) -> float:
    corners = cv2.boxPoints(rectangle)
    left, top = np.maximum(np.floor(corners.min(axis=0)).astype(int), 0)
    right, bottom = np.ceil(corners.max(axis=0)).astype(int) + 1
    part = sure[top:bottom, left:right]
    mask = np.zeros(part.shape, np.uint8)
    cv2.fillPoly(mask, [np.round(corners - (left, top)).astype(np.int32)], 1)
    return float(part[mask > 0].mean()) if mask.any() else 0.0


def _corners(rectangle: Any) -> Corners:
    """Order corners clockwise from the top left."""
    points = np.asarray(cv2.boxPoints(rectangle), np.float32)
    by_x = points[np.argsort(points[:, 0], kind="stable")]
    left, right = by_x[:2], by_x[2:]
    left, right = left[np.argsort(left[:, 1], kind="stable")], right[np.argsort(right[:, 1], kind="stable")]
    return np.array([left[0], right[0], right[1], left[1]], np.float32)


def _upright(image: Pixels, corners: Corners) -> Pixels:
    """Warp the area between the corners to a rectangle; rotate a vertical line by 90 degrees."""
    top, right, bottom, left = (float(np.linalg.norm(corners[index] - corners[index - 3])) for index in range(4))
    size = (max(round(max(top, bottom)), 1), max(round(max(left, right)), 1))
    target = np.array([[0, 0], [size[0], 0], [size[0], size[1]], [0, size[1]]], np.float32)
    matrix = cv2.getPerspectiveTransform(corners, target)
    line = cv2.warpPerspective(image, matrix, size, flags=cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE)
    line = np.rot90(line) if size[1] >= 1.5 * size[0] else line
    return np.ascontiguousarray(line, np.uint8)


def _planes(image: Pixels) -> NDArray[np.float32]:
    """Convert to 1 x 3 x height x width in BGR from -1 to 1, as in training."""
    return np.ascontiguousarray((image[..., ::-1].astype(np.float32) / 127.5 - 1).transpose(2, 0, 1)[np.newaxis])
