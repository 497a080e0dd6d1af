"""Draws evidence on a picture: maps, outlines, boxes and their labels, for pictures that a person looks at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

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
MAX_LABEL_LINES = 12
"""Lines below the top of a box in which its label is tried before it may cover another."""


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
    boxes = sorted((piece for piece in pieces if isinstance(piece, Box)), key=lambda box: -(box.confidence or 0))
    frames = _arrange([_frame(ImageDraw.Draw(image), box, scale, thickness) for box in boxes], image.size)
    for box, frame in zip(reversed(boxes), reversed(frames), strict=True):  # the most confident is on top
        _draw_frame(ImageDraw.Draw(image), frame, colors[box.label], thickness)
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


Area = tuple[float, float, float, float]
"""Left, top, right, bottom."""


@dataclass(frozen=True, slots=True)
class _Frame:
    """A box on the canvas with its label."""

    box: Area
    text: str
    font_size: int
    label: Area
    """Where the label goes: above the box by default."""


def _frame(pen: ImageDraw.ImageDraw, box: Box, scale: float, thickness: int) -> _Frame:
    width, height = pen.im.size
    left, right = (min(max(side * scale, 0), width - 1) for side in (box.left, box.right))
    top, bottom = (min(max(side * scale, 0), height - 1) for side in (box.top, box.bottom))
    text = box.label if box.confidence is None else f"{box.label} {box.confidence:.2f}"
    font_size = 6 * thickness + 4
    _, _, text_width, text_height = pen.textbbox((0, 0), text, font=ImageFont.load_default(size=font_size))
    label_top = top - text_height - 2 * thickness
    label = (left, label_top, left + text_width + 2 * thickness, top)
    return _Frame((left, top, max(left, right), max(top, bottom)), text, font_size, label)


def _arrange(frames: Sequence[_Frame], size: tuple[int, int]) -> list[_Frame]:
    """Move labels so that none leaves the image or covers another, as far as there is room; the first choose first."""
    arranged: list[_Frame] = []
    for frame in frames:
        candidates = [_clamp(area, size) for area in _label_areas(frame)]
        free = (area for area in candidates if not any(_overlap(area, other.label) for other in arranged))
        arranged.append(replace(frame, label=next(free, candidates[0])))
    return arranged


def _label_areas(frame: _Frame) -> Iterator[Area]:
    """Yield areas for a label: above the box, at its top, below it, at its bottom, and in lines below that."""
    left, top, right, bottom = frame.box
    width, height = frame.label[2] - frame.label[0], frame.label[3] - frame.label[1]
    tops = [top - height, top, bottom, bottom - height, *(top + height * line for line in range(1, MAX_LABEL_LINES))]
    for label_top in tops:
        for label_left in (left, right - width):
            yield label_left, label_top, label_left + width, label_top + height


def _clamp(area: Area, size: tuple[int, int]) -> Area:
    left, top, right, bottom = area
    across = max(0, min(left, size[0] - 1 - (right - left))) - left
    down = max(0, min(top, size[1] - 1 - (bottom - top))) - top
    return left + across, top + down, right + across, bottom + down


def _overlap(first: Area, second: Area) -> bool:
    return first[0] < second[2] and second[0] < first[2] and first[1] < second[3] and second[1] < first[3]


def _draw_frame(pen: ImageDraw.ImageDraw, frame: _Frame, color: tuple[int, int, int], thickness: int) -> None:
    pen.rectangle(frame.box, outline=color, width=thickness)
    pen.rectangle(frame.label, fill=color)
    is_bright = sum(color) > 380
    position = frame.label[0] + thickness, frame.label[1] + thickness / 2
    font = ImageFont.load_default(size=frame.font_size)
    pen.text(position, frame.text, fill="black" if is_bright else "white", font=font)


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
