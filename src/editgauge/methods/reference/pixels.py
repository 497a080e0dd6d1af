"""From any numbers to 8-bit pixels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from editgauge.core.images import Pixels


def as_pixels(values: NDArray[Any]) -> Pixels:
    """The nearest 8-bit values; what is too dark or too bright becomes black or white.

    >>> as_pixels(np.array([-3.0, 7.6, 300.0])).tolist()
    [0, 8, 255]
    """
    return np.asarray(np.clip(np.rint(values), 0, 255), dtype=np.uint8)
