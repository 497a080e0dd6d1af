"""How much each attribute counts: like the others of its own set, unlike those of the opposite set (AugCLIP, 4.1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from editgauge.protocols._text_image import Floats, Vectors, units

FLOOR = 1e-3
"""What a weight that is not positive becomes: a classifier needs positive ones."""


@dataclass(frozen=True, slots=True, eq=False)
class Weights:
    """One positive weight per attribute of the two sets, and what had to be done to make them so."""

    source: Floats
    target: Floats
    clipped_source: float = 0.0
    """The share of source attributes whose weight was clipped."""
    clipped_target: float = 0.0
    abandoned: bool = False
    """Was a whole set clipped, so that all attributes weigh the same instead?"""

    def scaled(self) -> Weights:
        """The same weights with the mean 1, so that the C of a classifier means the same as without weights."""
        mean = float(np.concatenate([self.source, self.target]).mean())
        return Weights(self.source / mean, self.target / mean, self.clipped_source, self.clipped_target, self.abandoned)


def even_weights(source: Vectors, target: Vectors) -> Weights:
    """All attributes alike (table 9, unweighted)."""
    return Weights(np.ones(len(source)), np.ones(len(target)))


def relative_weights(source: Vectors, target: Vectors, *, sums: bool = False) -> Weights:
    """Importance plus collision (eq. 4-6): by mean cosines, or by their sums as the formulas print them."""
    return clipped(*(_relative(*pair, sums=sums) for pair in ((source, target), (target, source))))


def naive_weights(source: Vectors, target: Vectors, direction: Vectors) -> Weights:
    """By the cosine with the way from source text to target text, backwards for source attributes (table 7)."""
    way = units(direction)
    return clipped(-units(source) @ way, units(target) @ way)


def clipped(source: Floats, target: Floats) -> Weights:
    """The weights with a small positive floor; all alike when a whole set lies below it.

    >>> clipped(np.array([0.5, -1.0]), np.array([0.2])).source.tolist()
    [0.5, 0.001]
    >>> clipped(np.array([-0.5, -1.0]), np.array([0.2])).abandoned
    True
    """
    low_source, low_target = source < FLOOR, target < FLOOR
    shares = float(low_source.mean()), float(low_target.mean())
    if low_source.all() or low_target.all():
        return Weights(np.ones(len(source)), np.ones(len(target)), *shares, abandoned=True)
    return Weights(np.maximum(source, FLOOR), np.maximum(target, FLOOR), *shares)


def _relative(own: Vectors, opposite: Vectors, *, sums: bool) -> Floats:
    mine, others = units(own), units(opposite)
    importance = (mine @ mine.T).sum(axis=1) - 1.0  # without its similarity with itself
    collision = -(mine @ others.T).sum(axis=1)
    if sums:
        return np.asarray(importance + collision)
    return np.asarray(importance / max(len(mine) - 1, 1) + collision / len(others))
