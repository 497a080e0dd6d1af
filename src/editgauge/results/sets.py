"""Scores of whole sets of outcomes, such as FID: one file next to the scores of single ones."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from editgauge._util.files import write_json
from editgauge.errors import BadRunError

FILE = "sets.json"
ALL = "all"


@dataclass(frozen=True, slots=True)
class SetScore:
    """What a protocol says about all outcomes of a method, or of those of one edit type."""

    protocol: str
    name: str
    method: str
    edit_type: str
    """`all` for the whole method."""
    value: float | None
    n: int
    """How many outcomes it is made of."""
    higher_is_better: bool
    about: str
    reason: str = ""
    detail: str = ""
    """A warning that belongs to the value, or why there is none."""
    missing: int = 0
    """Outcomes of the cell that could not be taken in."""
    reasons: dict[str, int] = field(default_factory=dict)
    """Why they could not, in the words of `Unscored`, to how many."""
    low: float | None = None
    high: float | None = None
    """The 95% interval, where the protocol has one."""
    interval_method: str = ""


def write_sets(folder: Path, scores: Sequence[SetScore]) -> None:
    """Write the set scores into the run folder, atomically."""
    write_json(folder / FILE, [asdict(score) for score in scores])


def read_sets(folder: Path) -> tuple[SetScore, ...]:
    """Those of a run; none when its protocols have none."""
    path = folder / FILE
    if not path.is_file():
        return ()
    try:
        return tuple(SetScore(**stored) for stored in json.loads(path.read_text("utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise BadRunError(f"'{path}' cannot be read: {error}.") from error
