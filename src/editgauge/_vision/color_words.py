"""The everyday word for the color of some pixels."""

from __future__ import annotations

import cv2
import numpy as np

from editgauge._util.images import Pixels
from editgauge._util.masks import BoolMask

COLORLESS = 11.0
"""Chroma in CIE Lab under which people say black, gray or white."""
BLACK, WHITE = 22.0, 82.0
"""Lightness in CIE Lab."""
HUES = (
    (20, "pink"),
    (45, "red"),
    (75, "orange"),
    (105, "yellow"),
    (165, "green"),
    (215, "turquoise"),
    (300, "blue"),
    (330, "purple"),
    (352, "pink"),
    (360, "red"),
)
"""Up to which angle in the plane of a and b, in degrees, a hue has its name."""
BROWN = 58.0
"""Lightness under which orange and dull yellow are called brown."""
PALE = 55.0
"""Lightness from which a bluish red is called pink."""


def color_word(picture: Pixels, where: BoolMask) -> str:
    """The name that the middle color of the pixels has in everyday English.

    >>> everywhere = np.ones((4, 4), bool)
    >>> [color_word(np.full((4, 4, 3), rgb, np.uint8), everywhere) for rgb in ((200, 20, 30), (90, 60, 30), (9, 9, 9))]
    ['red', 'brown', 'black']
    """
    if not where.any():
        raise ValueError("no pixel, no color: the mask is empty")
    rgb = picture[where].astype(np.float32)[np.newaxis] / 255
    lightness, a, b = (float(value) for value in np.median(cv2.cvtColor(rgb, cv2.COLOR_RGB2LAB)[0], axis=0))
    chroma = float(np.hypot(a, b))
    if lightness < BLACK and chroma < 2 * COLORLESS:
        return "black"
    if chroma < COLORLESS:
        return "white" if lightness > WHITE else "gray"
    hue = float(np.degrees(np.arctan2(b, a)) % 360)
    name = hue_word(a, b)
    if name == "pink" and lightness < PALE:
        return "purple" if 300 < hue < 345 else "red"
    if (name == "orange" or (name == "yellow" and chroma < 45)) and lightness < BROWN:
        return "brown"
    return name


def hue_word(a: float, b: float) -> str:
    """The name of a direction in the plane of a and b of CIE Lab.

    >>> hue_word(0, 10), hue_word(0, -10), hue_word(-10, 5)
    ('yellow', 'blue', 'green')
    """
    hue = float(np.degrees(np.arctan2(b, a)) % 360)
    return next(word for limit, word in HUES if hue <= limit)
