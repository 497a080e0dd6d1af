"""The corner mark of DALL·E is painted over, on request, for every protocol."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from editgauge._util.images import ImageArray, ImageFile, Pixels
from editgauge.protocols import BUILT_IN, open_protocol
from editgauge.protocols._watermark import NOTE, mask_watermark, without_watermark
from editgauge.types import Edit, Item, Outcome, Score


def gray_image(height: int, width: int, *, marked: bool) -> Pixels:
    image = np.full((height, width, 3), 128, np.uint8)
    if marked:
        image[int(height * 0.985) :, int(width * 0.93) :] = (255, 0, 255)
    return image


def pair(source: Pixels, edited: Pixels) -> Item:
    edit = Edit(id="e", source=ImageFile("p", Path("/p")), type="color", instruction="Make it black.")
    return Item(edit=edit, outcome=Outcome(edit_id="e", method="m", image=Path("/o")), source=source, edited=edited)


def test_only_the_corner_is_painted_over() -> None:
    image = np.random.default_rng(0).integers(0, 256, (200, 300, 3), dtype=np.uint8)
    masked = mask_watermark(image)
    changed = np.argwhere((image != masked).any(axis=2))
    assert changed.min(axis=0).tolist() >= [196, 276]
    assert np.array_equal(mask_watermark(gray_image(200, 300, marked=True)), gray_image(200, 300, marked=False))


def test_both_images_and_the_native_size_are_painted_over() -> None:
    edited = ImageArray(gray_image(200, 300, marked=True), gray_image(400, 600, marked=True))
    item = without_watermark(pair(gray_image(200, 300, marked=True), edited))
    assert np.ptp(item.source) == np.ptp(item.edited) == np.ptp(item.as_made) == 0
    assert item.as_made.shape == (400, 600, 3)
    assert item.notes == (NOTE,)


def test_a_masked_protocol_does_not_see_the_mark() -> None:
    item = pair(gray_image(200, 300, marked=False), gray_image(200, 300, marked=True))
    raw, masked = (
        asyncio.run(open_protocol(name).score(item, cast("Any", None)))["l1"]
        for name in ("preservation", "preservation[mask_watermark]")
    )
    assert isinstance(raw, Score)
    assert isinstance(masked, Score)
    assert raw.value > 0
    assert masked.value == 0


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_protocol_says_in_its_name_that_the_mark_is_masked(name: str) -> None:
    protocol = open_protocol(f"{name}[mask_watermark]")
    assert protocol.name == f"{name}[mask_watermark]"
    assert NOTE in protocol.deviations
    assert protocol.needs == open_protocol(name).needs
    assert open_protocol(protocol.with_models({}).name).name == protocol.name


def test_other_options_stay() -> None:
    assert open_protocol("editval[mask_watermark,delta=200]").name == "editval[delta=200,mask_watermark]"
