"""Square pictures: where to cut, the result for the objects (section 3.1 of UniBench), and crops by reviewers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import cv2
import numpy as np

from editgauge._util.images import Pixels, read_image, resize_image, write_png
from editgauge._util.masks import BoolMask
from editgauge.benchmarks.unibench._annotations import Instance, mask_of
from editgauge.builders.review.file import ReviewPicture, instance_of
from editgauge.errors import BadInputError

Box = tuple[float, float, float, float]
"""Left, top, right, bottom."""
LEAST_SIDE = 64
"""Pixels: what is smaller has no detail left when it is scaled up again."""
FEWEST_OBJECTS = 2
"""A picture with fewer objects has no target and anchor."""


@dataclass(frozen=True, slots=True)
class Square:
    """A square part of a picture, in whole pixels."""

    left: int
    top: int
    side: int

    def cut(self, pixels: Pixels, size: int) -> Pixels:
        """Crop an image and scale it (Lanczos)."""
        part = pixels[self.top : self.top + self.side, self.left : self.left + self.side]
        return resize_image(np.ascontiguousarray(part), size, size)

    def cut_mask(self, mask: BoolMask, size: int) -> BoolMask:
        """Crop and scale a mask; a pixel is inside if at least half of its area is."""
        part = mask[self.top : self.top + self.side, self.left : self.left + self.side]
        if part.shape == (size, size):
            return np.ascontiguousarray(part)
        if size < self.side:
            shares = cv2.resize(part.astype(np.float32), (size, size), interpolation=cv2.INTER_AREA)
            return np.asarray(shares >= 0.5)
        indices = ((np.arange(size) + 0.5) * self.side / size).astype(np.intp)
        return part[np.ix_(indices, indices)]

    def share_of(self, box: Box) -> float:
        """How much of a box is in the square.

        >>> Square(10, 0, 20).share_of((0, 0, 20, 20))
        0.5
        """
        left, top, right, bottom = box
        across = min(right, self.left + self.side) - max(left, self.left)
        down = min(bottom, self.top + self.side) - max(top, self.top)
        area = (right - left) * (bottom - top)
        return max(0.0, across) * max(0.0, down) / area if area > 0 else 0.0


def best_square(width: int, height: int, boxes: Sequence[Box]) -> Square:
    """Return the largest square that keeps the most objects, then the most of the others, then the center.

    >>> best_square(40, 20, [(25, 5, 38, 15)]), best_square(40, 20, [])
    (Square(left=18, top=0, side=20), Square(left=10, top=0, side=20))
    """
    side = min(width, height)
    slack = max(width, height) - side
    is_wide = width > height
    ends = [(box[0], box[2]) if is_wide else (box[1], box[3]) for box in boxes]
    starts = [slack // 2, 0, slack, *(int(low) for low, _ in ends), *(-int(side - high) for _, high in ends)]
    starts_sorted = sorted({min(max(start, 0), slack) for start in starts}, key=lambda start: abs(start - slack // 2))

    def kept(start: int) -> tuple[int, float]:
        square = _at(start, side, is_wide)
        shares = [square.share_of(box) for box in boxes]
        return sum(share > 0.999 for share in shares), round(sum(shares), 6)

    return _at(max(starts_sorted, key=kept), side, is_wide)


def _at(start: int, side: int, is_wide: bool) -> Square:
    return Square(start, 0, side) if is_wide else Square(0, start, side)


def square_of(box: tuple[int, int, int], picture: ReviewPicture) -> Square:
    """Return the square at left, top, side; raise `BadInputError` if it is too small or outside."""
    left, top, side = box
    least = min(LEAST_SIDE, picture.width // 2)
    if side < least:
        raise BadInputError(f"a crop of this picture is at least {least} pixels wide, got {side}")
    if left < 0 or top < 0 or left + side > picture.width or top + side > picture.height:
        size = f"{picture.width} x {picture.height}"
        raise BadInputError(f"the square at {left}, {top} with a side of {side} leaves the picture of {size}")
    return Square(left, top, side)


def cropped(picture: ReviewPicture, square: Square, images: Path) -> ReviewPicture:
    """Crop an image to the square at its original width, and write it.

    Raises `BadInputError` when too few objects are left in it.
    """
    size = picture.width
    instances = [cut for instance in picture.instances if (cut := _cut(instance, picture, square)) is not None]
    if len(instances) < FEWEST_OBJECTS:
        raise BadInputError(f"only {len(instances)} of the {len(picture.instances)} objects are left in that square")
    path = PurePosixPath(picture.file)
    file = path.with_name(f"{path.stem}-crop-{square.left}-{square.top}-{square.side}.png")
    write_png(square.cut(read_image(images / picture.file), size), images / file)
    return picture.model_copy(update={"file": str(file), "width": size, "height": size, "instances": instances})


def _cut(instance: Instance, picture: ReviewPicture, square: Square) -> Instance | None:
    mask = square.cut_mask(mask_of(instance.mask).render(picture.width, picture.height), picture.width)
    return instance_of(instance.id, instance.class_, mask, instance.color) if mask.any() else None
