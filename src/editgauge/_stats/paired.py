"""Two evaluators on the same questions: does one agree with people more often, and do they err alike?

Both answer the same questions, so only those count on which they differ. The test is that of all pairs of methods
(`stats.pairwise`): McNemar's exact test for answers that are right or wrong, Student's t corrected for skewness where
equal scores earn half a point; questions about one source image count together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from editgauge._stats.intervals import Labels, Mean, Numbers, clustered_mean, holm
from editgauge._stats.pairwise import differences


@dataclass(frozen=True, slots=True)
class Paired:
    """Two evaluators on the questions that both can answer."""

    first: str
    second: str
    difference: Mean
    """What the first earns on average, minus the second."""
    only_first: int
    """Questions on which the first does better."""
    only_second: int
    p: float | None
    """Two-sided; None with too few source images for a test."""
    adjusted: float | None = None
    """P after Holm, for having looked at several; the one ahead was picked on the same questions: optimistic."""


def paired_difference(
    first: Numbers, second: Numbers, clusters: Labels, names: tuple[str, str] = ("first", "second")
) -> Paired | None:
    """Compares what two evaluators earn on every question, NaN for no answer; None when no question has both.

    >>> pair = paired_difference(np.array([1.0, 1.0, 0.0]), np.array([0.0, 1.0, 0.5]), np.arange(3))
    >>> pair.only_first, pair.only_second, round(pair.difference.value, 3)
    (1, 1, 0.167)
    """
    both = ~np.isnan(first) & ~np.isnan(second)
    if not both.any():
        return None
    ahead = (first - second)[both]
    (pair,) = differences(np.stack([first[both], second[both]]), clusters[both], (0.0, 1.0))
    return Paired(
        *names,
        Mean(float(ahead.mean()), pair.low, pair.high, pair.n, pair.clusters, pair.method),
        only_first=int((ahead > 0).sum()),
        only_second=int((ahead < 0).sum()),
        p=pair.p,
    )


def against_the_first(earned: Sequence[tuple[str, Numbers]], clusters: Labels) -> tuple[Paired, ...]:
    """The first evaluator against every other one, each on the questions that both can answer."""
    if not earned:
        return ()
    (name, credit), *others = earned
    compared = [paired_difference(credit, theirs, clusters, (name, other)) for other, theirs in others]
    there = [each for each in compared if each is not None]
    adjusted = holm([each.p for each in there])
    return tuple(replace(each, adjusted=p) for each, p in zip(there, adjusted, strict=True))


@dataclass(frozen=True, slots=True)
class Complementarity:
    """How often two evaluators agree with people, apart and together; each share with its interval.

    If they do not err on the same edits, both together could know more than either.
    """

    first: str
    second: str
    both: Mean
    only_first: Mean
    only_second: Mean
    neither: Mean
    oracle: Mean
    """As if someone knew each time which of the two is right: what a perfect combination could reach."""
    average: Mean | None
    """Their plain average, each in units of its own spread; None when it was not asked for."""


def complementarity(
    first: ArrayLike,
    second: ArrayLike,
    clusters: Labels | None = None,
    *,
    average: ArrayLike | None = None,
    names: tuple[str, str] = ("first", "second"),
) -> Complementarity:
    """Takes what each evaluator earns on every answer of people: 1 for agreeing, 0 for not, 0.5 for a guess.

    >>> shares = complementarity([1, 1, 0, 0], [1, 0, 1, 0])
    >>> shares.both.value, shares.only_first.value, shares.only_second.value, shares.neither.value, shares.oracle.value
    (0.25, 0.25, 0.25, 0.25, 0.75)
    """
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if a.shape != b.shape or a.ndim != 1 or not a.size:
        raise ValueError(f"both must be lists of one length, and not empty; got shapes {a.shape} and {b.shape}")
    labels = np.arange(a.size) if clusters is None else np.asarray(clusters)

    def share(credit: Numbers) -> Mean:
        return clustered_mean(credit, labels)

    return Complementarity(
        *names,
        both=share(np.minimum(a, b)),
        only_first=share(np.maximum(a - b, 0)),
        only_second=share(np.maximum(b - a, 0)),
        neither=share(1 - np.maximum(a, b)),
        oracle=share(np.maximum(a, b)),
        average=None if average is None else share(np.asarray(average, dtype=np.float64)),
    )
