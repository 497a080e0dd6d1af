"""Sizes: networks take sides that are multiples of something; an outcome has the size of its source."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from PIL import Image

from editgauge.core.errors import CannotEdit
from editgauge.core.images import Pixels


def fitted_size(width: int, height: int, size: int, multiple: int, *, by_area: bool = False) -> tuple[int, int]:
    """The size nearest to this shape whose sides are multiples of `multiple`.

    Its longer side is `size`, as networks trained at one side want it; by area it has as many pixels as a square of it.

    >>> fitted_size(640, 427, 512, 8), fitted_size(30, 3000, 512, 64), fitted_size(400, 100, 1024, 16, by_area=True)
    ((512, 344), (64, 512), (2048, 512))
    """
    scale = size / (math.sqrt(width * height) if by_area else max(width, height))
    across, down = (max(multiple, round(side * scale / multiple) * multiple) for side in (width, height))
    return across, down


def fitted(source: Pixels, size: int, multiple: int, *, by_area: bool = False) -> Image.Image:
    """The source at a size the network takes; the shape is kept but for rounding, nothing is cropped."""
    height, width = source.shape[:2]
    wanted = fitted_size(width, height, size, multiple, by_area=by_area)
    return Image.fromarray(source).resize(wanted, Image.Resampling.LANCZOS)


def outcome_like(source: Pixels, made: Any) -> Pixels:
    """What a pipeline made, in [0, 1], as pixels of the source's size."""
    values = np.asarray(made, dtype=np.float32)
    if not np.isfinite(values).all():
        # Written as it is, it would be a black picture, which a protocol would score.
        raise CannotEdit("The network gave NaN or infinity instead of a picture; --option precision=float32 may help.")
    picture = Image.fromarray(np.rint(values.clip(0, 1) * 255).astype(np.uint8))
    height, width = source.shape[:2]
    if picture.size != (width, height):
        picture = picture.resize((width, height), Image.Resampling.LANCZOS)
    return np.asarray(picture)
