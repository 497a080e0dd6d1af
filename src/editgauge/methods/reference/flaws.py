"""Disturbances with a severity dial from 0 (none) to 1 (plain to see), the same for the same seed."""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType
from typing import TYPE_CHECKING

import cv2
import numpy as np

from editgauge.methods.reference._appearance import to_pixels

if TYPE_CHECKING:
    from editgauge._util.images import Pixels
    from editgauge._util.masks import BoolMask

Flaw = Callable[["Pixels", float, np.random.Generator], "Pixels"]


def add_flaw(pixels: Pixels, flaw: str, severity: float, seed: int, spared: BoolMask | None = None) -> Pixels:
    """Add a flaw everywhere outside the spared region; severity 0 changes nothing."""
    if flaw not in FLAWS:
        raise ValueError(f"there is no flaw called '{flaw}'; there are {', '.join(FLAWS)}")
    if not 0 <= severity <= 1:
        raise ValueError(f"severity must be in [0, 1], got {severity}")
    if severity == 0:
        return pixels
    result = FLAWS[flaw](pixels, severity, np.random.default_rng(seed))
    return result if spared is None else np.where(spared[..., None], pixels, result)


def color_cast(pixels: Pixels, severity: float, rng: np.random.Generator) -> Pixels:
    """Light of another color: one channel up, another down."""
    cast = rng.permutation([1.0, -1.0, 0.0])
    return to_pixels(pixels + 70 * severity * cast)


def underexposure(pixels: Pixels, severity: float, rng: np.random.Generator) -> Pixels:
    """Too little light."""
    del rng  # darkness has no color to choose
    return to_pixels(pixels * (1 - 0.6 * severity))


def blur(pixels: Pixels, severity: float, rng: np.random.Generator) -> Pixels:
    """Out of focus."""
    del rng  # blur is blur
    return np.asarray(cv2.GaussianBlur(pixels, (0, 0), max(0.01, severity * max(pixels.shape[:2]) / 80)))


def noise(pixels: Pixels, severity: float, rng: np.random.Generator) -> Pixels:
    """Grain of a sensor in the dark."""
    return to_pixels(pixels + 60 * severity * rng.standard_normal(pixels.shape))


def recompression(pixels: Pixels, severity: float, rng: np.random.Generator) -> Pixels:
    """JPEG at ever lower quality."""
    del rng  # the codec has no chance in it
    return compress_jpeg(pixels, round(95 - 92 * severity))


def compress_jpeg(pixels: Pixels, quality: int) -> Pixels:
    """Compress the image once as JPEG."""
    _, file = cv2.imencode(".jpg", pixels[..., ::-1], [cv2.IMWRITE_JPEG_QUALITY, quality])
    return np.ascontiguousarray(np.asarray(cv2.imdecode(file, cv2.IMREAD_COLOR), np.uint8)[..., ::-1])


def drift(pixels: Pixels, severity: float, rng: np.random.Generator) -> Pixels:
    """Zoom and shift the frame by up to a fortieth of its width."""
    height, width = pixels.shape[:2]
    angle = rng.uniform(0, 2 * np.pi)
    scale = 1 + 0.03 * severity
    shift = severity * width / 40 * np.array([np.cos(angle), np.sin(angle)])
    about_middle = (1 - scale) * np.array([width, height]) / 2
    matrix = np.column_stack([np.eye(2) * scale, about_middle + shift])
    return np.asarray(cv2.warpAffine(pixels, matrix, (width, height), borderMode=cv2.BORDER_REFLECT))


FLAWS: MappingProxyType[str, Flaw] = MappingProxyType(
    {
        "color_cast": color_cast,
        "underexposure": underexposure,
        "blur": blur,
        "noise": noise,
        "recompression": recompression,
        "drift": drift,
    }
)
