"""Does the artifact score rise with the damage around an edit? Disturbances of known severity, on `sample`."""

from __future__ import annotations

import asyncio
from pathlib import Path

import cv2
import numpy as np
import pytest

import editgauge
from editgauge._util.images import Pixels, read_image
from editgauge._util.masks import dilate_mask
from editgauge.benchmarks import benchmarks
from editgauge.methods.reference.artifacts import add_flaw
from editgauge.models.perception import ModelService
from editgauge.models.weights import available
from editgauge.protocols.artifacts import artifacts
from editgauge.types import Edit, Item, Outcome, Score

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not available("efficientdet-lite2"), reason="NOT TESTED: run `editgauge models pull efficientdet-lite2`"
    ),
]
SEVERITIES = (0.0, 0.25, 0.5, 1.0)
FLAWS = ("blur", "noise")
TYPES = ("object_addition", "positional_addition", "object_removal", "single_instance_removal", "object_replacement")
REACH = 60
"""Pixels around what was edited that a loose mask, as people draw it, lets an editor change; these are disturbed."""
ALARMS_ON_JPEG, ALARMS_ON_SHIFT, UNTOUCHED = 6, 4, 31
"""Of docs/protocols/artifacts.md: verdicts on pairs that were only re-encoded, or shifted by a pixel."""


def _item(edit: Edit, source: Pixels, edited: Pixels) -> Item:
    assert edit.mask is not None
    mask = dilate_mask(edit.mask.render(source.shape[1], source.shape[0]), REACH)
    outcome = Outcome(edit_id=edit.id, method="classical", image=edit.source.path)
    return Item(edit=edit, outcome=outcome, source=source, edited=edited, mask=mask)


async def _values(items: list[Item], name: str) -> list[float]:
    with ModelService({"detector": "efficientdet-lite2"}) as service:
        answers = [(await artifacts.score(item, service))[name] for item in items]
    assert all(isinstance(answer, Score) for answer in answers)
    return [answer.value for answer in answers if isinstance(answer, Score)]


@pytest.fixture(scope="module")
def edits() -> list[Edit]:
    return [edit for edit in benchmarks.get("sample")().edits if edit.type in TYPES]


def test_the_mean_score_rises_with_the_damage(edits: list[Edit], tmp_path: Path) -> None:
    editgauge.edit("sample", method="classical", out=tmp_path, quiet=True)
    scores: dict[float, list[float]] = {}
    for severity in SEVERITIES:
        items = []
        for edit in edits:
            source, right = read_image(edit.source.path), read_image(tmp_path / f"{edit.id}.png")
            assert edit.mask is not None
            tight = edit.mask.render(source.shape[1], source.shape[0])
            spared = tight | ~dilate_mask(tight, REACH)
            for seed, flaw in enumerate(FLAWS):
                items.append(_item(edit, source, add_flaw(right, flaw, severity, seed, spared)))
        scores[severity] = asyncio.run(_values(items, "artifact_score"))
    means = [float(np.mean(scores[severity])) for severity in SEVERITIES]
    assert means == sorted(means), means
    chance = np.random.default_rng(0)
    rise = np.array(scores[1.0]) - np.array(scores[0.0])
    by_edit = rise.reshape(len(edits), len(FLAWS)).mean(axis=1)
    resampled = chance.choice(by_edit, (2000, len(by_edit))).mean(axis=1)
    assert np.quantile(resampled, 0.025) > 0, means


def test_untouched_pairs_raise_few_alarms(edits: list[Edit]) -> None:
    encoded, shifted, same = [], [], []
    for edit in edits:
        source = read_image(edit.source.path)
        jpeg = cv2.imdecode(cv2.imencode(".jpg", source[..., ::-1], [cv2.IMWRITE_JPEG_QUALITY, 90])[1], 1)
        encoded.append(_item(edit, source, np.ascontiguousarray(np.asarray(jpeg)[..., ::-1])))
        shifted.append(_item(edit, source, np.roll(source, 1, axis=1)))
        same.append(_item(edit, source, source.copy()))
    assert sum(asyncio.run(_values(same, "artifact"))) == 0
    counts = [sum(asyncio.run(_values(items, "artifact"))) for items in (encoded, shifted)]
    assert (*counts, len(edits)) == (ALARMS_ON_JPEG, ALARMS_ON_SHIFT, UNTOUCHED)
