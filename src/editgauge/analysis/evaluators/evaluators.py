"""What prefers one outcome to another: a score of a run, a blend of two, a judge that was asked about pairs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from editgauge._stats.intervals import Labels, Mean, Numbers, clustered_mean
from editgauge._stats.resampling import Estimate
from editgauge.analysis.people.matching import OutcomeKey, ScoredOutcomes
from editgauge.edit_types import EDIT_TYPES
from editgauge.types import ScoreSpec


class Evaluator(Protocol):
    """Anything that can be asked which of two outcomes is better."""

    @property
    def protocol(self) -> str:
        """The protocol that it belongs to."""
        ...

    @property
    def spec(self) -> ScoreSpec:
        """What it is called, and which way is better."""
        ...

    def pair(self, first: OutcomeKey, second: OutcomeKey) -> tuple[float, float] | None:
        """What both are worth to it, where more is better; None when it has nothing to say of one of them."""
        ...


@dataclass(frozen=True, slots=True)
class Scored:
    """A score of a run."""

    protocol: str
    spec: ScoreSpec
    values: Mapping[OutcomeKey, float]

    def worth(self, key: OutcomeKey) -> float | None:
        """The score with its sign turned where lower is better; None for what is unscored."""
        value = self.values.get(key)
        return value if value is None or self.spec.higher_is_better else -value

    def pair(self, first: OutcomeKey, second: OutcomeKey) -> tuple[float, float] | None:
        """The two scores, more being better."""
        one, two = self.worth(first), self.worth(second)
        return None if one is None or two is None else (one, two)


@dataclass(frozen=True, slots=True)
class EvaluatorTarget:
    """One thing that an evaluator can be compared with: people's choices, their ratings, triplets of known truth."""

    name: str
    measure: str
    """What the number is."""
    chance: float
    """What guessing would reach."""
    ask: Callable[[Scored], Estimate]


def scored(scores: Iterable[tuple[str, ScoreSpec]], known: ScoredOutcomes) -> list[Scored]:
    """These scores of a run."""
    return [Scored(protocol, spec, known.values.get((protocol, spec.name), {})) for protocol, spec in scores]


def label(evaluator: Evaluator) -> str:
    """Its name among those of other protocols."""
    return f"{evaluator.protocol}/{evaluator.spec.name}"


def shares(credit: Numbers, sources: Labels, edit_types: Labels) -> tuple[Mean | None, dict[str, Mean]]:
    """The mean of what an evaluator earned, NaN for no answer: over all, None without any, and by edit type."""
    there = ~np.isnan(credit)
    types = {name: there & (edit_types == name) for name in EDIT_TYPES}
    by_type = {name: clustered_mean(credit[rows], sources[rows]) for name, rows in types.items() if rows.any()}
    return (clustered_mean(credit[there], sources[there]) if there.any() else None), by_type


def best_first(measured: Mean | Estimate | None) -> float:
    """A key to sort by: the highest first, what has no value last."""
    return math.inf if measured is None or measured.value is None else -measured.value


def margins(evaluator: Evaluator, pairs: Sequence[tuple[OutcomeKey, ...]]) -> Numbers:
    """By how much the first of every two outcomes is the better one; NaN, within this room, for no answer."""
    worths = (evaluator.pair(first, second) for first, second in pairs)
    return np.array([np.nan if both is None else both[0] - both[1] for both in worths], dtype=np.float64)
