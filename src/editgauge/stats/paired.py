"""Does one evaluator agree with people more often than another, on the very same questions?

Both answer the same questions, so only those count on which they part: the idea of McNemar's test. His exact test takes
every question for independent of the others, and questions about one source image are not; it also has no place for
half a point, which equal scores earn. So whole source images change sides here: under the hypothesis that both are
equally good, swapping the two on all questions of an image changes nothing, and the p-value is the share of such swaps
that part them as far. With one question per image and no equal scores this is McNemar's exact test, but for the chance
of 9,999 draws; a test holds it against that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from editgauge.stats.intervals import Labels, Mean, Numbers, clustered_mean, holm, sign_flip_p


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
    """Two-sided; None when all is from one source image."""
    adjusted: float | None = None
    """P after Holm, for having looked at several; the one ahead was picked by the same questions, so it flatters."""


def paired_difference(
    first: Numbers, second: Numbers, clusters: Labels, names: tuple[str, str] = ("first", "second")
) -> Paired | None:
    """Compares what two evaluators earn on every question, NaN for no answer; None when no question has both.

    >>> found = paired_difference(np.array([1.0, 1.0, 0.0]), np.array([0.0, 1.0, 0.5]), np.arange(3))
    >>> found.only_first, found.only_second, round(found.difference.value, 3)
    (1, 1, 0.167)
    """
    both = ~np.isnan(first) & ~np.isnan(second)
    if not both.any():
        return None
    ahead = (first - second)[both]
    return Paired(
        *names,
        clustered_mean(ahead, clusters[both]),
        only_first=int((ahead > 0).sum()),
        only_second=int((ahead < 0).sum()),
        p=sign_flip_p(ahead, clusters[both]),
    )


def against_the_first(earned: Sequence[tuple[str, Numbers]], clusters: Labels) -> tuple[Paired, ...]:
    """The first evaluator against every other one, each on the questions that both can answer."""
    if not earned:
        return ()
    (name, credit), *others = earned
    found = [paired_difference(credit, theirs, clusters, (name, other)) for other, theirs in others]
    there = [each for each in found if each is not None]
    adjusted = holm([each.p for each in there])
    return tuple(replace(each, adjusted=p) for each, p in zip(there, adjusted, strict=True))
