"""What preservation metrics without a text say: worked out by hand, and with the real small models."""

from __future__ import annotations

import asyncio
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from editgauge._util.images import ImageFile, Pixels, as_unit
from editgauge._vision.geometry import overlap
from editgauge.errors import UnscorableError
from editgauge.evidence import Note, Region
from editgauge.metrics import metrics
from editgauge.models.answers import ClassMap
from editgauge.models.perception import ModelService
from editgauge.models.weights import available
from editgauge.protocols.baselines import Baselines, baselines, label_agreement, mean_class_overlap
from editgauge.types import Edit, Item, Outcome, Score, Scores, Unscored

LITE = {
    "perceptual_distance": "lpips-alex",
    "image_embedder": "augnet",
    "semantic_segmenter": "deeplab-v3",
}
HERE = all(map(available, LITE.values()))


def item(source: Pixels, edited: Pixels) -> Item:
    return Item(
        edit=Edit(id="e", source=ImageFile("p", Path("/p")), type="color", instruction=""),
        outcome=Outcome(edit_id="e", method="m", image=Path("/o")),
        source=source,
        edited=edited,
    )


class Labeled:
    """A semantic segmenter for tests only: red pixels are a cat, all others grass."""

    async def classes(self, image: Pixels) -> ClassMap:
        return ClassMap((image[..., 0] > 128).astype(np.uint8), ("grass", "cat"))

    async def distance(self, before: Pixels, after: Pixels) -> float:
        raise UnscorableError("no_model", "no model plays the role 'perceptual_distance'")

    async def embed_image(self, image: Pixels) -> None:
        raise UnscorableError("no_model", "no model plays the role 'image_embedder'")


def seen(one: Item, models: dict[str, str]) -> Scores:
    with ModelService(models) as perception:
        return asyncio.run(baselines.with_models(models).score(one, perception))


def test_segmentation_consistency_by_pixel_and_by_class() -> None:
    """A cat on 20 of 100 pixels loses 5: 0.95 by pixel; 15 of 20 and 80 of 85 by class."""
    before, after = (np.zeros((10, 10, 3), np.uint8) for _ in range(2))
    before[:2, :, 0] = after[:1, :, 0] = after[1, :5, 0] = 255
    protocol = baselines.with_models({"semantic_segmenter": "told"})
    result = asyncio.run(protocol.score(item(before, after), Labeled()))  # type: ignore[arg-type]
    agreement, overlap = result["sc[told]"], result["sc_miou[told]"]
    assert isinstance(agreement, Score)
    assert isinstance(overlap, Score)
    assert agreement.value == pytest.approx(0.95)
    assert overlap.value == pytest.approx((15 / 20 + 80 / 85) / 2)
    region, note = agreement.evidence
    assert isinstance(region, Region)
    assert np.array_equal(region.mask, before[..., 0] != after[..., 0])
    assert note == Note("cat became grass (5.0%) of the picture.")


def test_without_models_l2_is_there_and_the_rest_says_what_it_lacks(photo: Pixels) -> None:
    result = dict(seen(item(photo, photo[::-1]), {}))
    assert list(result) == ["l2", "lpips", "dino", "sc", "sc_miou"]
    l2 = result.pop("l2")
    assert isinstance(l2, Score)
    assert l2.value == metrics.get("l2")(as_unit(photo), as_unit(photo[::-1]))
    for score in result.values():
        assert isinstance(score, Unscored)
        assert score.reason == "no_model"
        assert "`model=" in score.detail


def test_a_stand_in_never_bears_the_name_of_what_it_stands_in_for() -> None:
    names = [spec.name for spec in baselines.with_models(LITE).scores]
    assert names == ["l2", "lpips-alex", "augnet", "sc[deeplab-v3]", "sc_miou[deeplab-v3]"]


def test_distances_fall_and_likenesses_rise_towards_the_source() -> None:
    better = {spec.name: spec.higher_is_better for spec in Baselines().scores}
    assert better == {"l2": False, "lpips": False, "dino": True, "sc": True, "sc_miou": True}


@pytest.mark.skipif(not HERE, reason="NOT TESTED: run `editgauge models pull lite`")
@pytest.mark.slow
def test_with_the_lite_models_doing_nothing_is_best_and_damage_is_seen_by_all(photo: Pixels) -> None:
    protocol = baselines.with_models(LITE)
    kept, torn = seen(item(photo, photo), LITE), seen(item(photo, np.ascontiguousarray(photo[::-1])), LITE)
    for spec in protocol.scores:
        best, worse = kept[spec.name], torn[spec.name]
        assert isinstance(best, Score)
        assert isinstance(worse, Score)
        assert best.value == pytest.approx(1.0 if spec.higher_is_better else 0.0, abs=1e-5)
        assert (worse.value < best.value) == spec.higher_is_better
        assert spec.range[0] <= worse.value <= spec.range[1]
    assert kept["sc[deeplab-v3]"].evidence == (Note("Every pixel kept its class."),)


labels = arrays(np.uint8, (4, 5), elements=st.sampled_from([0, 1, 7, 255]))


@given(labels, labels)
def test_both_are_what_counting_by_hand_gives(before: NDArray[np.uint8], after: NDArray[np.uint8]) -> None:
    same = sum(old == new for old, new in zip(before.flat, after.flat, strict=True))
    assert label_agreement(before, after) == same / before.size
    classes = {*before.flat, *after.flat}
    by_class = [overlap(np.asarray(before == label), np.asarray(after == label)) for label in classes]
    assert mean_class_overlap(before, after) == pytest.approx(sum(by_class) / len(by_class))


def test_a_small_thing_that_went_counts_more_by_class_than_by_pixel() -> None:
    before = np.zeros((10, 10), np.uint8)
    before[0, :2] = 3
    gone = np.zeros_like(before)
    assert label_agreement(before, gone) == 0.98
    assert mean_class_overlap(before, gone) == pytest.approx(0.49)


@pytest.mark.parametrize("after", [np.zeros((2, 2), np.uint8), np.zeros((0, 3), np.uint8)])
def test_maps_of_two_sizes_or_of_none_are_refused(after: NDArray[np.uint8]) -> None:
    before = np.zeros((0, 3) if not after.size else (1, 4), np.uint8)
    for measure in (label_agreement, mean_class_overlap):
        with pytest.raises(ValueError, match="one size"):
            measure(before, after)
