"""MagicBrush in PixLens's parts: edit type, category, from and to; by the authors' own file, or by rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from editgauge._util.datasets import Faults, read_json, require_data
from editgauge._util.fields import describe_unknown, format_value
from editgauge._util.phrases import read_placing, read_size
from editgauge.benchmarks.magicbrush import LICENSE, read_sessions, session_summary
from editgauge.edit_types import read_edit_type
from editgauge.errors import BadInputError, UnknownNameError, UnscorableError
from editgauge.instructions.parsed import apply_step, parse_single_step
from editgauge.types import Benchmark, Edit, ParsedStep, Position, Relation

NAME = "magicbrush-pixlens"
NEEDED = "the folder `dev` of MagicBrush; PixLens's own attributes, if you have them, lie there as a *pixlens*.json"
SIDES: Mapping[str, Relation] = {"left": "left", "right": "right", "center": "center", "middle": "center"}
ATTRIBUTES = ("category", "from_attribute", "to_attribute")
PUBLISHED: Mapping[str, int] = {
    "object_replacement": 84,
    "alter_parts": 84,
    "object_addition": 41,
    "color": 35,
    "object_removal": 19,
    "single_instance_removal": 12,
    "positional_addition": 8,
    "size": 2,
}
"""What PixLens kept of dev's 528 edits, by hand (table 6)."""


def load(data: Path | None = None) -> Benchmark:
    """MagicBrush in PixLens's parts, read off the instructions by rules; --data its folder `dev`.

    With a `*pixlens*.json` in the folder, `{input: {edit_type, category, from_attribute, to_attribute}}`, the edits are
    those of that file. Without it, an instruction that the rules cannot read stays, so that it is counted as unscored.
    """
    path = require_data(NAME, data, NEEDED)
    edits, sessions = read_sessions(NAME, path)
    file = _attributes(path if path.is_dir() else path.parent)
    if file is None:
        read = tuple(map(_by_rules, edits))
        parsed = [edit for edit in read if "unparsed" not in edit.extras]
        message = f"parsed {len(parsed)} of {len(read)} instructions by rules: {_counts(parsed)}"
        return Benchmark(NAME, read, f"{session_summary(edits, sessions)}; {message}", LICENSE)
    edits_kept = _by_file(edits, file)
    message = f"{len(edits_kept)} have the attributes of {file.name}: {_counts(edits_kept)}"
    return Benchmark(NAME, edits_kept, f"{session_summary(edits, sessions)}; {message}", LICENSE)


def _counts(edits: tuple[Edit, ...] | list[Edit]) -> str:
    """Edits by type, compared with the published numbers where those differ."""
    types = Counter(edit.type for edit in edits)
    listed = ", ".join(f"{count} {kind}" for kind, count in types.most_common())
    if types == PUBLISHED:
        return f"{listed}, as in the paper"
    published = ", ".join(f"{count} {kind}" for kind, count in PUBLISHED.items())
    return f"{listed or 'none'} (of dev the paper kept {sum(PUBLISHED.values())}: {published})"


def _by_rules(edit: Edit) -> Edit:
    try:
        return _with(edit, _in_pixlens_words(parse_single_step(edit.instruction)))
    except UnscorableError as unable:
        kind: str = edit.type if edit.type in {"background", "style"} else "unspecified"
        unread = _with(edit, ParsedStep(type=kind))
        return replace(unread, extras={**edit.extras, "unparsed": unable.detail})


def _in_pixlens_words(step: ParsedStep) -> ParsedStep:
    """Convert a step to PixLens's labels: accessories are parts; types without a rule are rejected."""
    if step.type not in {*PUBLISHED, "position_replacement"}:
        raise UnscorableError("unparsable", f"PixLens has no rule for the edit type {step.type}")
    gets = step.type == "object_addition" and step.subject
    return replace(step, type="alter_parts", position=None) if gets else step


def _with(edit: Edit, parts: ParsedStep) -> Edit:
    return apply_step(edit, replace(parts, count=None, attributes=()))


def _attributes(folder: Path) -> Path | None:
    files = sorted(folder.glob("*pixlens*.json"))
    if len(files) > 1:
        names = ", ".join(file.name for file in files)
        raise BadInputError(f"'{folder}' holds several files with PixLens's attributes: {names}. Keep one.")
    return files[0] if files else None


def _by_file(edits: tuple[Edit, ...], file: Path) -> tuple[Edit, ...]:
    faults = Faults(NAME, file)
    by_input = {Path(edit.source.name).name: edit for edit in edits}
    selected = []
    for key, values in read_json(file, faults, dict).items():
        edit = by_input.get(Path(key).name)
        if edit is None:
            faults.add(key, "no turn of edit_sessions.json has this input image")
            continue
        parts = _parts(key, values, faults)
        if parts is not None:
            selected.append(_with(edit, parts))
    return faults.done(selected)


def _parts(key: str, values: Any, faults: Faults) -> ParsedStep | None:
    """Read the parts of one record, or return None after noting faults."""
    if not isinstance(values, dict):
        faults.add(key, f"must be a mapping, got {format_value(values)}")
        return None
    word = faults.text(key, values, "edit_type")
    category, before, after = (_text(key, values, name, faults) for name in ATTRIBUTES)
    if word is None:
        return None
    try:
        kind = read_edit_type(word)
    except UnknownNameError:
        faults.add(key, describe_unknown("edit type", word, PUBLISHED))
        return None
    try:
        return _of_type(kind, category, before, after)
    except UnscorableError as unable:
        faults.add(key, f"'to_attribute': {unable.detail}")
        return None


def _text(key: str, values: Mapping[str, Any], name: str, faults: Faults) -> str | None:
    """Return a text, or None if it is missing or empty."""
    value = values.get(name)
    if value is None or value == "":
        return None
    return faults.text(key, values, name)


def _of_type(kind: str, category: str | None, before: str | None, after: str | None) -> ParsedStep:
    if kind == "positional_addition":
        to, position = read_placing(after or "")
        anchored = Position(position.relation, position.anchor or category)
        return ParsedStep(type=kind, subject=category, from_=before, to=to, position=anchored)
    if kind == "position_replacement" and (after or "").lower() in SIDES:
        side = SIDES[(after or "").lower()]
        return ParsedStep(type=kind, subject=category, from_=before, to=side, position=Position(side))
    if kind == "size":
        return ParsedStep(type=kind, subject=category, from_=before, to=read_size(after or ""))
    return ParsedStep(type=kind, subject=category, from_=before, to=(after or "").removeprefix("add ") or None)
