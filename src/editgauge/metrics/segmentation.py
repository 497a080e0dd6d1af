"""Two maps of classes against each other: does every pixel still show what it showed?"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Labels = NDArray[np.integer]
"""height x width: a number for the class of every pixel."""


def label_agreement(before: Labels, after: Labels) -> float:
    """The share of pixels whose class stayed.

    >>> label_agreement(np.array([[0, 0, 1, 1]]), np.array([[0, 0, 0, 1]]))
    0.75
    """
    _check(before, after)
    return float((before == after).mean())


def mean_class_overlap(before: Labels, after: Labels) -> float:
    """Intersection over union of each class that either map has, and their mean: a small thing counts like a large one.

    >>> mean_class_overlap(np.array([[0, 0, 0, 1]]), np.array([[0, 0, 0, 0]]))
    0.375
    """
    _check(before, after)
    classes, both = np.unique(np.stack([before, after]), return_inverse=True)
    first, second = both.reshape(2, -1)
    counts = np.bincount(first * len(classes) + second, minlength=len(classes) ** 2).reshape(len(classes), -1)
    shared = counts.diagonal()
    return float((shared / (counts.sum(axis=0) + counts.sum(axis=1) - shared)).mean())


def _check(before: Labels, after: Labels) -> None:
    if before.shape != after.shape or not before.size:
        raise ValueError(f"two maps of one size are compared, got {before.shape} and {after.shape}")
