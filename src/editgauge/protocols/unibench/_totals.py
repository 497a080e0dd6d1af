"""The rows and totals of UniBench's table, as scores of sets.

Averages are taken over the kinds of scores within a type of task, then over types; nothing is rounded on the way.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import fmean

import numpy as np

from editgauge.evidence import Note
from editgauge.protocols import Part
from editgauge.protocols.unibench._rules import KINDS, Kind
from editgauge.types import Score, Scores, ScoreSpec, Unscored

Means = Mapping[str, Mapping[str, float]]
"""Type of task to kind of score to its mean over the tasks of that type."""

FIDELITY: Mapping[str, tuple[str, ...]] = {
    "change_class": ("target_fidelity",),
    "change_color": ("target_fidelity",),
    "generate": ("target_fidelity", "position_fidelity"),
    "move": ("target_fidelity", "position_fidelity"),
}
CONSISTENCY: Mapping[str, tuple[str, ...]] = {
    "change_class": ("background_consistency",),
    "change_color": ("target_consistency", "background_consistency"),
    "generate": ("background_consistency",),
    "move": ("target_consistency", "background_consistency"),
}
"""Type of task to the kinds of scores it has (UniBench, section 3.3)."""
ABOUT = "Total {}: mean per type and kind of score, then over kinds, then over types (table 1)."


def set_specs(*names: str) -> tuple[ScoreSpec, ...]:
    """What the totals are called, and mean: `total_fidelity` for the score `fidelity`."""
    return tuple(ScoreSpec(f"total_{name}", True, (-1.0, 1.0), ABOUT.format(name)) for name in names)


def as_part(kind: Kind, scores: Scores) -> Part:
    """What a set needs to know of one outcome: its type of task, and the sub-scores that have a value."""
    known = {name: score.value for name, score in scores.items() if isinstance(score, Score)}
    return np.array([KINDS.index(kind)]), np.array(list(known), np.str_), np.array(list(known.values()), np.float64)


def set_scores(parts: Sequence[Part], wanted: Mapping[str, Mapping[str, tuple[str, ...]]]) -> Scores:
    """The totals by name; a type of task that lacks a kind of score has none, and neither has the set."""
    means = means_of(parts)
    return {f"total_{name}": _total(means, kinds_of) for name, kinds_of in wanted.items()}


def means_of(parts: Sequence[Part]) -> Means:
    """The mean of every kind of score, by type of task."""
    values: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for kind, names, numbers in parts:
        of_type = values[KINDS[int(kind[0])]]
        for name, number in zip(names.tolist(), numbers.tolist(), strict=True):
            of_type[name].append(number)
    return {kind: {name: fmean(its) for name, its in of_type.items()} for kind, of_type in values.items()}


def _total(means: Means, kinds_of: Mapping[str, tuple[str, ...]]) -> Score | Unscored:
    if not means:
        return Unscored("not_applicable", "no outcome of this set could be scored")
    value = total(means, kinds_of)
    if value is None:
        lacking = [f"{kind}: {name}" for kind in means for name in kinds_of[kind] if name not in means[kind]]
        return Unscored("not_applicable", f"no outcome has these scores: {', '.join(lacking)}")
    absent = [kind.replace("_", " ") for kind in KINDS if kind not in means]
    is_whole = len(means) == 1 or not absent  # a row of the table is about one type alone
    return Score(value, () if is_whole else (Note(f"Without {' and '.join(absent)}, of which there are none."),))


def average(kinds: Mapping[str, float], wanted: Sequence[str]) -> float | None:
    """The mean of the kinds of scores of one type of task; none while one of them is missing.

    >>> average({"target_fidelity": 0.385, "position_fidelity": 0.746}, FIDELITY["move"])
    0.5655
    """
    return fmean(kinds[kind] for kind in wanted) if all(kind in kinds for kind in wanted) else None


def total(means: Means, kinds_of: Mapping[str, tuple[str, ...]]) -> float | None:
    """Every type of task that is there counts once; none while one of them lacks a kind of score.

    >>> total({"change_class": {"target_fidelity": 0.1}, "change_color": {"target_fidelity": 0.2}}, FIDELITY)
    0.15000000000000002
    """
    averages = [average(kinds, kinds_of[task]) for task, kinds in means.items()]
    known = [each for each in averages if each is not None]
    return fmean(known) if known and len(known) == len(averages) else None
