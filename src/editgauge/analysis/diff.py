"""What differs between two runs: options and versions, images, and the scores themselves."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass
from math import fsum
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from editgauge.judges._endpoint import parse_reply
from editgauge.judges._panel import panel_members
from editgauge.judges._transcripts import Transcripts
from editgauge.results import Run

Place = tuple[str, int]
"""An item of one method: edit and seed."""
TRANSCRIPTS = "transcripts"
"""Where a run keeps what its judges were asked and answered."""


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
    other_reason: int
    """Unscored in both, for another reason; or unscored in one and not there at all in the other."""
    causes: Attribution | None = None
    """Where the change of the mean over all that is scored comes from; None when a run has no such mean."""

    @property
    def same(self) -> bool:
        """Whether nothing about this score differs."""
        return not (self.changed or self.only_first or self.only_second or self.other_reason)


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


def difference(first: str | Path, second: str | Path) -> Difference:
    """What differs between two runs, and what caused the change of each mean."""
    a, b = Run.open(Path(first)), Run.open(Path(second))
    here, there, causes = _rows(a), _rows(b), _Causes(a, b)
    scores = dict.fromkeys([*here, *there])
    shifts = tuple(_shift(score, here.get(score, {}), there.get(score, {}), causes) for score in scores)
    return Difference(_settings(a, b), causes.images_changed, shifts)


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
        "version of editgauge": manifest.editgauge,
    }
    flat |= {f"model {role}": model for role, model in manifest.models.items()}
    flat |= {f"protocol {name}": asdict(entry) for name, entry in manifest.protocols.items()}
    return {f"version of {name}": number for name, number in manifest.environment.items()} | flat


def _pixels(run: Run) -> dict[tuple[str, str, int], tuple[str | None, str | None]]:
    columns = ("edit", "method", "seed", "source_pixels", "edited_pixels")
    rows = zip(*(run.scores[column].to_pylist() for column in columns), strict=True)
    return {(edit, method, seed): (source, edited) for edit, method, seed, source, edited in rows}


_Rows = dict[Place, float | str]
"""(edit, seed) to the value, or the reason why there is none."""
_Score = tuple[str, str, str]
"""Protocol, name, method."""


def _rows(run: Run) -> dict[_Score, _Rows]:
    columns = ("protocol", "name", "method", "edit", "seed", "value", "reason")
    rows: dict[_Score, _Rows] = {}
    for *score, edit, seed, value, reason in zip(*(run.scores[c].to_pylist() for c in columns), strict=True):
        protocol, name, method = score
        rows.setdefault((protocol, name, method), {})[edit, seed] = reason if value is None else value
    return rows


class _Causes:
    """What differs between two runs, item by item."""

    def __init__(self, a: Run, b: Run) -> None:
        self.manifests = a.manifest, b.manifest
        self.edits = a.edits, b.edits
        self.shared = a.edits.keys() & b.edits.keys()
        self.pixels = _pixels(a), _pixels(b)
        self.other_models = a.manifest.models != b.manifest.models
        self.moved_judges = _moved_judges(a, b)

    @property
    def images_changed(self) -> int:
        here, there = self.pixels
        return sum(here[key] != there[key] for key in here.keys() & there.keys())

    def of(self, score: _Score, place: Place) -> Cause:
        """Why an item that both runs scored may have another value."""
        (protocol, _, method), (edit, seed) = score, place
        causes: list[Cause] = []
        if self.edits[0].get(edit) != self.edits[1].get(edit):
            causes.append("edits")
        if self.pixels[0].get((edit, method, seed)) != self.pixels[1].get((edit, method, seed)):
            causes.append("images")
        if self.other_models:
            causes.append("models")
        if self.manifests[0].protocols.get(protocol) != self.manifests[1].protocols.get(protocol):
            causes.append("rules")
        if not causes and self.moved_judges.intersection(_judges_in(protocol)):
            causes.append("judge")
        return "several" if len(causes) > 1 else causes[0] if causes else "software"


def _moved_judges(a: Run, b: Run) -> frozenset[str]:
    """The judges, by name, whose model answered a question in one run otherwise than in the other."""
    if not (a.manifest.judges and b.manifest.judges):
        return frozenset()
    here, there = (_said(run.folder / TRANSCRIPTS) for run in (a, b))
    moved = {here[key][0] for key in here.keys() & there.keys() if here[key][1] != there[key][1]}
    return frozenset(name for name, entry in a.manifest.judges.items() if entry["model"] in moved)


def _said(folder: Path) -> dict[str, tuple[str, str]]:
    """Identity of a question to the model and what it said."""
    if not folder.is_dir():
        return {}
    calls = (call for call in Transcripts(folder) if call.body is not None)
    return {call.identity: (str(call.asked["model"]), parse_reply(call.body or {}).text) for call in calls}


def _judges_in(protocol: str) -> set[str]:
    """The judges whose names stand in the brackets of a protocol's name, those of a panel each."""
    options = protocol.partition("[")[2].removesuffix("]").split(",")
    return {member for option in options for member in panel_members(option.rpartition("=")[2])}


def _shift(score: _Score, here: _Rows, there: _Rows, causes: _Causes) -> Shift:
    first, second = (
        {key: value for key, value in rows.items() if not isinstance(value, str)} for rows in (here, there)
    )
    common = [key for key in first if key in second]
    neither = (here.keys() | there.keys()) - first.keys() - second.keys()
    before, after = np.array([first[key] for key in common]), np.array([second[key] for key in common])
    return Shift(
        *score,
        common=len(common),
        changed=int((before != after).sum()),
        only_first=len(first) - len(common),
        only_second=len(second) - len(common),
        mean_first=float(before.mean()) if common else None,
        mean_second=float(after.mean()) if common else None,
        other_reason=sum(here.get(key) != there.get(key) for key in neither),
        causes=attribute(first, second, causes.shared, lambda place: causes.of(score, place)),
    )


Cause = Literal["edits", "missing", "images", "models", "rules", "judge", "several", "software"]
CAUSES: tuple[Cause, ...] = get_args(Cause)
CAUSE_MEANINGS: dict[Cause, str] = {
    "edits": "edits that only one run has, or that were changed",
    "missing": "scored in one run only",
    "images": "other pixels",
    "models": "another model or revision",
    "rules": "another rule set or version of the protocol",
    "judge": "the judge answered the same questions otherwise",
    "several": "more than one of these at once, which cannot be distinguished",
    "software": "the same inputs and another value: software, its versions, or a seed",
}

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
