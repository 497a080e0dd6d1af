"""Do two evaluators err on the same edits? If not, both together could know more than either."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from editgauge.stats.intervals import Labels, Mean, Numbers, clustered_mean


@dataclass(frozen=True, slots=True)
class Complementarity:
    """How often two evaluators agree with people, apart and together; each share with its interval."""

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
