"""Edits as JSON lines: what a run keeps of its benchmark."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from editgauge._util.fields import EditFields
from editgauge._util.files import read_bytes
from editgauge._util.masks import Mask, files_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from editgauge.types import Edit, Reading


def describe(edit: Edit) -> dict[str, Any]:
    """The edit as a JSON value, without what it does not have."""
    fields = {
        "id": edit.id,
        "source": edit.source.name,
        "type": edit.type,
        "instruction": edit.instruction,
        "subject": edit.subject,
        "from": edit.from_,
        "to": edit.to,
        "position": asdict(edit.position) if edit.position else None,
        "count": edit.count,
        "attributes": list(edit.attributes) or None,
        "reading": reading_to_json(edit.reading) if edit.reading else None,
        "source_caption": edit.source_caption,
        "target_caption": edit.target_caption,
        "mask": edit.mask.describe() if edit.mask else None,
        "mask_sha256": _content(edit.mask),
        "reference": edit.reference.name if edit.reference else None,
        "inputs": [{"image": each.picture.name, "role": each.role} for each in edit.inputs] or None,
        "inputs_sha256": [_sha256(each.picture.path) for each in edit.inputs] or None,
        "turn": edit.turn,
        "follows": edit.follows,
        "photograph": edit.photograph,
        "groups": dict(edit.groups),
        "extras": dict(edit.extras),
    }
    return {key: value for key, value in fields.items() if value not in (None, {}, "")}


def benchmark_entry(edit: Edit) -> dict[str, Any]:
    """The edit as an entry of a benchmark's `edits`, which `editgauge.benchmarks` reads back.

    What the format has no field for (how the instruction was read, checksums) is left out; reading finds it again.
    """
    known = {field.alias or name for name, field in EditFields.model_fields.items()}
    return {key: value for key, value in describe(edit).items() if key in known}


def reading_to_json(reading: Reading) -> dict[str, Any]:
    """How the instruction was read, in plain types."""
    steps = [
        {
            "edit_type": step.type,
            "subject": step.subject,
            "from": step.from_,
            "to": step.to,
            "position": asdict(step.position) if step.position else None,
            "count": step.count,
            "attributes": list(step.attributes),
            "sure": step.sure,
        }
        for step in reading.steps
    ]
    return {"steps": steps, "how": reading.how, "left": reading.left}


def to_lines(edits: Iterable[Edit]) -> bytes:
    """One JSON line per edit; the same edits always give the same bytes."""
    return b"".join(each_line(edits))


def each_line(edits: Iterable[Edit]) -> Iterator[bytes]:
    """The same, line by line: those of a million edits are never in memory together."""
    for edit in edits:
        yield json.dumps(describe(edit), ensure_ascii=False, sort_keys=True).encode() + b"\n"


def edits_sha256(edits: Iterable[Edit]) -> str:
    """The hash by which a run knows its edits: that of all lines."""
    whole = hashlib.sha256()
    for line in each_line(edits):
        whole.update(line)
    return whole.hexdigest()


def _content(mask: Mask | None) -> list[str] | None:
    """The hashes of the files a mask is read from, so that a mask drawn again makes another edit."""
    return [_sha256(path) for path in files_of(mask)] or None


def _sha256(path: Path) -> str:
    try:
        return hashlib.sha256(read_bytes(path)).hexdigest()
    except OSError:
        return "missing"
