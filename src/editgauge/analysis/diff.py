"""Differences between two runs: settings, images, scores, and why each mean changed.

The change of a mean is decomposed in fixed steps from the first run to the second: drop the edits that only the first
run has, drop what is scored only there, change the values of the remaining items, add what is scored only in the
second, add its further edits. Each step belongs to one cause, and a value's change to what differs about its item.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass
from math import fsum
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from editgauge._util.variants import options_text
from editgauge.judges._endpoint import parse_reply
from editgauge.judges._panel import panel_members
from editgauge.judges._transcripts import Transcripts
from editgauge.results import Run, Signature

Item = tuple[str, int]
"""Edit and seed of an outcome of one method."""
TRANSCRIPTS_FOLDER = "transcripts"
"""Folder of a run with the judges' transcripts."""


@dataclass(frozen=True, slots=True)
class Shift:
    """How one score of one method changed."""

    protocol: str
    name: str
    method: str
    common: int
    """Scored in both runs."""
    changed: int
    """Of those, the number with another value."""
    only_first: int
    only_second: int
    mean_first: float | None
    mean_second: float | None
    """Means over items scored in both."""
    other_reason: int
    """Unscored in both for another reason, or unscored in one and missing in the other."""
    causes: Attribution | None = None
    """Causes of the change of the mean over all scored items; None when a run has no mean."""

    @property
    def same(self) -> bool:
        """Tell whether nothing about this score differs."""
        return not (self.changed or self.only_first or self.only_second or self.other_reason)


@dataclass(frozen=True, slots=True)
class RunDifference:
    """Everything that differs between two runs."""

    settings: dict[str, tuple[Any, Any]]
    """Setting to (first, second), where they differ."""
    images_changed: int
    """Outcomes or sources whose pixels differ."""
    shifts: tuple[Shift, ...]

    @property
    def same_scores(self) -> bool:
        """Tell whether both runs hold the same scores."""
        return all(shift.same for shift in self.shifts)


def difference(first: str | Path, second: str | Path) -> RunDifference:
    """Compare two runs, with the cause of the change of each mean."""
    first_run, second_run = Run.open(first), Run.open(second)
    first_rows, second_rows, causes = _rows(first_run), _rows(second_run), _Causes(first_run, second_run)
    scores = dict.fromkeys([*first_rows, *second_rows])
    shifts = tuple(_shift(score, first_rows.get(score, {}), second_rows.get(score, {}), causes) for score in scores)
    return RunDifference(_settings(first_run, second_run), causes.images_changed, shifts)


@dataclass(frozen=True, slots=True)
class SignatureDifference:
    """What shaped the numbers of two runs, or of two scores, differently."""

    protocols: dict[str, tuple[str, ...]]
    """Protocol to the fields that differ, in words; empty if the signatures are equal."""
    only_first: tuple[str, ...] = ()
    """Protocols that only the first run has."""
    only_second: tuple[str, ...] = ()

    @property
    def is_equal(self) -> bool:
        """Whether the numbers are comparable: no common protocol was shaped differently."""
        return bool(self.protocols) and not any(self.protocols.values())


def compare_signatures(first: str, second: str) -> SignatureDifference:
    """Compare the signatures of two runs by protocol, or two lines.

    Args:
        first: run folder, or the line of a signature.
        second: run folder or line.

    Raises:
        BadInputError: neither a run folder nor a signature, or one of each with no common protocol.

    """
    ours, theirs = (_signatures(text) for text in (first, second))
    if len(ours) == len(theirs) == 1:  # two lines, or two runs of one protocol, whose variants may differ
        (name, mine), other = next(iter(ours.items())), next(iter(theirs.values()))
        return SignatureDifference({name: tuple(mine.differences(other))})
    return SignatureDifference(
        {name: tuple(ours[name].differences(theirs[name])) for name in ours if name in theirs},
        tuple(name for name in ours if name not in theirs),
        tuple(name for name in theirs if name not in ours),
    )


def _signatures(text: str) -> dict[str, Signature]:
    if "|" in text and not Path(text).exists():
        signature = Signature.parse(text)
        return {signature.protocol: signature}
    run = Run.open(text)
    return {name: run.signature(name) for name in run.manifest.protocols}


def _settings(first: Run, second: Run) -> dict[str, tuple[Any, Any]]:
    first_flat, second_flat = (_flat(run) for run in (first, second))
    keys = [*first_flat, *(key for key in second_flat if key not in first_flat)]
    return {
        key: (first_flat.get(key), second_flat.get(key)) for key in keys if first_flat.get(key) != second_flat.get(key)
    }


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
    rows = zip(*(run.table[column].to_pylist() for column in columns), strict=True)
    return {(edit, method, seed): (source, edited) for edit, method, seed, source, edited in rows}


_Rows = dict[Item, float | str]
"""(edit, seed) to the value, or the reason why there is none."""
_Score = tuple[str, str, str]
"""Protocol, name, method."""


def _rows(run: Run) -> dict[_Score, _Rows]:
    columns = ("protocol", "name", "method", "edit", "seed", "value", "reason")
    rows: dict[_Score, _Rows] = {}
    for *score, edit, seed, value, reason in zip(*(run.table[column].to_pylist() for column in columns), strict=True):
        protocol, name, method = score
        rows.setdefault((protocol, name, method), {})[edit, seed] = reason if value is None else value
    return rows


class _Causes:
    """What differs between two runs, item by item."""

    def __init__(self, first: Run, second: Run) -> None:
        self.manifests = first.manifest, second.manifest
        self.edits = first.edits, second.edits
        self.shared = first.edits.keys() & second.edits.keys()
        self.pixels = _pixels(first), _pixels(second)
        self.other_models = first.manifest.models != second.manifest.models
        self.moved_judges = _moved_judges(first, second)

    @property
    def images_changed(self) -> int:
        first, second = self.pixels
        return sum(first[key] != second[key] for key in first.keys() & second.keys())

    def of(self, score: _Score, item: Item) -> Cause:
        """Return why an item that both runs scored may have another value."""
        (protocol, _, method), (edit, seed) = score, item
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


def _moved_judges(first: Run, second: Run) -> frozenset[str]:
    """Return the judges whose model answered a question differently in the two runs."""
    if not (first.manifest.judges and second.manifest.judges):
        return frozenset()
    first_replies, second_replies = (_replies(run.folder / TRANSCRIPTS_FOLDER) for run in (first, second))
    moved = {
        first_replies[key][0]
        for key in first_replies.keys() & second_replies.keys()
        if first_replies[key][1] != second_replies[key][1]
    }
    return frozenset(name for name, entry in first.manifest.judges.items() if entry["model"] in moved)


def _replies(folder: Path) -> dict[str, tuple[str, str]]:
    """Map each question's identity to the model and its reply."""
    if not folder.is_dir():
        return {}
    calls = (call for call in Transcripts(folder) if call.body is not None)
    return {call.identity: (str(call.question["model"]), parse_reply(call.body or {}).text) for call in calls}


def _judges_in(protocol: str) -> set[str]:
    """Return the judges named in the brackets of a protocol, those of a panel individually."""
    options = options_text(protocol).split(",")
    return {member for option in options for member in panel_members(option.rpartition("=")[2])}


def _shift(score: _Score, first_rows: _Rows, second_rows: _Rows, causes: _Causes) -> Shift:
    first, second = (
        {key: value for key, value in rows.items() if not isinstance(value, str)} for rows in (first_rows, second_rows)
    )
    common = [key for key in first if key in second]
    unscored = (first_rows.keys() | second_rows.keys()) - first.keys() - second.keys()
    before, after = np.array([first[key] for key in common]), np.array([second[key] for key in common])
    return Shift(
        *score,
        common=len(common),
        changed=int((before != after).sum()),
        only_first=len(first) - len(common),
        only_second=len(second) - len(common),
        mean_first=float(before.mean()) if common else None,
        mean_second=float(after.mean()) if common else None,
        other_reason=sum(first_rows.get(key) != second_rows.get(key) for key in unscored),
        causes=attribute(first, second, causes.shared, lambda item: causes.of(score, item)),
    )


Cause = Literal["edits", "missing", "images", "models", "rules", "judge", "several", "software"]
CAUSES: tuple[Cause, ...] = get_args(Cause)
CAUSE_MEANINGS: dict[Cause, str] = {
    "edits": "edits that only one run has, or that were changed",
    "missing": "scored in one run only",
    "images": "different pixels",
    "models": "another model or revision",
    "rules": "another rule set or version of the protocol",
    "judge": "the judge answered the same questions differently",
    "several": "several of these at once",
    "software": "same inputs, another value: software versions or a seed",
}

Values = Mapping[Item, float]


class Part(NamedTuple):
    """The contribution of one cause to the change of a mean."""

    change: float
    items: int


@dataclass(frozen=True, slots=True)
class Attribution:
    """The change of one mean by cause; the parts add up to it."""

    before: float
    after: float
    parts: Mapping[Cause, Part]
    """Only causes that affect an item."""

    @property
    def change(self) -> float:
        """Return the change of the mean."""
        return self.after - self.before


def attribute(
    first: Values, second: Values, shared_edits: Collection[str], cause_of: Callable[[Item], Cause]
) -> Attribution | None:
    """Decompose the change of a mean; None when one run has no score.

    Args:
        first: values of the first run.
        second: values of the second run.
        shared_edits: edits of both benchmarks.
        cause_of: returns what differs about an item that is scored in both runs.

    """
    if not first or not second:
        return None
    both = [item for item in first if item in second]
    shared = {*shared_edits, *(edit for edit, _ in both)}
    changes: dict[Cause, list[float]] = {cause: [] for cause in CAUSES}
    items = dict.fromkeys(CAUSES, 0)
    for item in (first.keys() | second.keys()) - set(both):
        items["missing" if item[0] in shared else "edits"] += 1
    for item in both:
        if first[item] != second[item]:
            cause = cause_of(item)
            items[cause] += 1
            changes[cause].append((second[item] - first[item]) / len(both))
    first_means, second_means = _StepMeans.of(first, shared, both), _StepMeans.of(second, shared, both)
    for means, sign in ((first_means, 1), (second_means, -1)):
        changes["edits"].append(sign * (means.shared - means.overall))
        changes["missing"].append(sign * (means.inner - means.shared))
    if not both:  # without common items the last step leads from one run to the other
        changes["missing" if items["missing"] else "edits"].append(second_means.inner - first_means.inner)
    parts = {cause: Part(fsum(changes[cause]), items[cause]) for cause in CAUSES if items[cause]}
    return Attribution(first_means.overall, second_means.overall, parts)


class _StepMeans(NamedTuple):
    """The means of one run on the way to the common items; an empty set keeps the previous mean."""

    overall: float
    shared: float
    inner: float

    @classmethod
    def of(cls, values: Values, shared_edits: Collection[str], both: Collection[Item]) -> _StepMeans:
        overall = _mean(values.values())
        shared_values = [value for item, value in values.items() if item[0] in shared_edits]
        shared = _mean(shared_values) if shared_values else overall
        return cls(overall, shared, _mean([values[item] for item in both]) if both else shared)


def _mean(values: Collection[float]) -> float:
    return fsum(values) / len(values)
