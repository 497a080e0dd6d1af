"""Models are shown an edited picture as the method made it, and answer in the source's frame."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from skimage import data

from editgauge.core.images import Picture, Pixels
from editgauge.core.types import Edit, Item, Outcome
from editgauge.engine.worker.own_pixels import in_own_pixels
from editgauge.engine.worker.scoring import prepare
from editgauge.models.answers import SegmentPrompt
from editgauge.models.profiles import choose_models
from editgauge.models.service import ModelService
from editgauge.models.weights import available

WEIGHTS = ("efficientdet-lite2", "u2netp")
needs_weights = pytest.mark.skipif(
    not all(map(available, WEIGHTS)), reason="NOT TESTED: run `editgauge models pull lite`"
)
CAT: Callable[[], Pixels] = data.chelsea
EDIT = Edit(id="e", source=Picture("p", Path("/p")), type="object_addition", instruction="add a cat", to="cat")


def sheet(photo: Pixels) -> Pixels:
    """The photograph small, in a corner of a large white sheet."""
    large = np.full((900, 1200, 3), 255, np.uint8)
    large[600:900, 0:451] = photo
    return large


@pytest.fixture(scope="module")
def item() -> Item:
    large = sheet(CAT())
    small = np.asarray(Image.fromarray(large).resize((120, 90)), np.uint8)
    return prepare(EDIT, Outcome(edit_id="e", method="m", image=Path("/o")), small, large)


def test_an_outcome_of_the_source_s_size_is_shown_as_it_is(item: Item) -> None:
    same = prepare(EDIT, item.outcome, item.source, item.source)
    see: Any = object()

    assert same.original is None
    assert in_own_pixels(see, same) is see


@needs_weights
def test_what_shrinking_hides_is_seen_and_lies_in_the_source_s_frame(item: Item) -> None:
    models = choose_models("lite", {}, ("detector", "segmenter")).models
    with ModelService(models) as service:
        see: Any = in_own_pixels(service, item)  # type: ignore[arg-type]
        hidden = asyncio.run(service.detect(item.edited, "cat"))
        seen = asyncio.run(see.instances(item.edited, "cat"))
        masks = asyncio.run(see.segment(item.edited, SegmentPrompt(boxes=seen.detections.boxes)))
        source = asyncio.run(see.detect(item.source, "cat"))

    height, width = item.source.shape[:2]
    assert seen.detections.found
    assert float(seen.detections.confidences[0]) > max(hidden.confidences.tolist(), default=0.0)
    left, top, right, bottom = seen.detections.boxes[0].tolist()
    assert 0 <= left < right <= width * 0.45
    assert height * 0.6 <= top < bottom <= height + 0.5
    assert seen.masks.shape == masks.shape == (len(seen), height, width)
    assert not source.found or float(source.confidences[0]) < float(seen.detections.confidences[0])
