"""CLIP ViT-B/16 itself, where its weights are: `editgauge models pull clip-b16`, then `pytest -m models`."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
import skimage

from editgauge._util.images import ImageFile, read_image
from editgauge.engine._perception import RunPerception
from editgauge.models.profiles import is_here, make_model
from editgauge.protocols import open_protocol
from editgauge.types import Edit, Item, Outcome, Score, Scores

MODEL = "clip-b16"
CAT = Path(skimage.__file__).parent / "data" / "chelsea.png"
pytestmark = [
    pytest.mark.models,
    pytest.mark.skipif(not is_here(make_model(MODEL)), reason=f"NOT TESTED, {MODEL} is not on this machine"),
]


def scored(name: str, **parts: Any) -> Scores:
    cat = read_image(CAT)
    given = {"type": "object_replacement", "instruction": "Replace the cat.", **parts}
    edit = Edit(id="cat", source=ImageFile("cat", CAT), **given)
    item = Item(edit=edit, outcome=Outcome(edit_id="cat", method="identity", image=CAT), source=cat, edited=cat)

    async def score() -> Scores:
        async with RunPerception({"joint_embedder": MODEL}) as see:
            return await open_protocol(name).with_models({"joint_embedder": MODEL}).score(item, see)

    return asyncio.run(score())


def value(scores: Scores, beginning: str) -> float:
    [result] = [score for name, score in scores.items() if name.startswith(beginning)]
    assert isinstance(result, Score), result
    return result.value


def test_the_text_that_fits_is_nearer() -> None:
    fits = value(scored("clip-family", target_caption="a photo of a cat"), "clip_t")
    fits_not = value(scored("clip-family", target_caption="a photo of a rocket"), "clip_t")
    assert 0.2 < fits < 0.4
    assert fits > fits_not + 0.05


def test_attributes_of_real_words_are_told_apart() -> None:
    attributes = {"source": ["tabby cat", "whiskers", "green eyes"], "target": ["cup of coffee", "spoon", "saucer"]}
    scores = scored("augclip[c=10]", extras={"attributes": attributes})
    assert -1 <= value(scores, "augclip") <= 1
