"""Is it told right what changed? On outcomes of the reference editor over `sample`, whose truth is known."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

import pytest

import editgauge
from editgauge._util.images import read_image
from editgauge._vision.object_changes import Change
from editgauge.benchmarks import benchmarks
from editgauge.models.perception import ModelService
from editgauge.models.weights import available
from editgauge.protocols._changes import Differences, differences
from editgauge.types import Edit

MODELS = {
    "detector": "efficientdet-lite2",
    "segmenter": "u2netp",
    "image_embedder": "dinov2-s14",
    "classifier": "efficientnet-lite2",
}
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not all(map(available, MODELS.values())), reason="NOT TESTED: run `editgauge models pull lite`"),
]
KINDS = {
    "object_removal": "vanished",
    "single_instance_removal": "vanished",
    "object_addition": "appeared",
    "positional_addition": "appeared",
    "color": "recolored",
    "position_replacement": "moved",
    "object_replacement": "replaced",
    "size": "resized",
}
EXPECTED = {
    "vanished": (12, 5, 13),
    "appeared": (11, 9, 12),
    "recolored": (8, 5, 8),
    "moved": (5, 3, 6),
    "replaced": (4, 3, 6),
    "resized": (5, 5, 5),
}
"""Of docs/explanation/change-detection.md: told what happened, and to which thing, of how many edits."""


async def _all(edits: list[tuple[Edit, Path]]) -> list[Differences]:
    with ModelService(MODELS) as service:
        return [
            await differences(read_image(edit.source.path), read_image(outcome), service) for edit, outcome in edits
        ]


def _names(change: Change, edit: Edit) -> bool:
    """Is the thing called by the edit's own word? A replacement has two."""
    words = [thing.label for thing in (change.before, change.after) if thing is not None]
    if change.kind == "replaced":
        return words == [edit.from_, edit.to]
    return (edit.to if change.kind == "appeared" else edit.subject) in words


def test_what_was_done_is_named(tmp_path: Path) -> None:
    editgauge.edit("sample", method="classical", out=tmp_path, quiet=True)
    edits = [edit for edit in benchmarks.get("sample")().edits if edit.type in KINDS]
    found = asyncio.run(_all([(edit, tmp_path / f"{edit.id}.png") for edit in edits]))

    kind_right: Counter[str] = Counter()
    thing_right: Counter[str] = Counter()
    for edit, told in zip(edits, found, strict=True):
        kind = KINDS[edit.type]
        right = [change for change in told.changes if change.kind == kind]
        kind_right[kind] += bool(right)
        thing_right[kind] += any(_names(change, edit) for change in right)
    total = Counter(KINDS[edit.type] for edit in edits)
    assert {kind: (kind_right[kind], thing_right[kind], total[kind]) for kind in total} == EXPECTED


def test_a_picture_beside_itself_did_not_change() -> None:
    edits = benchmarks.get("sample")().edits
    paths = {edit.source.path: edit for edit in edits}
    found = asyncio.run(_all([(edit, path) for path, edit in paths.items()]))
    assert {told.sentences for told in found} == {("Nothing changed.",)}
