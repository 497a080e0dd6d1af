"""UniBench on 128 annotated COCO photographs: what rules propose, and how the readings of its scores compare.

The pictures are seen as they are annotated, and embedded by their colors: the numbers are about rules and readings, not
about a network. The photographs are not ours to ship: `EDITGAUGE_SHARED_DATA` names the folder with `coco128`.
"""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from editgauge._util.images import Pixels, read_image
from editgauge.benchmarks import open_benchmark
from editgauge.builders.unibench import unibench
from editgauge.models.answers import Detections, Instances
from editgauge.protocols import open_protocol
from editgauge.protocols.unibench._rules import EXTRA
from editgauge.types import Benchmark, Edit, Item, Outcome, Score, Scores
from tests.parity.scenes import table_on_page
from tests.shared_data import needs_shared_data, shared_data

pytestmark = needs_shared_data
SIDE = 128
READINGS = ("cosine", "rescaled", "softmax")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    file = tmp_path_factory.mktemp("unibench") / "unibench.json"
    coco = shared_data("coco128")
    annotations, captions = coco / "instances_train2017.json", coco / "captions_train2017.json"
    unibench(coco=annotations, images=coco / "images", out=file, captions=captions, size=SIDE, quiet=True)
    return open_benchmark("unibench", data=file)


class Annotated:
    """Sees the objects of the source image where they are annotated; embeds by color; for tests only."""

    def __init__(self, edit: Edit) -> None:
        self._edit = edit

    def card(self, role: str) -> None:
        return None

    async def instances(self, image: Pixels, *phrases: str, least: float | None = None) -> Instances:
        height, width = image.shape[:2]
        named = [name for name in self._edit.objects if name.rpartition("-")[0] in phrases or name in phrases]
        masks = np.array([self._edit.objects[name].render(width, height) for name in named], np.bool_)
        count = len(named)
        words = tuple(name.rpartition("-")[0] or name for name in named)
        boxes = np.zeros((count, 4), np.float32)
        detections = Detections(boxes, np.full(count, 0.9, np.float32), words, words)
        return Instances(detections, masks.reshape(count, height, width))

    async def joint_image(self, image: Pixels) -> NDArray[np.float32]:
        return _unit(np.histogramdd(image.reshape(-1, 3), (4, 4, 4), [(0, 256)] * 3)[0].ravel() + 1)

    async def joint_text(self, text: str) -> NDArray[np.float32]:
        return _unit(np.random.default_rng(sum(text.encode())).random(64) + 0.1)

    async def distance(self, before: Pixels, after: Pixels) -> float:
        return float(np.abs(before.astype(float) - after).mean() / 255)


def _unit(vector: NDArray[Any]) -> NDArray[np.float32]:
    return np.asarray(vector / np.linalg.norm(vector), np.float32)


def untouched(protocol: str, edit: Edit) -> Scores:
    """The scores of an outcome that is the source image itself."""
    source = read_image(edit.source.path)
    outcome = Outcome(edit_id=edit.id, method="m", image=edit.source.path)
    item = Item(edit=edit, outcome=outcome, source=source, edited=source.copy())
    see: Any = Annotated(edit)
    return asyncio.run(open_protocol(protocol).score(item, see))


def values(protocol: str, edits: list[Edit], name: str) -> list[float]:
    scores = [untouched(protocol, edit)[name] for edit in edits]
    return [score.value for score in scores if isinstance(score, Score)]


def of_task(built: Benchmark, *tasks: str) -> list[Edit]:
    return [edit for edit in built.edits if edit.extras[EXTRA]["task"] in tasks]


def test_every_place_that_rules_propose_can_be_judged_and_is_not_true_already(built: Benchmark) -> None:
    placed, moved = of_task(built, "move", "generate"), of_task(built, "move")

    assert len(moved) >= 10
    assert all(edit.extras[EXTRA].get("relation") for edit in placed)
    places = values("unibench-detect", moved, "position")
    assert len(places) == len(moved)
    assert max(places) < 0.01  # outlines are stored as polygons or runs, and rendered again


def test_the_page_states_what_the_photographs_give(built: Benchmark) -> None:
    table = {}
    for task in ("change_class", "change_color", "move", "generate"):
        edits = of_task(built, task)
        places = values("unibench-detect", edits, "position")
        table[task] = (len(edits), len(places), sum(place >= 0.5 for place in places))
    assert table == table_on_page("unibench.md")


def test_readings_of_the_similarity_rank_targets_alike_but_on_other_scales(built: Benchmark) -> None:
    edits = of_task(built, "change_class", "change_color")
    cosine, rescaled, softmax = (values(f"unibench[{reading}]", edits, "target_fidelity") for reading in READINGS)

    assert len(cosine) == len(edits) >= 20
    assert rescaled == pytest.approx([(1 + value) / 2 for value in cosine])
    assert all(0 <= value <= 1 for value in softmax)
    assert stats.spearmanr(cosine, softmax).statistic < 0.99  # the softmax asks how much better than the alternatives


def test_an_untouched_picture_keeps_target_and_background_in_every_reading(built: Benchmark) -> None:
    edits = of_task(built, "change_color")
    for reading in READINGS:
        assert values(f"unibench[{reading}]", edits, "target_consistency") == pytest.approx([1.0] * len(edits))
        assert values(f"unibench[{reading}]", edits, "background_consistency") == pytest.approx([1.0] * len(edits))
