"""Reasons of missing outcomes, and the card of a method: time, memory, failures and cost."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Literal, get_args

from editgauge._util.files import read_text
from editgauge.errors import CannotEditError

AbsenceReason = Literal[
    "refused",  # a filter or the model itself would not; another try would end the same way
    "timeout",  # it took longer than it was given
    "unreachable",  # the editor did not answer, however often it was asked
    "crashed",  # it failed, or gave something that is no picture
    "cannot",  # the edit lacks something that the method needs
]
ABSENCE_REASONS: tuple[AbsenceReason, ...] = get_args(AbsenceReason)


class RefusedError(CannotEditError):
    """A content filter or the model refused the edit; recorded as an absence, never as a black image."""

    def __init__(self, detail: str) -> None:
        super().__init__(f"refused: {detail}")


def absence_reason(absence: str) -> AbsenceReason:
    """Return the category under which an absence is counted.

    >>> absence_reason("refused: nudity filter"), absence_reason("there is no cat")
    ('refused', 'cannot')
    """
    word = absence.partition(":")[0]
    return next((category for category in ABSENCE_REASONS if word == category), "cannot")


SETTINGS = "method.json"
"""The manifest that `editgauge edit` writes next to the outcomes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodCard:
    """Time, memory, failures and cost of making outcomes; None where unknown."""

    outcomes: int
    failures: Mapping[str, int]
    """Reason to how many outcomes there are none of."""
    seconds_mean: float | None
    seconds_median: float | None
    peak_memory: int | None
    """In bytes, of the process and of commands it ran, everything else in it included."""
    peak_gpu_memory: int | None
    cost: float | None
    """Of the outcomes that there are; an endpoint may charge for failures too."""

    def summary(self) -> str:
        """Summarize the card in one line."""
        failed = sum(self.failures.values())
        reasons = ", ".join(f"{count} {reason}" for reason, count in self.failures.items())
        parts = [
            f"{self.seconds_median:.3g} s per edit (median)" if self.seconds_median is not None else "",
            f"{self.peak_memory / 1e9:.2f} GB of memory" if self.peak_memory else "",
            f"{self.peak_gpu_memory / 1e9:.2f} GB on the GPU" if self.peak_gpu_memory else "",
            f"{failed} of {self.outcomes + failed} failed ({reasons})" if failed else "no failures",
            f"cost {self.cost:.4g}" if self.cost is not None else "",
        ]
        return ", ".join(part for part in parts if part)

    def as_json(self) -> dict[str, Any]:
        """Return the card for the method's manifest."""
        return asdict(self)


def read_card(outcomes: Path) -> MethodCard | None:
    """Read the card next to outcomes that `editgauge edit` has finished; None if there is none."""
    try:
        card = json.loads(read_text(outcomes / SETTINGS))["card"]
        return MethodCard(**{field.name: card[field.name] for field in fields(MethodCard)})
    except (OSError, ValueError, KeyError, TypeError):
        return None
