"""L1: the mean absolute difference of two images."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cv2

from editgauge.metrics.base import check_pair, mean_difference, metric

if TYPE_CHECKING:
    from editgauge._util.images import Unit
    from editgauge._util.masks import BoolMask


@metric(higher_is_better=False, range=(0.0, 1.0), formula="mean(|source - edited|)")
def l1(source: Unit, edited: Unit, mask: BoolMask | None = None) -> float:
    """Mean absolute error of the pixels.

    mean(|source - edited|) over pixels and channels. Lower is better: 0 means identical images, 1 black against white.

    Args:
        source: image of height x width x 3 (or gray), or a batch.
        edited: image or images of the same size.
        mask: pixels that count, height x width.

    Returns:
        One number, or an array with one number per pair of a batch.

    Example:
        >>> import numpy as np
        >>> round(l1(np.full((4, 4, 3), 0.2), np.full((4, 4, 3), 0.5)), 6)
        0.3

    """
    check_pair(source, edited, mask)
    return mean_difference(source, edited, mask, cv2.NORM_L1)
