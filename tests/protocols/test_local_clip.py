"""CLIP inside the mask: the released formulas of PnPInversion and CompBench, through a small CLIP."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from PIL import Image

from editgauge._util.images import ImageFile, Pixels
from editgauge.engine._perception import RunPerception
from editgauge.protocols.local_clip import local_clip
from editgauge.types import Edit, Item, Outcome, Score, Scores, Unscored
from tests.small_clip import small_clip

transformers: Any = import_module("transformers")
RULES = ("clip_t_inside", "local_clip_t", "local_clip_i")


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> str:
    return small_clip(tmp_path_factory.mktemp("clip"))


def picture(seed: int) -> Pixels:
    random = np.random.default_rng(seed)
    return np.asarray(np.kron(random.integers(0, 256, (6, 8, 3)), np.ones((10, 10, 1))), np.uint8)


def item(**fields: Any) -> Item:
    mask = np.zeros((60, 80), np.bool_)
    mask[10:40, 20:61] = True
    mask[12, 30] = False
    edit = Edit(
        id="e",
        source=ImageFile("p", Path("/p")),
        type="color",
        instruction="make the cat blue",
        target_caption="a blue cat on grass",
        extras={"caption": "a blue cat"},
    )
    one = Item(
        edit=edit,
        outcome=Outcome(edit_id="e", method="m", image=Path("/o")),
        source=picture(0),
        edited=picture(1),
        mask=mask,
        reference=picture(2),
    )
    return replace(one, **fields)


def scored(one: Item, clip: str) -> Scores:
    async def ask() -> Scores:
        async with RunPerception({"joint_embedder": clip}) as perception:
            return await local_clip.with_models({"joint_embedder": "tiny"}).score(one, perception)

    return asyncio.run(ask())


class ReleasedCode:
    """The two formulas as their repositories compute them, on PIL pictures and the library's own CLIP."""

    def __init__(self, clip: str) -> None:
        folder = clip.partition(":")[2]
        self.model = transformers.CLIPModel.from_pretrained(folder).eval()
        self.pictures = transformers.CLIPImageProcessorPil.from_pretrained(folder)
        self.words = transformers.AutoTokenizer.from_pretrained(folder)

    def of_picture(self, image: Image.Image) -> NDArray[np.float64]:
        with torch.inference_mode():
            values = self.pictures(images=[image], return_tensors="pt")
            return self._unit(self.model.get_image_features(**values).pooler_output)

    def of_text(self, text: str) -> NDArray[np.float64]:
        with torch.inference_mode():
            tokens = self.words([text], return_tensors="pt")
            kept = {name: tokens[name] for name in ("input_ids", "attention_mask")}
            return self._unit(self.model.get_text_features(**kept).pooler_output)

    @staticmethod
    def _unit(vectors: torch.Tensor) -> NDArray[np.float64]:
        vector = vectors[0].double().numpy()
        return np.asarray(vector / np.linalg.norm(vector))

    def clip_edit_part(self, one: Item) -> float:
        """PnPInversion's calculate_clip_similarity: the picture times the mask, 100 max(cos, 0)."""
        assert one.mask is not None
        masked = np.uint8(one.edited * one.mask[..., None].astype(np.float64))
        return max(100 * float(self.of_picture(Image.fromarray(masked)) @ self.of_text("a blue cat on grass")), 0)

    def lc(self, one: Item) -> tuple[float, float]:
        """CompBench's calculate_metrics: both pictures cropped to the smallest and largest place of the mask."""
        assert one.mask is not None
        assert one.reference is not None
        rows, columns = np.where(one.mask > 0)
        box = (columns.min(), rows.min(), columns.max(), rows.max())
        edited, truth = (self.of_picture(Image.fromarray(entry).crop(box)) for entry in (one.edited, one.reference))
        return max(100 * float(edited @ self.of_text("a blue cat")), 0), float(edited @ truth)


def test_scores_are_those_of_the_released_code(clip: str) -> None:
    one, released = item(), ReleasedCode(clip)
    scores = {rule: scored(one, clip)[f"{rule}[tiny]"] for rule in RULES}
    values = {rule: score.value for rule, score in scores.items() if isinstance(score, Score)}
    lc_t, lc_i = released.lc(one)
    assert max(100 * values["clip_t_inside"], 0) == pytest.approx(released.clip_edit_part(one), abs=1e-3)
    assert max(100 * values["local_clip_t"], 0) == pytest.approx(lc_t, abs=1e-3)
    assert values["local_clip_i"] == pytest.approx(lc_i, abs=1e-5)
    assert len({round(value, 6) for value in values.values()}) == 3
    for spec in local_clip.scores:
        assert spec.higher_is_better
        assert spec.range == (-1.0, 1.0)


def test_what_is_outside_of_the_mask_makes_no_difference(clip: str) -> None:
    one = item()
    assert one.mask is not None
    other = np.where(one.mask[..., None], one.edited, picture(7))
    before, after = scored(one, clip), scored(item(edited=other), clip)
    first, second = before["clip_t_inside[tiny]"], after["clip_t_inside[tiny]"]
    assert isinstance(first, Score)
    assert isinstance(second, Score)
    assert first.value == pytest.approx(second.value, abs=1e-7)


@pytest.mark.parametrize("mask", [None, np.zeros((60, 80), np.bool_)], ids=["none", "empty"])
def test_without_a_place_there_is_no_score(clip: str, mask: Any) -> None:
    scores = scored(item(mask=mask), clip).values()
    assert {score.reason for score in scores if isinstance(score, Unscored)} == {"not_applicable"}
    assert not any(isinstance(score, Score) for score in scores)


def test_each_score_misses_only_what_it_needs_itself(clip: str) -> None:
    thin = np.zeros((60, 80), np.bool_)
    thin[5, 3:50] = True
    by_reference = scored(item(reference=None), clip)
    assert isinstance(by_reference["local_clip_t[tiny]"], Score)
    assert isinstance(by_reference["local_clip_i[tiny]"], Unscored)
    by_thin_mask = scored(item(mask=thin), clip)
    assert isinstance(by_thin_mask["clip_t_inside[tiny]"], Score)
    assert isinstance(by_thin_mask["local_clip_t[tiny]"], Unscored)
    own_words = item(edit=replace(item().edit, extras={}))
    score = scored(own_words, clip)["local_clip_t[tiny]"]
    assert isinstance(score, Score)
    assert "a blue cat on grass" in str(score.evidence[0])
