"""Why a mean moved between two runs: its change taken apart into causes that add up to it.

The means are walked from the first run to the second in fixed steps: leave the edits that only the first run has, leave
what is scored only there, let the values of what is left move, take in what is scored only in the second, take in its
further edits. Each step's change of the mean belongs to one cause, and a value's change to what differs about its item.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from math import fsum
from typing import Literal, NamedTuple, get_args

Cause = Literal["edits", "missing", "images", "models", "rules", "judge", "several", "software"]
CAUSES: tuple[Cause, ...] = get_args(Cause)
MEANINGS: dict[Cause, str] = {
    "edits": "edits that only one run has, or that were changed",
    "missing": "scored in one run only",
    "images": "other pixels",
    "models": "another model or revision",
    "rules": "another rule set or version of the protocol",
    "judge": "the judge answered the same questions otherwise",
    "several": "more than one of these at once, which cannot be distinguished",
    "software": "the same inputs and another value: software, its versions, or a seed",
}

Place = tuple[str, int]
"""An item of one method: edit and seed."""
Values = Mapping[Place, float]


class Part(NamedTuple):
    """What one cause did to a mean."""

    change: float
    items: int


@dataclass(frozen=True, slots=True)
class Attribution:
    """The change of one mean, by cause; the parts add up to it."""

    before: float
    after: float
    parts: Mapping[Cause, Part]
    """Only causes that touch an item."""

    @property
    def change(self) -> float:
        """By how much the mean moved."""
        return self.after - self.before


def attribute(
    first: Values, second: Values, shared_edits: Collection[str], cause_of: Callable[[Place], Cause]
) -> Attribution | None:
    """Takes the change of a mean apart; None when one run has no score to take a mean of.

    Args:
        first: the values of the first run.
        second: those of the second.
        shared_edits: the edits that both benchmarks hold.
        cause_of: what differs about an item that is scored in both runs.
    """
    if not first or not second:
        return None
    both = [place for place in first if place in second]
    shared = {*shared_edits, *(edit for edit, _ in both)}
    changes: dict[Cause, list[float]] = {cause: [] for cause in CAUSES}
    items = dict.fromkeys(CAUSES, 0)
    for place in (first.keys() | second.keys()) - set(both):
        items["missing" if place[0] in shared else "edits"] += 1
    for place in both:
        if first[place] != second[place]:
            cause = cause_of(place)
            items[cause] += 1
            changes[cause].append((second[place] - first[place]) / len(both))
    inwards, outwards = _Way.of(first, shared, both), _Way.of(second, shared, both)
    for way, sign in ((inwards, 1), (outwards, -1)):
        changes["edits"].append(sign * (way.shared - way.whole))
        changes["missing"].append(sign * (way.inner - way.shared))
    if not both:  # the two ways do not meet, and the last step leads from one to the other
        changes["missing" if items["missing"] else "edits"].append(outwards.inner - inwards.inner)
    parts = {cause: Part(fsum(changes[cause]), items[cause]) for cause in CAUSES if items[cause]}
    return Attribution(inwards.whole, outwards.whole, parts)


class _Way(NamedTuple):
    """The means of one run on the way to what both have; a set that is empty keeps the mean before it."""

    whole: float
    shared: float
    inner: float

    @classmethod
    def of(cls, values: Values, shared_edits: Collection[str], both: Collection[Place]) -> _Way:
        whole = _mean(values.values())
        of_shared = [value for place, value in values.items() if place[0] in shared_edits]
        shared = _mean(of_shared) if of_shared else whole
        return cls(whole, shared, _mean([values[place] for place in both]) if both else shared)


def _mean(values: Collection[float]) -> float:
    return fsum(values) / len(values)
