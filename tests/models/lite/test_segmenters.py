"""Outlines by the small segmenters, against outlines drawn by hand in the benchmark `sample`."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import skimage.data
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from editgauge._util.images import Pixels, read_image
from editgauge._util.masks import BoolMask, bounding_box
from editgauge.benchmarks import open_benchmark
from editgauge.errors import MissingExtraError, UnscorableError
from editgauge.models.answers import SegmentPrompt
from editgauge.models.lite.segmenters import VOC_CLASSES, DeepLabV3, Sam2Tiny, U2NetBoxes, U2NetForeground
from editgauge.models.roles import Segmenter, SemanticSegmenter

photographs: Any = skimage.data


@dataclass(frozen=True)
class Outline:
    """An object that someone drew around."""

    name: str
    image: Pixels
    mask: BoolMask

    @property
    def prompt(self) -> SegmentPrompt:
        return SegmentPrompt(boxes=np.array([bounding_box(self.mask)], np.float32))


@cache
def outlines(come_with_dependencies: bool = True) -> list[Outline]:
    """Those on photographs of scikit-image and scikit-learn; or all, which needs the photographs of the sample."""
    found: dict[tuple[Path, str], Outline] = {}
    for edit in open_benchmark("sample").edits:
        if come_with_dependencies and not edit.source.name.startswith(("skimage/", "sklearn/")):
            continue
        image = _photograph(edit.source.path)
        for name, mask in edit.objects.items():
            drawn = mask.render(image.shape[1], image.shape[0])
            found.setdefault((edit.source.path, name), Outline(name, image, drawn))
    return list(found.values())


@cache
def _photograph(path: Path) -> Pixels:
    return read_image(path)


def overlap(mask: BoolMask, other: BoolMask) -> float:
    return float((mask & other).sum() / (mask | other).sum())


def cut(model: Segmenter, image: Pixels, prompt: SegmentPrompt) -> NDArray[np.bool_]:
    return model.cut([(model.look([image])[0], prompt)])[0]


@pytest.fixture(scope="module")
def u2net() -> U2NetBoxes:
    return U2NetBoxes()


@pytest.fixture(scope="module")
def sam2() -> Sam2Tiny:
    return Sam2Tiny()


@pytest.mark.slow
def test_u2net_in_a_box_follows_outlines_drawn_by_hand(u2net: U2NetBoxes) -> None:
    overlaps = {each.name: overlap(cut(u2net, each.image, each.prompt)[0], each.mask) for each in outlines()}
    assert len(overlaps) >= 10
    assert np.mean(list(overlaps.values())) > 0.88, overlaps
    assert min(overlaps.values()) > 0.7, overlaps


@pytest.mark.slow
def test_u2net_is_as_good_as_the_decision_says(u2net: U2NetBoxes) -> None:
    drawn = outlines(come_with_dependencies=False)
    overlaps = [overlap(cut(u2net, each.image, each.prompt)[0], each.mask) for each in drawn]
    assert np.mean(overlaps) == pytest.approx(0.870, abs=0.005)


@pytest.mark.slow
def test_sam2_outlines_what_a_box_or_a_point_names(sam2: Sam2Tiny) -> None:
    astronaut = [each for each in outlines() if each.name in {"person", "helmet", "space shuttle"}]
    features = sam2.look([astronaut[0].image])[0]
    boxes = np.concatenate([np.asarray(each.prompt.boxes) for each in astronaut])
    together = sam2.cut([(features, SegmentPrompt(boxes=boxes))])[0]
    overlaps = [overlap(mask, each.mask) for mask, each in zip(together, astronaut, strict=True)]
    assert min(overlaps) > 0.9, overlaps
    helmet = next(each for each in astronaut if each.name == "helmet")
    left, top, right, bottom = bounding_box(helmet.mask)
    middle = SegmentPrompt(points=np.array([[(left + right) / 2, (top + bottom) / 2]], np.float32))
    alone, point = sam2.cut([(features, helmet.prompt), (features, middle)])
    np.testing.assert_array_equal(alone[0], together[astronaut.index(helmet)])
    assert overlap(point[0], helmet.mask) > 0.8
    assert sam2.cut([(features, SegmentPrompt(boxes=np.zeros((0, 4), np.float32)))])[0].shape == (0, *helmet.mask.shape)


sides = st.floats(min_value=-20, max_value=150, width=32)


@settings(max_examples=20)
@given(sides, sides, sides, sides)
def test_nothing_outside_of_a_box_is_in_its_mask(
    u2net: U2NetBoxes, photo: Pixels, left: float, top: float, right: float, bottom: float
) -> None:
    mask = cut(u2net, photo, SegmentPrompt(boxes=np.array([[left, top, right, bottom]], np.float32)))[0]
    assert mask.shape == photo.shape[:2]
    rows, columns = np.nonzero(mask)
    assert ((rows >= top - 0.5) & (rows < bottom + 0.5)).all()
    assert ((columns >= left - 0.5) & (columns < right + 0.5)).all()


def test_a_mask_does_not_depend_on_its_neighbors(u2net: U2NetBoxes) -> None:
    drawn = outlines()[:3]
    seen = u2net.look([each.image for each in drawn])
    together = u2net.cut([(features, each.prompt) for features, each in zip(seen, drawn, strict=True)])
    for masks, each in zip(together, drawn, strict=True):
        np.testing.assert_array_equal(masks, cut(u2net, each.image, each.prompt))


def test_u2net_refuses_points(u2net: U2NetBoxes, photo: Pixels) -> None:
    with pytest.raises(UnscorableError, match="sam2-tiny"):
        cut(u2net, photo, SegmentPrompt(points=np.array([[10, 10]], np.float32)))


def test_no_box_no_mask(u2net: U2NetBoxes, photo: Pixels) -> None:
    assert cut(u2net, photo, SegmentPrompt(boxes=np.zeros((0, 4), np.float32))).shape == (0, 128, 128)


def test_deeplab_names_what_it_sees() -> None:
    deeplab = DeepLabV3()
    seen_in = [photographs.chelsea(), photographs.astronaut(), photographs.stereo_motorcycle()[0]]
    drawn = {each.name: each.mask for each in outlines() if each.name in {"cat", "person", "motorcycle"}}
    maps = deeplab.label(seen_in)
    for name, seen, photograph in zip(("cat", "person", "motorcycle"), maps, seen_in, strict=True):
        assert seen.classes == VOC_CLASSES
        assert seen.labels.shape == photograph.shape[:2]
        assert overlap(seen.mask(name), drawn[name]) > 0.6
    np.testing.assert_array_equal(maps[1].labels, deeplab.label([seen_in[1]])[0].labels)


def test_foreground_of_a_whole_picture() -> None:
    cat = next(each for each in outlines() if each.name == "cat")
    seen = U2NetForeground().label([cat.image])[0]
    assert seen.classes == ("background", "foreground")
    assert overlap(seen.mask("foreground"), cat.mask) > 0.8


@pytest.mark.parametrize("model", [Sam2Tiny(), U2NetBoxes()])
def test_segmenters_say_what_they_are(model: Segmenter) -> None:
    assert isinstance(model, Segmenter)
    assert model.card.role == "segmenter"
    assert model.card.license == "Apache-2.0"
    assert len(model.card.sha256) == 64


@pytest.mark.parametrize("model", [DeepLabV3(), U2NetForeground()])
def test_semantic_segmenters_say_what_they_are(model: SemanticSegmenter) -> None:
    assert isinstance(model, SemanticSegmenter)
    assert model.card.role == "semantic_segmenter"
    assert len(model.card.sha256) == 64


@pytest.mark.parametrize("name", ["onnxruntime", "onnx"])
def test_a_missing_library_is_named_with_the_line_that_brings_it(
    name: str, monkeypatch: pytest.MonkeyPatch, photo: Pixels
) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtraError, match=rf"needs {name}.*pip install 'editgauge\[lite\]'"):
        cut(U2NetBoxes(), photo, SegmentPrompt(boxes=np.array([[0, 0, 64, 64]], np.float32)))
