"""How well pixels fit a word for a color or a style."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import lru_cache

import cv2
import numpy as np
from numpy.typing import NDArray

from editgauge._util.images import Lab, as_lab
from editgauge._util.masks import BoolMask
from editgauge._vision.colors import rgb_of
from editgauge.errors import UnscorableError
from editgauge.recipes import COLORS

Lightness = NDArray[np.float32]
Color = NDArray[np.float32]
"""One color in CIE Lab."""
MAX_GRAY_CHROMA = 10.0
"""Mean chroma in CIE Lab below which an image has no colors."""
SEPIA_HUES = 50.0, 100.0
"""Hue of old prints, in degrees."""


def color_in(text: str | None) -> str | None:
    """Return the first color that a text names.

    >>> color_in("plain white wall"), color_in("wooden")
    ('white', None)
    """
    words: list[str] = re.findall(r"[a-z]+", (text or "").lower())
    return next((word for word in words if _is_color(word)), None)


def _is_color(word: str) -> bool:
    try:
        rgb_of(word)
    except UnscorableError:
        return False
    return True


def middle_color(lab: Lab, where: BoolMask) -> Color:
    """Return the median color of some pixels."""
    return np.asarray(np.median(lab[where], axis=0))


def color_distance(middle: Color, color: str) -> float:
    """Return the distance of a color from a named one, in CIE Lab."""
    return float(np.linalg.norm(middle - _lab_of(color)))


def color_rank(middle: Color, color: str) -> float:
    """Return the share of everyday colors that fit worse than the named one; 1 when none fits better."""
    distance = color_distance(middle, color)
    distances = [color_distance(middle, name) for name in COLORS if name != color]
    return sum(value > distance for value in distances) / len(distances)


def style_fit(text: str | None, before: Lab, after: Lab, where: BoolMask) -> float | None:
    """Return how well the change of some pixels fits the style that a text names, from 0 to 1; None if unknown."""
    for words, fit in _STYLES:
        if re.search(words, (text or "").lower()):
            return float(np.clip(fit(before, after, where), 0, 1))
    return None


def lightness(lab: Lab) -> Lightness:
    """Return lightness from 0 for black to 100 for white."""
    return np.ascontiguousarray(lab[..., 0])


def mean_at(values: Lightness, where: BoolMask) -> float:
    """Return the mean of at least one pixel; numpy takes several times as long."""
    if not where.any():
        raise ValueError("the mask is empty")  # OpenCV would say 0
    return cv2.mean(values, where.view(np.uint8))[0]


def fine_structure(light: Lightness) -> Lightness:
    """Return what a slight blur removes from the lightness, as absolute value."""
    return np.asarray(cv2.absdiff(light, cv2.GaussianBlur(light, (0, 0), 1.5)), np.float32)


def detail(fine: Lightness, where: BoolMask) -> float:
    """Return the mean fine structure of some pixels."""
    return mean_at(fine, where) + 0.05


def _colorless(before: Lab, after: Lab, where: BoolMask) -> float:
    del before
    return 1 - _chroma(after, where) / MAX_GRAY_CHROMA


def _sepia(before: Lab, after: Lab, where: BoolMask) -> float:
    del before
    hue = np.degrees(np.arctan2(after[..., 2], after[..., 1]))[where]
    return float(((hue > SEPIA_HUES[0]) & (hue < SEPIA_HUES[1])).mean())


def _inverted(before: Lab, after: Lab, where: BoolMask) -> float:
    one, other = before[..., 0][where], after[..., 0][where]
    if min(one.std(), other.std()) < 1:
        return 0.0
    return -float(np.corrcoef(one, other)[0, 1])


def _drawn(before: Lab, after: Lab, where: BoolMask) -> float:
    """Colorless and mostly as bright as paper."""
    return _colorless(before, after, where) * float((after[..., 0][where] > 75).mean())


def _flattened(before: Lab, after: Lab, where: BoolMask) -> float:
    """Fine structure is gone, colors and light are not."""
    lost = _softened(before, after, where)
    colored = min(1.0, _chroma(after, where) / max(_chroma(before, where), 1.0))
    return float(np.clip(lost, 0, 1)) * colored * float(_inverted(before, after, where) < 0)


def _softened(before: Lab, after: Lab, where: BoolMask) -> float:
    was, now = (detail(fine_structure(lightness(lab)), where) for lab in (before, after))
    return math.log2(was / now)


def _chroma(lab: Lab, where: BoolMask) -> float:
    return float(np.hypot(lab[..., 1][where], lab[..., 2][where]).mean())


_STYLES: tuple[tuple[str, Callable[[Lab, Lab, BoolMask], float]], ...] = (
    (r"\b(sketch|drawing|drawn|pencil|charcoal)\b", _drawn),
    (r"\b(black.and.white|gr[ae]yscale|monochrome)\b", _colorless),
    (r"\bsepia\b", _sepia),
    (r"\b(negative|inverted)\b", _inverted),
    (r"\b(cartoon|comic|anime|painting|painted|watercolou?r|oil)\b", _flattened),
    (r"\b(blurred|blurry|out of focus)\b", _softened),
)


@lru_cache(maxsize=64)
def _lab_of(color: str) -> Lab:
    patch = np.array([[rgb_of(color)]], np.uint8)
    return np.asarray(as_lab(patch)[0, 0])
