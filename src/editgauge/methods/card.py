"""The card of a method: how long it takes, how much memory, how often it fails and why, and what it costs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from editgauge._util.files import read_text

SETTINGS = "method.json"
"""The manifest that `editgauge edit` writes next to the outcomes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodCard:
    """What making these outcomes took; what was not seen is None."""

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
        """As it stands in the method's manifest."""
        return asdict(self)


def read_card(outcomes: Path) -> MethodCard | None:
    """Read the card next to outcomes that `editgauge edit` has finished; None if there is none."""
    try:
        card = json.loads(read_text(outcomes / SETTINGS))["card"]
        return MethodCard(**{field.name: card[field.name] for field in fields(MethodCard)})
    except (OSError, ValueError, KeyError, TypeError):
        return None
