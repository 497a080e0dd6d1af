"""Regions of an image: drawn as polygons, read from a file, or composed of others.

A mask is a small value until it is rendered for the size of an image; coordinates are pixels of the source image.
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
INSIDE_LEVEL = 128
"""Minimum level of a pixel that is inside a mask."""
MAX_OVERHANG = 0.05
"""Fraction of a side by which an outline may leave its image: people draw a little over the border."""
ASPECT_TOLERANCE = 0.02
"""Relative difference of the aspect ratios of mask and image: sizes are rounded when both are scaled."""


@runtime_checkable
class Mask(Protocol):
    """A region that can be rendered for the size of an image."""

    def render(self, width: int, height: int) -> BoolMask:
        """Return an array that is true inside the region."""
        ...

    def describe(self) -> Any:
        """Return a JSON value from which `benchmarks.folder` reads the same mask again."""
        ...


@dataclass(frozen=True, slots=True)
class Polygons:
    """One or more outlines, each (x0, y0, x1, y1, …)."""

    rings: tuple[tuple[float, ...], ...]

    def render(self, width: int, height: int) -> BoolMask:
        """Fill the outlines, their border included."""
        canvas = np.zeros((height, width), dtype=np.uint8)
        points = [np.rint(np.asarray(ring, dtype=np.float64).reshape(-1, 2)).astype(np.int32) for ring in self.rings]
        for ring in points:
            cv2.fillPoly(canvas, [ring], 1)
        return canvas.astype(np.bool_)

    def describe(self) -> Any:
        """Return the outlines."""
        return [list(ring) for ring in self.rings]

    def box(self) -> tuple[float, float, float, float]:
        """Return the bounding box (left, top, right, bottom) of all outlines."""
        xs = [x for ring in self.rings for x in ring[0::2]]
        ys = [y for ring in self.rings for y in ring[1::2]]
        return min(xs), min(ys), max(xs), max(ys)

    def fitted(self, left: float, top: float, right: float, bottom: float) -> Polygons:
        """Stretch the outlines to another box, as for an object that was moved or resized.

        >>> Polygons(((0, 0, 4, 0, 4, 2),)).fitted(10, 10, 12, 11)
        Polygons(rings=((10.0, 10.0, 12.0, 10.0, 12.0, 11.0),))
        """
        old_left, old_top, old_right, old_bottom = self.box()
        across = (right - left) / max(old_right - old_left, 1e-9)
        down = (bottom - top) / max(old_bottom - old_top, 1e-9)
        return Polygons(
            tuple(
                tuple(
                    top + (value - old_top) * down if index % 2 else left + (value - old_left) * across
                    for index, value in enumerate(ring)
                )
                for ring in self.rings
            )
        )


@dataclass(frozen=True, slots=True)
class MaskFile:
    """An image whose bright pixels (128 and over) are inside."""

    path: Path
    name: str = ""
    """Name in the benchmark, the same on every machine."""

    def render(self, width: int, height: int) -> BoolMask:
        """Scale the mask by nearest neighbor."""
        from editgauge._util.images import read_image

        inside = bright_pixels(read_image(self.path), f"The mask '{self.path}'")
        tall, wide = inside.shape
        require_same_shape(f"The mask '{self.path}'", (wide, tall), (width, height))
        return MaskPixels(inside).render(width, height)

    def describe(self) -> Any:
        """Return the name, or the path if there is none."""
        return self.name or str(self.path)


@dataclass(frozen=True, slots=True, eq=False)
class MaskPixels:
    """A mask in memory."""

    inside: BoolMask

    def render(self, width: int, height: int) -> BoolMask:
        """Scale the mask by nearest neighbor."""
        tall, wide = self.inside.shape
        require_same_shape("The mask", (wide, tall), (width, height))
        if (tall, wide) == (height, width):
            return self.inside.copy()
        scaled = cv2.resize(self.inside.astype(np.uint8), (width, height), interpolation=cv2.INTER_NEAREST)
        return np.asarray(scaled, dtype=np.bool_)

    def describe(self) -> Any:
        """Return the size; there is no file to name."""
        return {"in_memory": [self.inside.shape[1], self.inside.shape[0]]}


@dataclass(frozen=True, slots=True)
class Union:
    """Everything that is inside any part."""

    parts: tuple[Mask, ...]

    def render(self, width: int, height: int) -> BoolMask:
        """Return the union of the rendered parts."""
        union = np.zeros((height, width), dtype=np.bool_)
        for part in self.parts:
            union |= part.render(width, height)
        return union

    def describe(self) -> Any:
        """Return `{union: [...]}`."""
        return {"union": [part.describe() for part in self.parts]}


@dataclass(frozen=True, slots=True)
class Outside:
    """Everything that is not inside the part."""

    part: Mask

    def render(self, width: int, height: int) -> BoolMask:
        """Invert the rendered part."""
        return ~self.part.render(width, height)

    def describe(self) -> Any:
        """Return `{outside: ...}`."""
        return {"outside": self.part.describe()}


@dataclass(frozen=True, slots=True)
class Dilated:
    """The part with a margin of some pixels around it."""

    part: Mask
    by: int

    def render(self, width: int, height: int) -> BoolMask:
        """Dilate the rendered part by a disc."""
        return dilate_mask(self.part.render(width, height), self.by)

    def describe(self) -> Any:
        """Return `{grow: ..., by: pixels}`."""
        return {"grow": self.part.describe(), "by": self.by}


@dataclass(frozen=True, slots=True)
class MayOverhang:
    """A part that may leave the image, such as the target of a moved object that is cut off at the border."""

    part: Mask

    def render(self, width: int, height: int) -> BoolMask:
        """Render the part clipped to the image."""
        return self.part.render(width, height)

    def describe(self) -> Any:
        """Return the description of the part."""
        return self.part.describe()


@dataclass(frozen=True, slots=True)
class Rectangle:
    """The box from (left, top) up to, not including, (right, bottom)."""

    left: float
    top: float
    right: float
    bottom: float

    def render(self, width: int, height: int) -> BoolMask:
        """Render the box clipped to the image."""
        canvas = np.zeros((height, width), dtype=np.bool_)
        left, top = max(0, round(self.left)), max(0, round(self.top))
        canvas[top : max(top, round(self.bottom)), left : max(left, round(self.right))] = True
        return canvas

    def describe(self) -> Any:
        """Return `{box: [left, top, right, bottom]}`."""
        return {"box": [self.left, self.top, self.right, self.bottom]}


def bright_pixels(pixels: NDArray[np.uint8], name: str) -> BoolMask:
    """Return where an image (height x width x 3) is bright; raise `BadImageError` if it is dark but not black."""
    gray = pixels.max(axis=2)
    if 0 < gray.max() < INSIDE_LEVEL:
        raise BadImageError(
            f"{name} has nothing inside: its brightest pixel is {gray.max()}, and {INSIDE_LEVEL} is needed. "
            "If it holds 0 and 1, multiply it by 255."
        )
    return np.asarray(gray >= INSIDE_LEVEL)


def require_same_shape(name: str, size: tuple[int, int], image_size: tuple[int, int]) -> None:
    """Raise `BadImageError` when mask and image differ in aspect ratio, so that the mask would cover something else."""
    (wide, tall), (width, height) = size, image_size
    if abs(wide * height / (tall * width) - 1) > ASPECT_TOLERANCE:
        raise BadImageError(f"{name} is {wide} x {tall}, its image {width} x {height}: another shape.")


def require_inside(part: object, width: int, height: int) -> None:
    """Raise `BadImageError` when an outline or a box of a mask leaves an image of this size."""
    if isinstance(part, Polygons | Rectangle):
        box = part.box() if isinstance(part, Polygons) else (part.left, part.top, part.right, part.bottom)
        left, top, right, bottom = box
        if (
            min(left + MAX_OVERHANG * width, top + MAX_OVERHANG * height) < 0
            or right > (1 + MAX_OVERHANG) * width
            or bottom > (1 + MAX_OVERHANG) * height
        ):
            sides = ", ".join(f"{side:g}" for side in box)
            raise BadImageError(f"The mask reaches over ({sides}) and leaves its image of {width} x {height} pixels.")
    elif isinstance(part, tuple):
        for element in part:
            require_inside(element, width, height)
    elif is_dataclass(part) and not isinstance(part, MayOverhang):
        for field in fields(part):
            require_inside(getattr(part, field.name), width, height)


def mask_files(part: object) -> Iterator[Path]:
    """Yield the files from which a mask is read, however it is composed."""
    if isinstance(part, Path):
        yield part
    elif isinstance(part, tuple):
        for element in part:
            yield from mask_files(element)
    elif is_dataclass(part):
        for field in fields(part):
            yield from mask_files(getattr(part, field.name))


def dilate_mask(mask: BoolMask, by: int) -> BoolMask:
    """Dilate a mask by a disc of that radius in pixels."""
    if by <= 0:
        return mask
    result = np.zeros(mask.shape, np.bool_)
    if mask.any():
        left, top, right, bottom = bounding_box(mask)  # only this part can grow
        near = slice(max(0, top - by), bottom + by), slice(max(0, left - by), right + by)
        disc = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * by + 1, 2 * by + 1))
        result[near] = cv2.dilate(mask[near].view(np.uint8), disc)
    return result


def bounding_box(mask: BoolMask) -> tuple[int, int, int, int]:
    """Return (left, top, right, bottom) of the pixels inside, right and bottom excluded."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    if rows.size == 0:
        raise BadImageError("An empty mask has no bounding box.")
    return int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1
