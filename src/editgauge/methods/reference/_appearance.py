"""Colors, materials and styles of recipes."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from editgauge._util.images import Lab, Pixels, as_lab
from editgauge.errors import CannotEditError
from editgauge.recipes import MATERIALS, STYLES

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
