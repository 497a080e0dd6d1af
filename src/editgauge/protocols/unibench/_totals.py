"""Rows and totals of UniBench's table 1, as scores of sets. Sub-scores are averaged per task type, then over types."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import fmean

import numpy as np

from editgauge.evidence import Note
from editgauge.protocols import SetPart
from editgauge.protocols.unibench._rules import KINDS, Kind
from editgauge.types import Score, Scores, ScoreSpec, Unscored

Means = Mapping[str, Mapping[str, float]]
"""Task type to kind of score to its mean over the tasks of that type."""

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
"""Kinds of scores of each task type (UniBench, section 3.3)."""
TOTAL_DESCRIPTION = "Total {}: mean per type and kind of score, then over kinds, then over types (table 1)."


def set_specs(*names: str) -> tuple[ScoreSpec, ...]:
    """Return the specifications of totals: `total_fidelity` for the score `fidelity`."""
    return tuple(ScoreSpec(f"total_{name}", True, (-1.0, 1.0), TOTAL_DESCRIPTION.format(name)) for name in names)


def as_part(kind: Kind, scores: Scores) -> SetPart:
    """Return the task type and the available sub-scores of one outcome."""
    values = {name: score.value for name, score in scores.items() if isinstance(score, Score)}
    return np.array([KINDS.index(kind)]), np.array(list(values), np.str_), np.array(list(values.values()), np.float64)


def set_scores(parts: Sequence[SetPart], required: Mapping[str, Mapping[str, tuple[str, ...]]]) -> Scores:
    """Return the totals by name; unscored if a task type lacks a kind of score."""
    means = mean_scores(parts)
    return {f"total_{name}": _total(means, required_kinds) for name, required_kinds in required.items()}


def mean_scores(parts: Sequence[SetPart]) -> Means:
    """Return the mean of every kind of score, by task type."""
    values: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for kind, names, numbers in parts:
        of_type = values[KINDS[int(kind[0])]]
        for name, number in zip(names.tolist(), numbers.tolist(), strict=True):
            of_type[name].append(number)
    return {kind: {name: fmean(its) for name, its in of_type.items()} for kind, of_type in values.items()}


def _total(means: Means, required_kinds: Mapping[str, tuple[str, ...]]) -> Score | Unscored:
    if not means:
        return Unscored("not_applicable", "no outcome of this set could be scored")
    value = total(means, required_kinds)
    if value is None:
        lacking = [f"{kind}: {name}" for kind in means for name in required_kinds[kind] if name not in means[kind]]
        return Unscored("not_applicable", f"no outcome has these scores: {', '.join(lacking)}")
    absent = [kind.replace("_", " ") for kind in KINDS if kind not in means]
    is_whole = len(means) == 1 or not absent  # a row of the table is about one type alone
    return Score(value, () if is_whole else (Note(f"Without {' and '.join(absent)}, of which there are none."),))


def average(kinds: Mapping[str, float], required: Sequence[str]) -> float | None:
    """Return the mean of a task type's kinds of scores; None if one is missing.

    >>> average({"target_fidelity": 0.385, "position_fidelity": 0.746}, FIDELITY["move"])
    0.5655
    """
    return fmean(kinds[kind] for kind in required) if all(kind in kinds for kind in required) else None


def total(means: Means, required_kinds: Mapping[str, tuple[str, ...]]) -> float | None:
    """Return the mean over task types; None if one of them lacks a kind of score.

    >>> total({"change_class": {"target_fidelity": 0.1}, "change_color": {"target_fidelity": 0.2}}, FIDELITY)
    0.15000000000000002
    """
    averages = [average(kinds, required_kinds[task]) for task, kinds in means.items()]
    values = [mean for mean in averages if mean is not None]
    return fmean(values) if values and len(values) == len(averages) else None
