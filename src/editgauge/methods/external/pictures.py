"""Pictures as they are sent: PNG, and a mask by its transparency."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image

if TYPE_CHECKING:
    from editgauge.core.images import Pixels
    from editgauge.core.masks import BoolMask


def as_png(pixels: Pixels) -> bytes:
    """The picture, without loss."""
    return _png(Image.fromarray(pixels))


def as_mask(where: BoolMask) -> bytes:
    """Black, and transparent where the picture may change: the form that endpoints for image edits want."""
    rgba = np.zeros((*where.shape, 4), dtype=np.uint8)
    rgba[..., 3] = np.where(where, 0, 255)
    return _png(Image.fromarray(rgba))


def _png(image: Image.Image) -> bytes:
    buffer = BytesIO()
    image.save(buffer, "PNG")
    return buffer.getvalue()
