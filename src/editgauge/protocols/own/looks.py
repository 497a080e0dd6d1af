"""How well pixels fit a word: colours by name, and styles that have a plain meaning."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

import cv2
import numpy as np
from numpy.typing import NDArray

from editgauge.core.errors import CannotTell
from editgauge.core.images import Pixels
from editgauge.core.masks import BoolMask
from editgauge.core.recipes import COLOURS
from editgauge.metrics.colour_names import rgb_of

Lab = NDArray[np.float32]
COLOURLESS = 10.0
"""Mean chroma in CIE Lab under which a picture has no colours."""
SEPIA = 50.0, 100.0
"""Degrees of hue between which old prints lie."""


def to_lab(picture: Pixels) -> Lab:
    """CIE Lab: lightness up to 100, green to red, blue to yellow."""
    return np.asarray(cv2.cvtColor(picture.astype(np.float32) / 255, cv2.COLOR_RGB2LAB), np.float32)


def colour_in(text: str | None) -> str | None:
    """The first colour that a text names.

    >>> colour_in("plain white wall"), colour_in("wooden")
    ('white', None)
    """
    words: list[str] = re.findall(r"[a-z]+", (text or "").lower())
    return next((word for word in words if _is_colour(word)), None)


def _is_colour(word: str) -> bool:
    try:
        rgb_of(word)
    except CannotTell:
        return False
    return True


def colour_distance(lab: Lab, where: BoolMask, colour: str) -> float:
    """How far the middle colour of some pixels is from a named one, in CIE Lab."""
    return float(np.linalg.norm(np.median(lab[where], axis=0) - _lab_of(colour)))


def colour_rank(lab: Lab, where: BoolMask, colour: str) -> float:
    """The share of everyday colours that fit the pixels worse than the named one does; 1 when none fits better."""
    middle = np.median(lab[where], axis=0)
    own = float(np.linalg.norm(middle - _lab_of(colour)))
    others = [float(np.linalg.norm(middle - _lab_of(other))) for other in COLOURS if other != colour]
    return sum(other > own for other in others) / len(others)


def style_fit(text: str | None, before: Lab, after: Lab, where: BoolMask) -> float | None:
    """How well what became of some pixels fits the style that a text names, from 0 to 1; None for any other style."""
    for words, fit in _STYLES:
        if re.search(words, (text or "").lower()):
            return float(np.clip(fit(before, after, where), 0, 1))
    return None


def detail(lab: Lab, where: BoolMask) -> float:
    """How much fine structure some pixels have: the mean size of what a slight blur takes away."""
    fine = lab[..., 0] - cv2.GaussianBlur(lab[..., 0], (0, 0), 1.5)
    return float(np.abs(fine[where]).mean()) + 0.05


def _colourless(before: Lab, after: Lab, where: BoolMask) -> float:
    del before
    return 1 - _chroma(after, where) / COLOURLESS


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
    """Colourless and mostly as bright as paper."""
    return _colourless(before, after, where) * float((after[..., 0][where] > 75).mean())


def _flattened(before: Lab, after: Lab, where: BoolMask) -> float:
    """Fine structure is gone, colours and light are not."""
    lost = np.log2(detail(before, where) / detail(after, where))
    coloured = min(1.0, _chroma(after, where) / max(_chroma(before, where), 1.0))
    return float(np.clip(lost, 0, 1)) * coloured * float(_inverted(before, after, where) < 0)


def _softened(before: Lab, after: Lab, where: BoolMask) -> float:
    return float(np.log2(detail(before, where) / detail(after, where)))


def _chroma(lab: Lab, where: BoolMask) -> float:
    return float(np.hypot(lab[..., 1], lab[..., 2])[where].mean())


_STYLES: tuple[tuple[str, Callable[[Lab, Lab, BoolMask], float]], ...] = (
    (r"\b(sketch|drawing|drawn|pencil|charcoal)\b", _drawn),
    (r"\b(black.and.white|gr[ae]yscale|monochrome)\b", _colourless),
    (r"\bsepia\b", _sepia),
    (r"\b(negative|inverted)\b", _inverted),
    (r"\b(cartoon|comic|anime|painting|painted|watercolou?r|oil)\b", _flattened),
    (r"\b(blurred|blurry|out of focus)\b", _softened),
)


@lru_cache(maxsize=64)
def _lab_of(colour: str) -> Lab:
    patch = np.array([[rgb_of(colour)]], np.uint8)
    return np.asarray(to_lab(patch)[0, 0], np.float32)
