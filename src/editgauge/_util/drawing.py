"""Draws evidence on a picture: maps, outlines, boxes and their labels, for pictures that a person looks at."""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from editgauge._util.images import Pixels
from editgauge._util.masks import BoolMask
from editgauge.evidence import Arrow, Box, Evidence, Heat, Region

COLORS = ((0, 114, 178), (213, 94, 0), (0, 158, 115), (204, 121, 167), (230, 159, 0), (86, 180, 233), (240, 228, 66))
"""Okabe and Ito's palette, which people tell apart whatever their color vision."""
Stop = tuple[float, int, int, int, float]
"""A number of the map, its red, green and blue, and its opacity from 0 to 1."""
ABOVE: tuple[Stop, ...] = ((0.0, 255, 221, 87, 0.0), (0.5, 245, 130, 42, 0.65), (1.0, 179, 0, 27, 0.85))
BELOW: tuple[Stop, ...] = ((-1.0, 8, 48, 130, 0.85), (-0.5, 52, 140, 214, 0.65), (0.0, 130, 200, 255, 0.0))
"""Yellow to red above 0, blue below: distinguished by nearly everybody, and strength by opacity as well."""
TINT = 0.4
LEGIBLE = 800
"""Pixels of the longer side, so that labels do not hide what they name."""


def draw(picture: Pixels, pieces: Sequence[Evidence], *, at_least: int = LEGIBLE) -> Pixels:
    """Draw evidence on an image: tinted regions, arrows, and labeled boxes.

    Each label has one color. Under a map the picture is gray, so that every color is the map's. A picture whose
    longer side has fewer pixels than `at_least` is enlarged.
    """
    scale = max(1.0, at_least / max(picture.shape[:2]))
    size = round(picture.shape[1] * scale), round(picture.shape[0] * scale)
    canvas = np.array(Image.fromarray(picture).resize(size, Image.Resampling.LANCZOS))
    thickness = max(2, round(max(size) / 400))
    labels = list(dict.fromkeys(piece.label for piece in pieces if isinstance(piece, Box | Region)))
    colors = {label: COLORS[index % len(COLORS)] for index, label in enumerate(labels)}
    for piece in pieces:
        if isinstance(piece, Heat):
            canvas = _under_map(canvas, piece)
    for piece in pieces:
        if isinstance(piece, Region):
            mask = cv2.resize(piece.mask.astype(np.uint8), size, interpolation=cv2.INTER_NEAREST).astype(bool)
            canvas = _tinted(canvas, mask, colors[piece.label], thickness)
    for piece in pieces:
        if isinstance(piece, Arrow):
            _line(canvas, piece, scale, thickness)
    image = Image.fromarray(canvas)
    boxes = [piece for piece in pieces if isinstance(piece, Box)]
    for box in sorted(boxes, key=lambda box: box.confidence or 0):  # the most confident is on top
        _frame(ImageDraw.Draw(image), box, scale, colors[box.label], thickness)
    return np.asarray(image)


def _under_map(canvas: Pixels, heat: Heat) -> Pixels:
    height, width = canvas.shape[:2]
    spread = np.asarray(cv2.resize(heat.map.astype(np.float32), (width, height)), dtype=np.float32)
    layer = colored(spread, signed=heat.signed)
    gray = cv2.cvtColor(canvas, cv2.COLOR_RGB2GRAY)[..., np.newaxis]
    opacity = layer[..., 3:] / 255
    return np.rint(gray * (1 - opacity) + layer[..., :3] * opacity).astype(np.uint8)


def _tinted(canvas: Pixels, mask: BoolMask, color: tuple[int, int, int], thickness: int) -> Pixels:
    tinted = canvas.copy()
    tinted[mask] = np.rint(canvas[mask] * (1 - TINT) + np.array(color) * TINT).astype(np.uint8)
    contours, _ = cv2.findContours(mask.astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
    cv2.drawContours(tinted, contours, -1, color, thickness, cv2.LINE_AA)
    return tinted


def _line(canvas: Pixels, arrow: Arrow, scale: float, thickness: int) -> None:
    """White on black, so that it is seen on every ground."""
    start = round(arrow.from_x * scale), round(arrow.from_y * scale)
    end = round(arrow.to_x * scale), round(arrow.to_y * scale)
    for color, width in (((0, 0, 0), 2 * thickness), ((255, 255, 255), thickness)):
        cv2.line(canvas, start, end, color, width, cv2.LINE_AA)


def _frame(
    pen: ImageDraw.ImageDraw, box: Box, scale: float, color: tuple[int, int, int], thickness: int
) -> None:  # fmt: skip
    width, height = pen.im.size  # what reaches over the edge is drawn along it
    left, right = (min(max(side * scale, 0), width - 1) for side in (box.left, box.right))
    top, bottom = (min(max(side * scale, 0), height - 1) for side in (box.top, box.bottom))
    pen.rectangle((left, top, max(left, right), max(top, bottom)), outline=color, width=thickness)
    text = box.label if box.confidence is None else f"{box.label} {box.confidence:.2f}"
    font = ImageFont.load_default(size=6 * thickness + 4)
    _, _, long, high = pen.textbbox((0, 0), text, font=font)
    pad = thickness
    # Above the box where there is room, else inside it; and further left where the picture ends.
    chip_top = top - high - 2 * pad if top >= high + 2 * pad else top
    chip_left = max(0, min(left, width - 1 - long - 2 * pad))
    pen.rectangle((chip_left, chip_top, chip_left + long + 2 * pad, chip_top + high + 2 * pad), fill=color)
    bright = sum(color) > 380
    pen.text((chip_left + pad, chip_top + pad / 2), text, fill="black" if bright else "white", font=font)


def colored(numbers: NDArray[np.floating], *, signed: bool = False) -> NDArray[np.uint8]:
    """Map numbers to colors: height x width x 4 (red, green, blue, opacity).

    >>> colored(np.array([[0.0, 1.0]])).tolist()
    [[[255, 221, 87, 0], [179, 0, 27, 217]]]
    """
    above = _between(ABOVE, numbers)
    if not signed:
        return above
    return np.where((numbers < 0)[..., np.newaxis], _between(BELOW, numbers), above)


def _between(stops: tuple[Stop, ...], numbers: NDArray[np.floating]) -> NDArray[np.uint8]:
    positions, *channels = np.array(stops).T
    mixed = np.stack([np.interp(numbers, positions, channel) for channel in channels], axis=-1)
    mixed[..., 3] *= 255
    return np.asarray(np.rint(mixed), dtype=np.uint8)
