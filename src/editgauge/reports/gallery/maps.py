"""Maps of a run as small pictures inside the page, in few colours, so that thousands of them stay light."""

from __future__ import annotations

import base64
from io import BytesIO
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image

from editgauge.core.heat_colors import coloured

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from editgauge.core.evidence import Heat

STEPS = 32
"""Levels on either side of 0; on a photo no eye sees a finer step."""


def as_address(heat: Heat) -> str:
    """The map as the address of a picture that holds itself: a PNG with a palette, one byte for each number."""
    levels = np.arange(-STEPS if heat.signed else 0, STEPS + 1)
    palette = coloured((levels / STEPS)[np.newaxis], heat.signed)[0]
    places = (np.rint(heat.map * STEPS) - levels[0]).clip(0, len(levels) - 1).astype(np.uint8)
    return f"data:image/png;base64,{base64.b64encode(_png(places, palette)).decode()}"


def _png(places: NDArray[np.uint8], palette: NDArray[np.uint8]) -> bytes:
    picture = Image.fromarray(places)
    picture.putpalette(palette[:, :3].tobytes())
    stream = BytesIO()
    picture.save(stream, "PNG", optimize=True, transparency=palette[:, 3].tobytes())
    return stream.getvalue()
