"""What the reference editors take away is gone, as the small detector sees it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable

import numpy as np
import pytest

from editgauge._util.images import ImageFile, read_image
from editgauge._vision.geometry import box_overlap
from editgauge.audits.proposals import look_at, propose
from editgauge.benchmarks import open_benchmark, sample
from editgauge.errors import UnscorableError
from editgauge.methods.reference.editors import classical, painted
from editgauge.models.perception import ModelService, Perception
from editgauge.models.weights import available
from editgauge.recipes import Remove
from editgauge.types import Edit

WEIGHTS = ("efficientdet-lite2", "u2netp", "wordnet", "migan")
MODELS = {"detector": "efficientdet-lite2", "segmenter": "u2netp"}
SAME_PLACE = 0.3
"""Overlap of boxes from which a detection is of what was removed."""
EDITORS = (classical, painted)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not all(map(available, WEIGHTS)), reason="NOT TESTED: run `editgauge models pull lite migan`"),
]


async def is_there(edit: Edit, pixels: np.ndarray[tuple[int, ...], np.dtype[np.uint8]], see: Perception) -> bool:
    assert isinstance(edit.recipe, Remove)
    assert edit.subject is not None
    boxes = (await see.detect(pixels, edit.subject)).boxes.tolist()
    return any(box_overlap(edit.recipe.outline.box(), box) >= SAME_PLACE for box in boxes)


async def gone(edits: Iterable[Edit], see: Perception) -> Counter[str]:
    """How many removals there are of things that were seen before, and after how many of them by whom they are not."""
    counts: Counter[str] = Counter()
    for edit in edits:
        source = read_image(edit.source.path)
        try:
            if not isinstance(edit.recipe, Remove) or not await is_there(edit, source, see):
                continue
        except UnscorableError:
            continue
        counts["seen before"] += 1
        for editor in EDITORS:
            counts[editor.name] += not await is_there(edit, editor.edit(edit, source, 0), see)
    return counts


def test_what_was_removed_from_the_sample_is_not_seen_any_more() -> None:
    with ModelService(MODELS) as see:
        counts = asyncio.run(gone(open_benchmark("sample").edits, see))
    assert counts == {"seen before": 9, "classical": 9, "painted": 9}, "documented in reference-editors.md"


async def _proposed(see: Perception) -> list[Edit]:
    pictures = [ImageFile(name, sample.photo_path(name)) for name in sample.HASHES]
    seen = [await look_at(picture, read_image(picture.path), see) for picture in pictures]
    return [edit for photo in seen for edit in propose(photo, seen)]


async def _proposed_and_gone(see: Perception) -> tuple[Counter[str], Counter[str]]:
    edits = await _proposed(see)
    return Counter(edit.type for edit in edits), await gone(edits, see)


def test_what_the_machine_proposes_to_remove_is_not_seen_any_more() -> None:
    with ModelService(MODELS) as see:
        kinds, counts = asyncio.run(_proposed_and_gone(see))
    assert counts == {"seen before": 19, "classical": 19, "painted": 19}, "documented in reference-editors.md"
    assert kinds == {
        "style": 95,
        "object_addition": 72,
        "positional_addition": 25,
        "color": 16,
        "texture": 16,
        "background": 14,
        "object_removal": 10,
        "single_instance_removal": 9,
        "size": 7,
        "object_replacement": 7,
        "position_replacement": 5,
    }
