"""Laws of `kept` and `quality` over photographs, with the lite models."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import cv2
import numpy as np
import pytest

from editgauge._util.images import Pixels, read_image
from editgauge.benchmarks import open_benchmark
from editgauge.engine._perception import RunPerception
from editgauge.engine._scoring import build_item
from editgauge.models.profiles import choose_models
from editgauge.models.weights import available
from editgauge.protocols._changes import differences
from editgauge.protocols.editgauge import editgauge
from editgauge.protocols.verdict import MIN_WELL
from editgauge.types import Edit, Outcome, Score

WEIGHTS = ("efficientdet-lite2", "u2netp", "dinov2-s14")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not all(map(available, WEIGHTS)), reason="NOT TESTED: run `editgauge models pull lite`"),
]
PHOTOGRAPHS = 5


def _gray(image: Pixels) -> Pixels:
    return np.repeat(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)[..., np.newaxis], 3, axis=2)


def _noise(image: Pixels) -> Pixels:
    return np.clip(image + np.random.default_rng(0).normal(0, 40, image.shape), 0, 255).astype(np.uint8)


def _hue(image: Pixels) -> Pixels:
    hsv = cv2.cvtColor(image, cv2.COLOR_RGB2HSV)
    hsv[..., 0] = (hsv[..., 0].astype(int) + 60) % 180
    return np.asarray(cv2.cvtColor(hsv, cv2.COLOR_HSV2RGB), np.uint8)


def _new_background(image: Pixels) -> Pixels:
    height, width = image.shape[:2]
    result = np.ascontiguousarray(image[::-1, ::-1])
    center = (slice(height // 3, 2 * height // 3), slice(width // 3, 2 * width // 3))
    result[center] = image[center]
    return result


DISTURBANCES: dict[str, Callable[[Pixels], Pixels]] = {
    "mirrored": lambda image: np.ascontiguousarray(image[:, ::-1]),
    "rotated": lambda image: np.ascontiguousarray(image[::-1, ::-1]),
    "grayscale": _gray,
    "blurred": lambda image: np.asarray(cv2.GaussianBlur(image, (0, 0), 4), np.uint8),
    "noisy": _noise,
    "hue": _hue,
    "background": _new_background,
}


@pytest.fixture(scope="module")
def perception() -> Iterator[RunPerception]:
    roles = (*editgauge.needs, *editgauge.prefers)
    with RunPerception(choose_models("lite", {}, roles).models) as service:
        yield service


def photographs() -> list[Edit]:
    """Return edits of one object, one for each photograph."""
    edits: dict[str, Edit] = {}
    for edit in open_benchmark("sample").edits:
        if edit.type in ("object_addition", "object_replacement", "color", "object_removal"):
            edits.setdefault(edit.origin, edit)
    return list(edits.values())[:PHOTOGRAPHS]


def scored(edit: Edit, edited: Pixels, perception: RunPerception) -> dict[str, float]:
    source = read_image(edit.source.path)
    outcome = Outcome(edit_id=edit.id, method="m", image=Path("/nowhere"))
    scores = asyncio.run(editgauge.score(build_item(edit, outcome, source, edited), perception))
    return {name: score.value for name, score in scores.items() if isinstance(score, Score)}


@pytest.mark.parametrize("name", DISTURBANCES)
def test_a_disturbed_photograph_is_never_kept_well_nor_better_made(name: str, perception: RunPerception) -> None:
    for edit in photographs():
        source = read_image(edit.source.path)
        untouched = scored(edit, source, perception)
        disturbed = scored(edit, DISTURBANCES[name](source), perception)
        assert untouched["kept"] == pytest.approx(1, abs=0.01)
        assert disturbed["kept"] < MIN_WELL, edit.id
        assert disturbed["quality"] <= untouched["quality"], edit.id


@pytest.mark.parametrize("name", DISTURBANCES)
def test_kept_and_changes_do_not_contradict_each_other(name: str, perception: RunPerception) -> None:
    edit = photographs()[0]
    source = read_image(edit.source.path)
    found = asyncio.run(differences(source, DISTURBANCES[name](source), perception))

    assert found.extent in {"whole", "background"}


def test_kept_falls_with_the_strength_of_a_blur(perception: RunPerception) -> None:
    for edit in photographs():
        source = read_image(edit.source.path)
        images = [np.asarray(cv2.GaussianBlur(source, (0, 0), sigma), np.uint8) for sigma in (1, 2, 4, 6)]
        values = [scored(edit, image, perception)["kept"] for image in (source, *images)]
        assert values == sorted(values, reverse=True)
