"""How pixels look: how well they fit a word for a color or a style, and how sharp, even and new they are."""

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
"""One, in CIE Lab."""
COLORLESS = 10.0
"""Mean chroma in CIE Lab under which a picture has no colors."""
SEPIA = 50.0, 100.0
"""Degrees of hue between which old prints lie."""
FINEST = 1.0
"""Standard deviation in pixels of the blur that takes the finest structure away."""
FAINT = 0.25
"""Squared lightness of an invisible structure."""
LEVEL = 4.0
"""Lightness, out of 100, within which two pixels are equally bright."""


def color_in(text: str | None) -> str | None:
    """The first color that a text names.

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
    """The median color of some pixels."""
    return np.asarray(np.median(lab[where], axis=0))


def color_distance(middle: Color, color: str) -> float:
    """How far a color is from a named one, in CIE Lab."""
    return float(np.linalg.norm(middle - _lab_of(color)))


def color_rank(middle: Color, color: str) -> float:
    """The share of everyday colors that fit worse than the named one does; 1 when none fits better."""
    own = color_distance(middle, color)
    others = [color_distance(middle, other) for other in COLORS if other != color]
    return sum(other > own for other in others) / len(others)


def style_fit(text: str | None, before: Lab, after: Lab, where: BoolMask) -> float | None:
    """How well what became of some pixels fits the style that a text names, from 0 to 1; None for any other style."""
    for words, fit in _STYLES:
        if re.search(words, (text or "").lower()):
            return float(np.clip(fit(before, after, where), 0, 1))
    return None


def lightness(lab: Lab) -> Lightness:
    """From 0 for black to 100 for white."""
    return np.ascontiguousarray(lab[..., 0])


def mean_at(values: Lightness, where: BoolMask) -> float:
    """The mean of some pixels, of at least one; numpy takes several times as long."""
    if not where.any():
        raise ValueError("no pixel has no mean")  # OpenCV would say 0
    return cv2.mean(values, where.view(np.uint8))[0]


def fine_structure(light: Lightness) -> Lightness:
    """What a slight blur takes away of the lightness, without its sign."""
    return np.asarray(cv2.absdiff(light, cv2.GaussianBlur(light, (0, 0), 1.5)), np.float32)


def detail(fine: Lightness, where: BoolMask) -> float:
    """How much fine structure some pixels have on average."""
    return mean_at(fine, where) + 0.05


def blurrier(light: Lightness, where: BoolMask, than: BoolMask) -> float:
    """How much less finest structure relative to coarser one some pixels have than others, in doublings: grows when
    something is out of focus, whatever its contrast.
    """
    coarser = np.asarray(cv2.GaussianBlur(light, (0, 0), FINEST), np.float32)
    coarsest = cv2.GaussianBlur(coarser, (0, 0), 5 * FINEST)
    finest, coarse = (np.asarray(cv2.absdiff(coarser, other), np.float32) for other in (light, coarsest))
    sharp, less_sharp = (
        math.log2((mean_at(finest, part) + 0.1) / (mean_at(coarse, part) + 0.5)) for part in (than, where)
    )
    return sharp - less_sharp


def residue(before: Lightness, after: Lightness, where: BoolMask) -> float:
    """The share of the structure of what was there that is still there: 0 when nothing of it is, 1 when all is."""
    one, other = (cv2.subtract(light, cv2.GaussianBlur(light, (0, 0), 4.0))[where] for light in (before, after))
    return float((one * other).sum() / ((one * one).sum() + FAINT * one.size))


def uneven(before: Lightness, after: Lightness, where: BoolMask, reach: float) -> float:
    """How far apart what became of one brightness is at one place and at another, in tens of Lab's lightness."""
    levels = np.clip(before / LEVEL, 0, 100 / LEVEL).astype(np.int64)[where]
    light = after[where]
    usual = np.bincount(levels, light) / np.maximum(np.bincount(levels), 1)
    beyond, weight = np.zeros(where.shape, np.float32), where.astype(np.float32)
    beyond[where] = light - usual[levels]
    smooth, near = (cv2.GaussianBlur(each, (0, 0), reach) for each in (beyond, weight))
    low, high = np.percentile((smooth / np.maximum(near, 0.2))[where], (3, 97))
    return float(high - low) / 10


def _colorless(before: Lab, after: Lab, where: BoolMask) -> float:
    del before
    return 1 - _chroma(after, where) / COLORLESS


def _sepia(before: Lab, after: Lab, where: BoolMask) -> float:
    del before
    hue = np.degrees(np.arctan2(after[..., 2], after[..., 1]))[where]
    return float(((hue > SEPIA[0]) & (hue < SEPIA[1])).mean())


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
