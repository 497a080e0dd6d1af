"""A picture of a review cropped to a smaller square by a reviewer, with its objects."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from editgauge.benchmarks.unibench.annotations import Instance
from editgauge.benchmarks.unibench.masks import mask_of, run_lengths
from editgauge.building.review.file import ReviewPicture
from editgauge.building.unibench.squares import Square
from editgauge.core.errors import BadInput
from editgauge.core.images import read_image, write_png
from editgauge.core.masks import box_of

LEAST_SIDE = 64
"""Pixels: what is smaller has no detail left when it is scaled up again."""
FEWEST_OBJECTS = 2
"""A picture with fewer objects has no target and anchor."""


def square_of(box: tuple[int, int, int], picture: ReviewPicture) -> Square:
    """The square at left, top, side; raises `BadInput` for one that is too small or not inside the picture."""
    left, top, side = box
    least = min(LEAST_SIDE, picture.width // 2)
    if side < least:
        raise BadInput(f"a crop of this picture is at least {least} pixels wide, got {side}")
    if left < 0 or top < 0 or left + side > picture.width or top + side > picture.height:
        size = f"{picture.width} x {picture.height}"
        raise BadInput(f"the square at {left}, {top} with a side of {side} leaves the picture of {size}")
    return Square(left, top, side)


def cropped(picture: ReviewPicture, square: Square, images: Path) -> ReviewPicture:
    """The picture cut to the square and scaled to the width it had, written beside the old one.

    Raises `BadInput` when too few objects are left in it.
    """
    size = picture.width
    instances = [cut for each in picture.instances if (cut := _cut(each, picture, square)) is not None]
    if len(instances) < FEWEST_OBJECTS:
        raise BadInput(f"only {len(instances)} of the {len(picture.instances)} objects are left in that square")
    path = PurePosixPath(picture.file)
    file = path.with_name(f"{path.stem}-crop-{square.left}-{square.top}-{square.side}.png")
    write_png(square.cut(read_image(images / picture.file), size), images / file)
    return picture.model_copy(update={"file": str(file), "width": size, "height": size, "instances": instances})


def _cut(instance: Instance, picture: ReviewPicture, square: Square) -> Instance | None:
    mask = square.cut_mask(mask_of(instance.mask).render(picture.width, picture.height), picture.width)
    if not mask.any():
        return None
    box = [float(side) for side in box_of(mask)]
    return instance.model_copy(update={"mask": run_lengths(mask), "box": box})
