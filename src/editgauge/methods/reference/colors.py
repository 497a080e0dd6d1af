"""Pixels and colors: 8-bit values, CIELAB, and what the color words of recipes look like."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from editgauge._util.images import Lab, Pixels, as_lab
from editgauge.errors import CannotEditError

Rgb = tuple[int, int, int]

COLORS = MappingProxyType(
    {
        "red": (200, 25, 30),
        "orange": (240, 130, 20),
        "yellow": (245, 215, 30),
        "green": (35, 140, 50),
        "blue": (30, 75, 200),
        "purple": (120, 45, 160),
        "pink": (245, 130, 180),
        "brown": (110, 65, 35),
        "black": (32, 32, 35),
        "white": (244, 244, 242),
        "gray": (128, 128, 128),
        "golden": (212, 170, 55),
    }
)


def rgb_of(color: str) -> Rgb:
    """Return the RGB value of a color name."""
    if color not in COLORS:
        raise CannotEditError(f"There is no color called '{color}'; the reference editors know {', '.join(COLORS)}.")
    return COLORS[color]


def lab_of(color: str) -> Lab:
    """Return the CIELAB value of a color name.

    >>> [round(float(value)) for value in lab_of("gray")]
    [54, 0, 0]
    """
    return np.asarray(as_lab(np.array([[rgb_of(color)]], dtype=np.uint8))[0, 0])


def lab_to_rgb(lab: Lab) -> Pixels:
    """Convert CIELAB to RGB pixels; colors out of gamut are clipped."""
    rgb = cv2.cvtColor(lab.astype(np.float32), cv2.COLOR_LAB2RGB)
    return to_pixels(rgb * 255)


def to_pixels(values: NDArray[Any]) -> Pixels:
    """Round and clip values to 8-bit pixels.

    >>> to_pixels(np.array([-3.0, 7.6, 300.0])).tolist()
    [0, 8, 255]
    """
    return np.asarray(np.clip(np.rint(values), 0, 255), dtype=np.uint8)
