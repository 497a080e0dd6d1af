"""UniBench's averages: of the kinds of scores within a type of task, then over types; nothing is rounded on the way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from types import MappingProxyType

Means = Mapping[str, Mapping[str, float]]
"""Type of task to kind of score to its mean over the tasks of that type."""

FIDELITY: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "change_class": ("target_fidelity",),
        "change_color": ("target_fidelity",),
        "generate": ("target_fidelity", "position_fidelity"),
        "move": ("target_fidelity", "position_fidelity"),
    }
)
CONSISTENCY: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "change_class": ("background_consistency",),
        "change_color": ("target_consistency", "background_consistency"),
        "generate": ("background_consistency",),
        "move": ("target_consistency", "background_consistency"),
    }
)
"""Type of task to the kinds of scores it has (UniBench, section 3.3)."""


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
