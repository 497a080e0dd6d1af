"""Regions of a picture: drawn as polygons, read from a file, or composed of others.

A mask is a small value until it is rendered for a picture's size; coordinates are pixels of the source image.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import cv2
import numpy as np
from numpy.typing import NDArray

from editgauge.errors import BadImageError

BoolMask = NDArray[np.bool_]
"""Height x width, true inside."""
BRIGHT = 128
"""A pixel of a mask with at least this level is inside."""
BEYOND = 0.05
"""By how much of a side an outline may leave its picture: people draw a little over the border."""
SAME_SHAPE = 0.02
"""By how much the ratio of a mask's sides may differ from its picture's: sizes are rounded when both are scaled."""


@runtime_checkable
class Mask(Protocol):
    """A region that can be rendered for a picture's size."""

    def render(self, width: int, height: int) -> BoolMask:
        """True inside."""
        ...

    def describe(self) -> Any:
        """A JSON value from which `benchmarks.folder` reads the same mask again."""
        ...


@dataclass(frozen=True, slots=True)
class Polygons:
    """One or more outlines, each (x0, y0, x1, y1, …)."""

    rings: tuple[tuple[float, ...], ...]

    def render(self, width: int, height: int) -> BoolMask:
        """Pixels whose center lies inside an outline, and the outline itself."""
        canvas = np.zeros((height, width), dtype=np.uint8)
        points = [np.rint(np.asarray(ring, dtype=np.float64).reshape(-1, 2)).astype(np.int32) for ring in self.rings]
        for ring in points:
            cv2.fillPoly(canvas, [ring], 1)
        return canvas.astype(np.bool_)

    def describe(self) -> Any:
        """The outlines."""
        return [list(ring) for ring in self.rings]

    def box(self) -> tuple[float, float, float, float]:
        """(left, top, right, bottom) around all outlines."""
        xs = [x for ring in self.rings for x in ring[0::2]]
        ys = [y for ring in self.rings for y in ring[1::2]]
        return min(xs), min(ys), max(xs), max(ys)

    def fitted(self, left: float, top: float, right: float, bottom: float) -> Polygons:
        """The same outlines stretched to another box: where an object lies after it was moved or resized.

        >>> Polygons(((0, 0, 4, 0, 4, 2),)).fitted(10, 10, 12, 11)
        Polygons(rings=((10.0, 10.0, 12.0, 10.0, 12.0, 11.0),))
        """
        old_left, old_top, old_right, old_bottom = self.box()
        across = (right - left) / max(old_right - old_left, 1e-9)
        down = (bottom - top) / max(old_bottom - old_top, 1e-9)
        return Polygons(
            tuple(
                tuple(
                    top + (value - old_top) * down if place % 2 else left + (value - old_left) * across
                    for place, value in enumerate(ring)
                )
                for ring in self.rings
            )
        )


@dataclass(frozen=True, slots=True)
class MaskFile:
    """An image whose bright pixels (128 and over) are inside."""

    path: Path
    name: str = ""
    """What the benchmark calls it; the same on every machine."""

    def render(self, width: int, height: int) -> BoolMask:
        """Scaled to the given size by nearest neighbor."""
        from editgauge._util.images import read_image

        inside = bright_pixels(read_image(self.path), f"The mask '{self.path}'")
        tall, wide = inside.shape
        require_same_shape(f"The mask '{self.path}'", (wide, tall), (width, height))
        return MaskPixels(inside).render(width, height)

    def describe(self) -> Any:
        """Its name, or its path if it has none."""
        return self.name or str(self.path)


@dataclass(frozen=True, slots=True, eq=False)
class MaskPixels:
    """A mask that is in memory already."""

    inside: BoolMask

    def render(self, width: int, height: int) -> BoolMask:
        """Scaled to the given size by nearest neighbor."""
        tall, wide = self.inside.shape
        require_same_shape("The mask", (wide, tall), (width, height))
        if (tall, wide) == (height, width):
            return self.inside.copy()
        scaled = cv2.resize(self.inside.astype(np.uint8), (width, height), interpolation=cv2.INTER_NEAREST)
        return np.asarray(scaled, dtype=np.bool_)

    def describe(self) -> Any:
        """Its size; there is no file to name."""
        return {"in_memory": [self.inside.shape[1], self.inside.shape[0]]}


@dataclass(frozen=True, slots=True)
class Union:
    """Everything that is inside any part."""

    parts: tuple[Mask, ...]

    def render(self, width: int, height: int) -> BoolMask:
        """The parts overlaid on each other."""
        whole = np.zeros((height, width), dtype=np.bool_)
        for part in self.parts:
            whole |= part.render(width, height)
        return whole

    def describe(self) -> Any:
        """`{union: [...]}`."""
        return {"union": [part.describe() for part in self.parts]}


@dataclass(frozen=True, slots=True)
class Outside:
    """Everything that is not inside the part."""

    part: Mask

    def render(self, width: int, height: int) -> BoolMask:
        """The part turned inside out."""
        return ~self.part.render(width, height)

    def describe(self) -> Any:
        """`{outside: ...}`."""
        return {"outside": self.part.describe()}


@dataclass(frozen=True, slots=True)
class Dilated:
    """The part with a margin of some pixels around it."""

    part: Mask
    by: int

    def render(self, width: int, height: int) -> BoolMask:
        """Dilated by a disc."""
        return dilate_mask(self.part.render(width, height), self.by)

    def describe(self) -> Any:
        """`{grow: ..., by: pixels}`."""
        return {"grow": self.part.describe(), "by": self.by}


@dataclass(frozen=True, slots=True)
class MayOverhang:
    """A part that may leave the picture: where an editor is to put an object that is then cut off at the border."""

    part: Mask

    def render(self, width: int, height: int) -> BoolMask:
        """What of the part is inside the picture."""
        return self.part.render(width, height)

    def describe(self) -> Any:
        """That of the part."""
        return self.part.describe()


@dataclass(frozen=True, slots=True)
class Rectangle:
    """The box from (left, top) up to, not including, (right, bottom)."""

    left: float
    top: float
    right: float
    bottom: float

    def render(self, width: int, height: int) -> BoolMask:
        """Clipped to the picture."""
        canvas = np.zeros((height, width), dtype=np.bool_)
        left, top = max(0, round(self.left)), max(0, round(self.top))
        canvas[top : max(top, round(self.bottom)), left : max(left, round(self.right))] = True
        return canvas

    def describe(self) -> Any:
        """`{box: [left, top, right, bottom]}`."""
        return {"box": [self.left, self.top, self.right, self.bottom]}


def bright_pixels(pixels: NDArray[np.uint8], name: str) -> BoolMask:
    """Where a picture, height x width x 3, is bright; raises `BadImageError` for one that is dark but not black."""
    gray = pixels.max(axis=2)
    if 0 < gray.max() < BRIGHT:
        raise BadImageError(
            f"{name} has nothing inside: its brightest pixel is {gray.max()}, and {BRIGHT} is needed. "
            "If it holds 0 and 1, multiply it by 255."
        )
    return np.asarray(gray >= BRIGHT)


def require_same_shape(name: str, size: tuple[int, int], picture: tuple[int, int]) -> None:
    """Raises `BadImageError` when a mask of this size, stretched to its picture, would cover something else."""
    (wide, tall), (width, height) = size, picture
    if abs(wide * height / (tall * width) - 1) > SAME_SHAPE:
        raise BadImageError(f"{name} is {wide} x {tall}, its picture {width} x {height}: another shape.")


def require_inside(part: object, width: int, height: int) -> None:
    """Raises `BadImageError` when an outline or a box of the mask leaves a picture of this size, as one made for another."""
    if isinstance(part, Polygons | Rectangle):
        box = part.box() if isinstance(part, Polygons) else (part.left, part.top, part.right, part.bottom)
        left, top, right, bottom = box
        if (
            min(left + BEYOND * width, top + BEYOND * height) < 0
            or right > (1 + BEYOND) * width
            or (bottom > (1 + BEYOND) * height)
        ):
            sides = ", ".join(f"{side:g}" for side in box)
            raise BadImageError(f"The mask reaches over ({sides}) and leaves its picture of {width} x {height} pixels.")
    elif isinstance(part, tuple):
        for each in part:
            require_inside(each, width, height)
    elif is_dataclass(part) and not isinstance(part, MayOverhang):
        for field in fields(part):
            require_inside(getattr(part, field.name), width, height)


def mask_files(part: object) -> Iterator[Path]:
    """The files a mask is read from, however it is composed."""
    if isinstance(part, Path):
        yield part
    elif isinstance(part, tuple):
        for each in part:
            yield from mask_files(each)
    elif is_dataclass(part):
        for field in fields(part):
            yield from mask_files(getattr(part, field.name))


def dilate_mask(mask: BoolMask, by: int) -> BoolMask:
    """The mask dilated by a disc of that radius."""
    if by <= 0:
        return mask
    result = np.zeros(mask.shape, np.bool_)
    if mask.any():
        left, top, right, bottom = bounding_box(mask)  # nothing else can grow
        near = slice(max(0, top - by), bottom + by), slice(max(0, left - by), right + by)
        disc = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * by + 1, 2 * by + 1))
        result[near] = cv2.dilate(mask[near].view(np.uint8), disc)
    return result


def bounding_box(mask: BoolMask) -> tuple[int, int, int, int]:
    """(left, top, right, bottom) of what is inside, right and bottom excluded."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    if rows.size == 0:
        raise BadImageError("An empty mask has no bounding box.")
    return int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1
