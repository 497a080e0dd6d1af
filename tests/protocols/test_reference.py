"""The protocol `reference`, and what several protocols share: comparing pictures by networks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from editgauge._util.images import ImageFile, Pixels
from editgauge.errors import UnscorableError
from editgauge.evidence import Note
from editgauge.protocols import open_protocol
from editgauge.protocols._comparison import score_set_distances
from editgauge.types import Score, Unscored

Make = Callable[..., tuple[Any, Any]]
MODELS = {"perceptual_distance": "lpips-alex", "joint_embedder": "clip-b16"}


class Comparing:
    """A perception for tests only: the distance is the mean difference, and it has no joint embedder."""

    async def distance(self, before: Pixels, after: Pixels) -> float:
        return float(np.abs(before.astype(float) - after.astype(float)).mean() / 255)

    async def joint_image(self, image: Pixels) -> Any:
        raise UnscorableError("no_model", "no model plays the role 'joint_embedder'")


def scored(staged: Make, reference: Pixels | None, picture: ImageFile | None) -> Any:
    item, _ = staged({"type": "style", "reference": picture}, size=(40, 30))
    item = replace(item, reference=reference)
    protocol = open_protocol("reference").with_models(MODELS)
    perception: Any = Comparing()
    return asyncio.run(protocol.score(item, perception)), item


def test_the_outcome_is_compared_with_the_ground_truth(staged: Make) -> None:
    truth = np.full((30, 40, 3), 60, np.uint8)  # which the staged outcome is, and its source is not
    scores, _ = scored(staged, truth, ImageFile("t", Path("/t")))

    assert {name: result.value for name, result in scores.items() if isinstance(result, Score)} == {
        "l1": 0.0, "l2": 0.0, "lpips-alex": 0.0
    }  # fmt: skip
    assert scores["clip_i[clip-b16]"] == Unscored("no_model", "no model plays the role 'joint_embedder'")


@pytest.mark.parametrize(
    ("picture", "reason"), [(None, "not_applicable"), (ImageFile("t.png", Path("/t")), "unreadable_image")]
)
def test_without_a_ground_truth_nothing_is_scored(staged: Make, picture: ImageFile | None, reason: str) -> None:
    scores, _ = scored(staged, None, picture)

    assert {result.reason for result in scores.values()} == {reason}


def test_sets_need_pictures_and_say_when_they_are_few() -> None:
    random = np.random.default_rng(0)
    parts = [(random.normal(0, 1, 8), random.normal(1, 1, 8)) for _ in range(30)]

    scores = score_set_distances(parts)
    fid, kid = scores["fid"], scores["kid"]
    assert isinstance(fid, Score)
    assert isinstance(kid, Score)
    assert fid.value > 4
    assert fid.evidence == ()
    (few,) = score_set_distances(parts[:6])["fid"].evidence
    assert isinstance(few, Note)
    assert "6 pictures are few for FID with features of 8 numbers" in few.text
    assert not isinstance(score_set_distances(parts[:1])["fid"], Score)
    same_source = [(parts[0][0], after) for _, after in parts]
    assert score_set_distances(same_source)["kid"] == Unscored(
        "not_applicable", "a set needs two source images at least"
    )
