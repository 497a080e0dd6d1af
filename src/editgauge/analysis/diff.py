"""What differs between two runs: options and versions, images, and the scores themselves."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from editgauge.core.run import Run
from editgauge.core.run.records import Key


@dataclass(frozen=True, slots=True)
class Shift:
    """How one score of one method moved."""

    protocol: str
    name: str
    method: str
    common: int
    """Scored in both runs."""
    changed: int
    """Of those, how many have another value."""
    only_first: int
    only_second: int
    mean_first: float | None
    mean_second: float | None
    """Means over what is scored in both."""

    @property
    def same(self) -> bool:
        """Whether nothing about this score differs."""
        return not (self.changed or self.only_first or self.only_second)


@dataclass(frozen=True, slots=True)
class Difference:
    """Everything that differs between two runs."""

    settings: dict[str, tuple[Any, Any]]
    """Setting to (first, second), where they differ."""
    images_changed: int
    """Outcomes or sources whose pixels differ."""
    shifts: tuple[Shift, ...]

    @property
    def same_scores(self) -> bool:
        """Whether both runs hold the same scores."""
        return all(shift.same for shift in self.shifts)


def diff(first: str | Path, second: str | Path) -> Difference:
    """Compares two runs score by score, and says which settings and images differ.

    Args:
        first: a run folder.
        second: another run folder.
    """
    a, b = Run.open(Path(first)), Run.open(Path(second))
    return Difference(_settings(a, b), _images_changed(a, b), tuple(_shifts(a, b)))


def _settings(a: Run, b: Run) -> dict[str, tuple[Any, Any]]:
    here, there = (_flat(run) for run in (a, b))
    keys = [*here, *(key for key in there if key not in here)]
    return {key: (here.get(key), there.get(key)) for key in keys if here.get(key) != there.get(key)}


def _flat(run: Run) -> dict[str, Any]:
    manifest = run.manifest
    flat: dict[str, Any] = {
        "benchmark": manifest.benchmark,
        "edits": manifest.edits,
        "edits_sha256": manifest.edits_sha256,
        "seed": manifest.seed,
        "finished": manifest.finished is not None,
        "methods": sorted(manifest.methods),
    }
    flat |= {f"model {role}": model for role, model in manifest.models.items()}
    flat |= {f"protocol {name}": asdict(entry) for name, entry in manifest.protocols.items()}
    return flat | {f"version of {name}": number for name, number in manifest.environment.items()}


def _images_changed(a: Run, b: Run) -> int:
    here, there = _pixels(a), _pixels(b)
    return sum(here[key] != there[key] for key in here.keys() & there.keys())


def _pixels(run: Run) -> dict[tuple[str, str, int], tuple[str | None, str | None]]:
    columns = ("edit", "method", "seed", "source_pixels", "edited_pixels")
    rows = zip(*(run.scores[column].to_pylist() for column in columns), strict=True)
    return {(edit, method, seed): (source, edited) for edit, method, seed, source, edited in rows}


_Values = dict[tuple[str, str, str], dict[Key, float]]


def _values(run: Run) -> _Values:
    columns = ("edit", "method", "seed", "protocol", "name", "value")
    found: _Values = {}
    for edit, method, seed, protocol, name, value in zip(*(run.scores[c].to_pylist() for c in columns), strict=True):
        these = found.setdefault((protocol, name, method), {})
        if value is not None:
            these[Key(edit, method, seed, protocol)] = value
    return found


def _shifts(a: Run, b: Run) -> list[Shift]:
    here, there = _values(a), _values(b)
    shifts = []
    for where in [*here, *(key for key in there if key not in here)]:
        mine, theirs = here.get(where, {}), there.get(where, {})
        common = [key for key in mine if key in theirs]
        before, after = np.array([mine[key] for key in common]), np.array([theirs[key] for key in common])
        shifts.append(
            Shift(
                *where,
                common=len(common),
                changed=int((before != after).sum()),
                only_first=len(mine) - len(common),
                only_second=len(theirs) - len(common),
                mean_first=float(before.mean()) if common else None,
                mean_second=float(after.mean()) if common else None,
            )
        )
    return shifts
