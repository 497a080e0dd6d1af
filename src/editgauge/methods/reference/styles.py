"""The whole picture as if made by other means."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cv2
import numpy as np

from editgauge.errors import CannotEditError
from editgauge.methods.reference.colors import to_pixels
from editgauge.recipes import STYLES

if TYPE_CHECKING:
    from editgauge._util.images import Pixels

SEPIA = np.array([[0.393, 0.769, 0.189], [0.349, 0.686, 0.168], [0.272, 0.534, 0.131]], dtype=np.float32)


def apply_style(source: Pixels, style: str) -> Pixels:
    """Render the image in that style."""
    match style:
        case "sketch":
            return _sketch(source)
        case "grayscale":
            return _grayscale(source)
        case "sepia":
            return to_pixels(source.astype(np.float32) @ SEPIA.T)
        case "cartoon":
            return _cartoon(source)
        case "negative":
            return np.asarray(255 - source)
        case "oil":
            return _oil(source)
        case _:
            raise CannotEditError(
                f"There is no style called '{style}'; the reference editors know {', '.join(STYLES)}."
            )


def _grayscale(source: Pixels) -> Pixels:
    return np.asarray(cv2.cvtColor(cv2.cvtColor(source, cv2.COLOR_RGB2GRAY), cv2.COLOR_GRAY2RGB))


def _sketch(source: Pixels) -> Pixels:
    """Pencil on paper: dark where the picture is darker than its neighborhood."""
    gray = cv2.cvtColor(source, cv2.COLOR_RGB2GRAY).astype(np.float32)
    smooth = cv2.GaussianBlur(gray, (0, 0), sigmaX=_scaled(source, 6))
    strokes = np.clip((gray + 25) / (smooth + 25), 0, 1) ** 2
    return np.repeat(np.rint(250 * strokes).astype(np.uint8)[..., None], 3, axis=2)


def _cartoon(source: Pixels) -> Pixels:
    """Flat colors in few steps, with dark outlines."""
    flat = source
    for _ in range(3):
        flat = np.asarray(cv2.bilateralFilter(flat, 9, 40, 7), dtype=np.uint8)
    hsv = cv2.cvtColor(flat, cv2.COLOR_RGB2HSV).astype(np.float32)
    hsv[..., 1] = np.minimum(255, 1.35 * hsv[..., 1])
    hsv[..., 2] = np.rint(hsv[..., 2] / 36) * 36
    colors = cv2.cvtColor(np.clip(hsv, 0, 255).astype(np.uint8), cv2.COLOR_HSV2RGB)
    gray = cv2.medianBlur(cv2.cvtColor(source, cv2.COLOR_RGB2GRAY), 5)
    outlines = cv2.adaptiveThreshold(gray, 255, cv2.ADAPTIVE_THRESH_MEAN_C, cv2.THRESH_BINARY, 11, 6)
    return np.asarray(np.where(outlines[..., None] > 0, colors, colors // 5), dtype=np.uint8)


def _oil(source: Pixels) -> Pixels:
    """Brush strokes (Kuwahara's filter): a pixel takes the mean of the calmest of four squares next to it."""
    reach = max(2, round(_scaled(source, 7)))
    size = (reach + 1, reach + 1)
    colors = source.astype(np.float32)
    light = cv2.cvtColor(source, cv2.COLOR_RGB2GRAY).astype(np.float32)
    means, unrests = [], []
    for anchor in ((0, 0), (0, reach), (reach, 0), (reach, reach)):
        means.append(cv2.blur(colors, size, anchor=anchor))
        unrests.append(cv2.blur(light**2, size, anchor=anchor) - cv2.blur(light, size, anchor=anchor) ** 2)
    calmest = np.argmin(np.stack(unrests), axis=0)
    strokes = np.take_along_axis(np.stack(means), calmest[None, ..., None], axis=0)[0]
    return to_pixels(strokes)


def _scaled(source: Pixels, pixels_of_640: float) -> float:
    """Scale a length given for a 640-pixel image to this image."""
    return float(pixels_of_640 * max(source.shape[:2]) / 640)
