from __future__ import annotations

from typing import Any

import numpy as np

from editgauge.core.errors import CannotEdit
from editgauge.core.images import Pixels
from editgauge.core.types import Edit


class Negative:
    name = "negative"
    about = "Turns every picture into its negative."

    def edit(self, edit: Edit, source: Pixels, seed: int) -> Pixels:
        return np.asarray(255 - source, dtype=np.uint8)


class Clumsy:
    """Does what the edit's `subject` says."""

    name = "clumsy"
    about = "Fails in every way a method can."

    def edit(self, edit: Edit, source: Pixels, seed: int) -> Pixels:
        given: Any = source
        match edit.subject:
            case "raises":
                raise RuntimeError("no such luck")
            case "cannot":
                raise CannotEdit("there is no cat")
            case "floats":
                given = source / 255.0
            case "gray":
                given = source[..., 0]
            case "none":
                given = None
        pixels: Pixels = given
        return pixels


negative = Negative()
clumsy = Clumsy()
