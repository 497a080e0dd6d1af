"""What the material words of recipes look like: photographs that scikit-image brings, and drawn patterns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cv2
import numpy as np
from numpy.typing import NDArray

from editgauge.errors import CannotEditError
from editgauge.methods.reference.colors import to_pixels
from editgauge.recipes import MATERIALS

if TYPE_CHECKING:
    from editgauge._util.images import Pixels

Gray = NDArray[np.float32]
"""Height x width in [0, 1]."""

MATERIAL_COLORS = {
    "brick": ((95, 28, 18), (226, 205, 188)),
    "grass": ((8, 42, 4), (176, 226, 92)),
    "gravel": ((38, 36, 34), (222, 218, 212)),
    "stripes": ((24, 40, 110), (245, 245, 240)),
    "dots": ((190, 30, 40), (250, 248, 245)),
    "wood": ((92, 52, 24), (206, 150, 92)),
}


def render_material(material: str, width: int, height: int) -> Pixels:
    """Render a frontal view of the material at a scale that repeats its pattern several times."""
    if material not in MATERIALS:
        raise CannotEditError(
            f"There is no material called '{material}'; the reference editors know {', '.join(MATERIALS)}."
        )
    side = int(np.clip(0.75 * max(width, height), 128, 512))
    dark, light = (np.array(color, dtype=np.float32) for color in MATERIAL_COLORS[material])
    return to_pixels(dark + (light - dark) * _pattern(material, width, height, side)[..., None])


def _pattern(material: str, width: int, height: int, side: int) -> Gray:
    """Render the material from dark (0) to light (1); a square of `side` pixels shows enough to recognize it."""
    down, across = np.mgrid[0:height, 0:width].astype(np.float32) / side
    match material:
        case "stripes":
            return _crisp(np.sin(2 * np.pi * 10 * (across + down / 2)), side)
        case "dots":
            return _crisp(np.cos(2 * np.pi * 9 * across) + np.cos(2 * np.pi * 9 * down) - 0.9, side)
        case "wood":
            return _grain(down, side)
        case _:
            return _photograph(material, width, height, side)


def _crisp(wave: Gray, side: int) -> Gray:
    """Light where the wave is positive, with edges about a pixel wide."""
    return np.clip(0.5 + wave * side / 60, 0, 1).astype(np.float32)


def _grain(down: Gray, side: int) -> Gray:
    """Years of growth, bent by knots, and fine fibers along them."""
    noise = np.random.default_rng(0).standard_normal((2, *down.shape)).astype(np.float32)
    bends = cv2.GaussianBlur(noise[0], (0, 0), sigmaX=side / 8, sigmaY=side / 24, borderType=cv2.BORDER_REFLECT)
    fibers = cv2.GaussianBlur(noise[1], (0, 0), sigmaX=side / 24, sigmaY=0.6, borderType=cv2.BORDER_REFLECT)
    years = np.sin(2 * np.pi * (7 * down + 0.7 * bends / (bends.std() + 1e-9)))
    return np.asarray(np.clip(0.55 + 0.28 * years + 0.14 * fibers / (fibers.std() + 1e-9), 0, 1), dtype=np.float32)


def _photograph(material: str, width: int, height: int, side: int) -> Gray:
    """Load a gray photograph of the material, mirrored to the requested size."""
    from skimage import data

    gray = np.asarray(getattr(data, material)())
    upright = np.rot90(gray) if material == "brick" else gray
    low, high = np.percentile(upright, (1, 99))
    stretched = np.clip((upright.astype(np.float32) - low) / (high - low), 0, 1)
    tile = cv2.resize(stretched, (side, side), interpolation=cv2.INTER_AREA)
    return np.asarray(np.pad(tile, ((0, height), (0, width)), mode="symmetric")[:height, :width])
