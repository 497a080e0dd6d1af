"""The colours of a map on a picture: nothing where it is 0, yellow to red above, and blue below where it is signed.

Red against blue is told apart by nearly everybody; strength is told by opacity as well, for those who see neither.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Stop = tuple[float, int, int, int, float]
"""A number of the map, its red, green and blue, and its opacity from 0 to 1."""
ABOVE: tuple[Stop, ...] = ((0.0, 255, 221, 87, 0.0), (0.5, 245, 130, 42, 0.65), (1.0, 179, 0, 27, 0.85))
BELOW: tuple[Stop, ...] = ((-1.0, 8, 48, 130, 0.85), (-0.5, 52, 140, 214, 0.65), (0.0, 130, 200, 255, 0.0))


def coloured(numbers: NDArray[np.floating], signed: bool = False) -> NDArray[np.uint8]:
    """The numbers as red, green, blue and opacity: height x width x 4.

    >>> coloured(np.array([[0.0, 1.0]])).tolist()
    [[[255, 221, 87, 0], [179, 0, 27, 217]]]
    """
    above = _between(ABOVE, numbers)
    if not signed:
        return above
    return np.where((numbers < 0)[..., np.newaxis], _between(BELOW, numbers), above)


def _between(stops: tuple[Stop, ...], numbers: NDArray[np.floating]) -> NDArray[np.uint8]:
    places, *channels = np.array(stops).T
    mixed = np.stack([np.interp(numbers, places, channel) for channel in channels], axis=-1)
    mixed[..., 3] *= 255
    return np.asarray(np.rint(mixed), dtype=np.uint8)
