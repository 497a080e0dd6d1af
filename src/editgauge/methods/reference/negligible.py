"""The source image, changed by hardly anything: what an editor leaves that keeps everything and does not edit.

AugCLIP, section 5.2, calls such outcomes excessively preserved and does not say how they are made; ours are a slight
crop, a slight change of brightness, and one generation of JPEG, as when a picture is merely sent on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import cv2
import numpy as np

from editgauge.methods import Method
from editgauge.methods.reference.editors import chance_of
from editgauge.methods.reference.flaws import recompression
from editgauge.methods.reference.pixels import as_pixels

if TYPE_CHECKING:
    from editgauge.core.images import Pixels
    from editgauge.core.types import Edit

CROP = 0.005
"""At most this share of a side is cut off, on both sides together; what is left is drawn out to the old size."""
BRIGHTNESS = 0.02
"""Light is multiplied by at most this much more or less than one."""
JPEG = 0.05
"""At most this severe; the quality is then 90."""


class Negligible(Method):
    """Changes the source image imperceptibly."""

    name = "negligible"
    about = "A slight crop, change of brightness and JPEG of the source. The edit did not happen; nearly all stayed."

    def edit(self, edit: Edit, source: Pixels, seed: int) -> Pixels:
        """The source, hardly touched."""
        return hardly_touched(source, chance_of(edit, seed))

    def settings(self) -> dict[str, Any]:
        """How much is negligible."""
        return {"crop": CROP, "brightness": BRIGHTNESS, "jpeg": JPEG}


negligible = Negligible()


def hardly_touched(source: Pixels, chance: np.random.Generator) -> Pixels:
    """A slight crop, a slight change of brightness, one generation of JPEG; the same size."""
    height, width = source.shape[:2]
    kept = 1 - CROP * chance.uniform(0.25, 1)
    tall, wide = max(1, round(height * kept)), max(1, round(width * kept))
    top, left = chance.integers(height - tall + 1), chance.integers(width - wide + 1)
    cut = source[top : top + tall, left : left + wide]
    drawn = cv2.resize(cut, (width, height), interpolation=cv2.INTER_CUBIC).astype(np.float64)
    lit = as_pixels(drawn * (1 + chance.uniform(-BRIGHTNESS, BRIGHTNESS)))
    return recompression(lit, chance.uniform(0, JPEG), chance)
