"""Edits as JSON lines: what a run keeps of its benchmark."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from editgauge.core.types import Edit


def describe(edit: Edit) -> dict[str, Any]:
    """The edit as a JSON value, without what it does not have."""
    told = {
        "id": edit.id,
        "source": edit.source.name,
        "type": edit.type,
        "instruction": edit.instruction,
        "subject": edit.subject,
        "from": edit.from_,
        "to": edit.to,
        "position": asdict(edit.position) if edit.position else None,
        "source_caption": edit.source_caption,
        "target_caption": edit.target_caption,
        "mask": edit.mask.describe() if edit.mask else None,
        "reference": edit.reference.name if edit.reference else None,
        "turn": edit.turn,
        "follows": edit.follows,
        "extras": dict(edit.extras),
    }
    return {key: value for key, value in told.items() if value not in (None, {}, "")}


def to_lines(edits: Iterable[Edit]) -> bytes:
    """One JSON line per edit; the same edits always give the same bytes."""
    return b"".join(json.dumps(describe(edit), ensure_ascii=False, sort_keys=True).encode() + b"\n" for edit in edits)
