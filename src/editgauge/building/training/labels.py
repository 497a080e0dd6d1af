"""What is known about an outcome: what people said about it, or that the benchmark itself holds it for right."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from editgauge.benchmarks.editinspector.labels import majority
from editgauge.findings.people.ratings import Rating

REFERENCE = "reference"
"""The benchmark's own edited images, as outcomes."""
_YES: Mapping[str, Callable[[float], bool]] = {
    "accuracy": lambda level: level >= 2,
    "consistent": lambda level: level >= 1,
    "precise": lambda level: level >= 1,
    "artifacts": lambda level: level == 0,
    "caption_right": lambda level: level >= 1,
}
"""People's answers as yes or no, as section 3.2 does: for artifacts, only significant ones count."""
_FIELDS = {"accuracy": "accurate"}


@dataclass(frozen=True, slots=True)
class Labels:
    """Yes, no, or unknown."""

    accurate: bool | None = None
    consistent: bool | None = None
    precise: bool | None = None
    artifacts: bool | None = None
    caption_right: bool | None = None
    """Of the difference caption that comes with the edit."""
    artifacts_by: str = ""
    """The protocol and model that labeled the artifacts, where no person did."""


def labels_of(levels: Mapping[str, float | None]) -> Labels:
    """People's majorities as labels.

    >>> labels_of({"accuracy": 3, "artifacts": 1, "precise": None})
    Labels(accurate=True, consistent=None, precise=None, artifacts=False, caption_right=None, artifacts_by='')
    """
    labels: dict[str, Any] = {
        _FIELDS.get(name, name): _YES[name](level)
        for name, level in levels.items()
        if name in _YES and level is not None
    }
    return Labels(**labels)


ACCEPTED = Labels(accurate=True)
"""What the benchmark holds for the right outcome."""


def rated(ratings: Sequence[Rating]) -> dict[tuple[str, str, int | None], Labels]:
    """The labels of outcomes by edit, method and seed, where more than half of the raters agree."""
    by_outcome: dict[tuple[str, str, int | None], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for rating in ratings:
        by_outcome[rating.edit, rating.method, rating.seed][rating.question].append(rating.value)
    return {
        outcome: labels_of({name: majority(values) for name, values in questions.items()})  # type: ignore[arg-type]
        for outcome, questions in by_outcome.items()
    }
