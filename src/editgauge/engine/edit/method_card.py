"""Filling in the card of a method from its outcomes and from what the process needed."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from statistics import fmean, median
from typing import Any

from editgauge.engine.edit.outcome_list import OutcomeLine
from editgauge.methods.absence import why
from editgauge.methods.card import MethodCard

KILOBYTE = 1024


def card_of(lines: Iterable[OutcomeLine], price: float | None, earlier: Mapping[str, Any]) -> MethodCard:
    """The card of all outcomes in a folder.

    Args:
        lines: the outcomes
        price: of one of them
        earlier: the card so far: memory is the most that was ever seen
    """
    known = list(lines)
    seconds = [line.seconds for line in known if line.seconds is not None and line.absence is None]
    outcomes = sum(line.absence is None for line in known)
    return MethodCard(
        outcomes=outcomes,
        failures=dict(Counter(why(line.absence) for line in known if line.absence is not None).most_common()),
        seconds_mean=round(fmean(seconds), 4) if seconds else None,
        seconds_median=round(median(seconds), 4) if seconds else None,
        peak_memory=_most(earlier.get("peak_memory"), _peak_memory()),
        peak_gpu_memory=_most(earlier.get("peak_gpu_memory"), _peak_gpu_memory()),
        cost=None if price is None else round(price * outcomes, 6),
    )


def _most(*known: int | None) -> int | None:
    return max((value for value in known if value), default=None)


def _peak_memory() -> int | None:
    try:
        import resource
    except ImportError:  # not on Windows
        return None
    unit = 1 if sys.platform == "darwin" else KILOBYTE
    return unit * max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def _peak_gpu_memory() -> int | None:
    """Asked of torch only if the method brought it in."""
    torch: Any = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available():
        return None
    return int(torch.cuda.max_memory_allocated())
