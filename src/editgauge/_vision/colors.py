"""Colors by name: what red means, and how much an object has the color that was asked for."""

from __future__ import annotations

import math
from functools import lru_cache

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import ImageColor
from scipy.ndimage import gaussian_filter1d
from scipy.special import ndtr

from editgauge._util.images import Pixels
from editgauge._util.masks import BoolMask
from editgauge.errors import UnscorableError

Rgb = tuple[int, int, int]
Histograms = NDArray[np.float64]
"""One row per channel."""

ALIASES = {
    "golden": "gold",
    "silvery": "silver",
    "blond": "palegoldenrod",
    "blonde": "palegoldenrod",
    "cream": "cornsilk",
    "scarlet": "crimson",
    "burgundy": "maroon",
    "rose": "pink",
    "lilac": "plum",
    "mauve": "plum",
    "peach": "peachpuff",
    "mustard": "goldenrod",
    "bronze": "peru",
    "copper": "peru",
    "ruby": "crimson",
    "emerald": "mediumseagreen",
    "teal green": "teal",
    "navy blue": "navy",
    "sky": "skyblue",
    "off white": "snow",
    "neon green": "lime",
    "bright green": "lime",
}
"""Words people use that CSS, whose names Pillow knows, spells otherwise."""
AS_SEEN: dict[str, Rgb] = {"green": (0, 255, 0), "brown": (64, 30, 9)}
"""Names whose CSS value is not what people call so; the values are those of PixLens's released code."""
BINS = 32
WIDTH = 256 / BINS
SPREAD = math.sqrt(75)
"""Standard deviation of a shade around the target's, in bytes (PixLens, released code: covariance 75)."""
SMOOTHING = 5
"""In bins."""


def rgb_of(name: str) -> Rgb:
    """Red, green and blue of a color's name; raises `UnscorableError` for a word that names none.

    >>> rgb_of("golden"), rgb_of("Light Blue"), rgb_of("brown")
    ((255, 215, 0), (173, 216, 230), (64, 30, 9))
    """
    words = " ".join(name.lower().replace("-", " ").split()).removesuffix(" color").removesuffix(" colour")
    canonical = ALIASES.get(words, words)
    if canonical in AS_SEEN:
        return AS_SEEN[canonical]
    if canonical.replace(" ", "").isalpha():  # Pillow also reads "#ff0000" and "hsl(…)", which are no names
        try:
            red, green, blue = ImageColor.getrgb(canonical.replace(" ", ""))[:3]
            return red, green, blue
        except ValueError:
            pass
    raise UnscorableError("unknown_word", f"'{name}' is no color that is known by name")


def color_score(picture: Pixels, where: BoolMask, target: Rgb) -> float:
    """How much the pixels have the target color: mean over channels of the correlation of smoothed histograms.

    PixLens, section 7.8, clipped at 0. The released code draws the target's histogram at random from a generator that
    remembers earlier draws, so that its score depends on what was scored before; here it is the exact distribution.
    """
    return max(0.0, _mean_correlation(_smooth(_shares(picture, where)), _target_histogram(target)))


def color_curves(picture: Pixels, where: BoolMask, target: Rgb) -> dict[str, tuple[float, ...]]:
    """Return the smoothed histograms that `color_score` compares, measured and target, by channel."""
    measured, target_histogram = _smooth(_shares(picture, where)), _target_histogram(target)
    names = ("red", "green", "blue")
    rows = {name: tuple(measured[index].tolist()) for index, name in enumerate(names)}
    return rows | {f"{name} asked": tuple(target_histogram[index].tolist()) for index, name in enumerate(names)}


def color_likeness(before: Pixels, where_before: BoolMask, after: Pixels, where_after: BoolMask) -> float:
    """How alike the colors of two regions are: mean over channels of the correlation of their histograms.

    PixLens, supplement 10, Color Similarity, which smooths the histograms as the color score does.
    """
    return _mean_correlation(_smooth(_shares(before, where_before)), _smooth(_shares(after, where_after)))


def _shares(picture: Pixels, where: BoolMask) -> Histograms:
    if not where.any():
        raise ValueError("nothing to look at: the mask is empty")
    counts = [np.histogram(picture[..., channel][where], BINS, (0, 256))[0] for channel in range(3)]
    return np.asarray(np.stack(counts) / where.sum())


def _smooth(histograms: Histograms) -> Histograms:
    """Beyond the darkest and the brightest bin the histogram continues with that bin (PixLens, released code)."""
    return np.asarray(gaussian_filter1d(histograms, SMOOTHING, axis=1, mode="nearest"))


def _mean_correlation(one: Histograms, other: Histograms) -> float:
    centered = [histogram - histogram.mean(axis=1, keepdims=True) for histogram in (one, other)]
    unit = [histogram / np.linalg.norm(histogram, axis=1, keepdims=True) for histogram in centered]
    return float(np.clip((unit[0] * unit[1]).sum(axis=1), -1, 1).mean())


@lru_cache(maxsize=256)
def _target_histogram(target: Rgb) -> Histograms:
    """Return the smoothed histogram of a noisy patch of a color; values outside a byte count at its ends."""
    edges = np.arange(1, BINS) * WIDTH
    shares = [np.diff(np.concatenate([[0.0], ndtr((edges - value) / SPREAD), [1.0]])) for value in target]
    return _smooth(np.stack(shares))


MAX_NEUTRAL_CHROMA = 11.0
"""Chroma in CIE Lab under which people say black, gray or white."""
MAX_BLACK_LIGHTNESS, MIN_WHITE_LIGHTNESS = 22.0, 82.0
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
MAX_BROWN_LIGHTNESS = 58.0
"""Lightness under which orange and dull yellow are called brown."""
MIN_PINK_LIGHTNESS = 55.0
"""Lightness from which a bluish red is called pink."""


def color_word(picture: Pixels, where: BoolMask) -> str:
    """Return the everyday English name of the median color of the pixels.

    >>> everywhere = np.ones((4, 4), bool)
    >>> [color_word(np.full((4, 4, 3), rgb, np.uint8), everywhere) for rgb in ((200, 20, 30), (90, 60, 30), (9, 9, 9))]
    ['red', 'brown', 'black']
    """
    if not where.any():
        raise ValueError("no pixel, no color: the mask is empty")
    rgb = picture[where].astype(np.float32)[np.newaxis] / 255
    lightness, a, b = (float(value) for value in np.median(cv2.cvtColor(rgb, cv2.COLOR_RGB2LAB)[0], axis=0))
    chroma = float(np.hypot(a, b))
    if lightness < MAX_BLACK_LIGHTNESS and chroma < 2 * MAX_NEUTRAL_CHROMA:
        return "black"
    if chroma < MAX_NEUTRAL_CHROMA:
        return "white" if lightness > MIN_WHITE_LIGHTNESS else "gray"
    hue = float(np.degrees(np.arctan2(b, a)) % 360)
    name = hue_word(a, b)
    if name == "pink" and lightness < MIN_PINK_LIGHTNESS:
        return "purple" if 300 < hue < 345 else "red"
    if (name == "orange" or (name == "yellow" and chroma < 45)) and lightness < MAX_BROWN_LIGHTNESS:
        return "brown"
    return name


def hue_word(a: float, b: float) -> str:
    """Return the name of a hue, given as a direction in the a-b plane of CIE Lab.

    >>> hue_word(0, 10), hue_word(0, -10), hue_word(-10, 5)
    ('yellow', 'blue', 'green')
    """
    hue = float(np.degrees(np.arctan2(b, a)) % 360)
    return next(word for limit, word in HUES if hue <= limit)
