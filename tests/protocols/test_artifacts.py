"""EditInspector's artifact detection, on hand-made sightings."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from editgauge._util.images import Pixels
from editgauge._util.masks import Rectangle
from editgauge._vision.changed_regions import Changes, find_changes
from editgauge.errors import BadInputError, UnscorableError
from editgauge.evidence import Box, Note
from editgauge.models.answers import Detections, SegmentPrompt
from editgauge.models.roles import ModelCard
from editgauge.protocols import _changes
from editgauge.protocols.artifacts import Artifacts, artifacts, artifacts_as_released
from editgauge.types import Item, Score

Stage = Callable[..., tuple[Item, Any]]
MASK = Rectangle(100, 100, 300, 300)
ADD_CUP = {"type": "object_addition", "subject": "table", "to": "a cup"}
CUP = (180, 180, 220, 220)
CAR = (250, 150, 400, 250)
TRUCK = (20, 20, 120, 120)


class WithCard:
    """The staged detector with a closed vocabulary, and a card that names its operating point; for tests only."""

    def __init__(self, staged: Any, words: tuple[str, ...]) -> None:
        self._staged = staged
        self._words = words

    def vocabulary(self) -> tuple[str, ...]:
        return self._words

    def card(self, role: str) -> ModelCard:
        if role != "detector":
            raise UnscorableError("no_model", f"no model plays the role '{role}'")
        return ModelCard(
            role=role, id="staged", revision="1", sha256="", license="", settings={"operating_point": 0.3}
        )  # fmt: skip

    async def detect_all(self, image: Pixels, least: float | None = None) -> Detections:
        result: Detections = await self._staged.detect(image, *self._words, least=least)
        return result


def scored(
    staged: Stage,
    source: Mapping[str, Any],
    edited: Mapping[str, Any],
    edit: Mapping[str, Any] = ADD_CUP,
    protocol: Artifacts = artifacts,
) -> tuple[dict[str, float], tuple[Any, ...]]:
    item, eyes = staged(edit, source, edited)
    item = replace(item, mask=MASK.render(640, 480))
    scores = asyncio.run(protocol.score(item, WithCard(eyes, tuple({*source, *edited}))))  # type: ignore[arg-type]
    values = {name: score.value for name, score in scores.items() if isinstance(score, Score)}
    assert set(values) == {spec.name for spec in protocol.scores}
    return values, scores["artifact"].evidence


def test_a_thing_at_the_mask_that_lost_confidence_is_an_artifact(staged: Stage) -> None:
    values, evidence = scored(staged, {"car": [(*CAR, 0.8)]}, {"car": [(*CAR, 0.7)], "cup": [CUP]})
    assert values == pytest.approx({"artifact": 1, "artifact_score": 0.1, "faded": 1, "gone": 0}, abs=1e-6)
    assert [piece.on for piece in evidence if isinstance(piece, Box)] == ["source", "edited"]
    assert Note("The detector's confidence in the car went from 0.80 to 0.70.") in evidence


def test_up_to_the_threshold_it_is_none_and_the_threshold_is_an_option(staged: Stage) -> None:
    faint = {"car": [(*CAR, 0.77)]}
    values, _ = scored(staged, {"car": [(*CAR, 0.8)]}, faint)
    assert values["artifact"] == 0
    assert values["artifact_score"] == pytest.approx(0.03, abs=1e-6)
    strict = artifacts.variant({"drop": "0.02"})
    assert strict.name == "artifacts[drop=0.02]"
    assert scored(staged, {"car": [(*CAR, 0.8)]}, faint, protocol=strict)[0]["artifact"] == 1


def test_things_away_from_the_mask_do_not_count(staged: Stage) -> None:
    far = (500, 300, 600, 400)
    values, evidence = scored(staged, {"car": [far]}, {})
    assert values == {"artifact": 0, "artifact_score": 0, "faded": 0, "gone": 0}
    assert Note("No object around the edit was damaged.") in evidence


def test_a_thing_that_is_gone_beside_the_edited_object_is_an_artifact(staged: Stage) -> None:
    values, _ = scored(staged, {"truck": [(*TRUCK, 0.6)]}, {"cup": [CUP]})
    assert values == pytest.approx({"artifact": 1, "artifact_score": 0.6, "faded": 0, "gone": 1}, abs=1e-6)


def test_a_thing_that_the_edited_object_covers_is_none(staged: Stage) -> None:
    values, _ = scored(staged, {"car": [CAR]}, {"cup": [(200, 120, 350, 280)]})
    assert values["artifact"] == 0
    assert values["artifact_score"] == 0


def test_the_edited_object_itself_is_none(staged: Stage) -> None:
    edit = {"type": "color", "subject": "the red car", "from_": "red", "to": "blue"}
    values, _ = scored(staged, {"car": [(*CAR, 0.9)]}, {"car": [(*CAR, 0.5)]}, edit)
    assert values["artifact"] == 0


def test_as_released_a_rise_counts_and_what_lies_inside_does_not(staged: Stage) -> None:
    rose = scored(staged, {"car": [(*CAR, 0.5)]}, {"car": [(*CAR, 0.8)]}, protocol=artifacts_as_released)[0]
    assert rose == pytest.approx({"artifact": 1, "artifact_score": 0.3, "faded": 1, "gone": 0}, abs=1e-6)
    inside = (150, 150, 190, 190)
    told = scored(staged, {"car": [(*inside, 0.9)]}, {"car": [(*inside, 0.5)]}, protocol=artifacts_as_released)[0]
    assert told["artifact"] == 0


def test_as_released_things_are_gone_after_additions_and_new_after_removals_only(staged: Stage) -> None:
    removal = {"type": "object_removal", "subject": "cup"}
    truck: dict[str, Any] = {"truck": [TRUCK]}
    nothing: dict[str, Any] = {}
    for edit, when_gone, when_new in ((ADD_CUP, 1, 0), (removal, 0, 1)):
        assert scored(staged, truck, nothing, edit, artifacts_as_released)[0]["gone"] == when_gone
        assert scored(staged, nothing, truck, edit, artifacts_as_released)[0]["gone"] == when_new


def test_where_nothing_changed_nothing_suffered(staged: Stage) -> None:
    same = np.full((480, 640, 3), 90, np.uint8)
    item, eyes = staged(ADD_CUP, {"car": [CAR]}, {}, pictures=(same, same.copy()))
    scores = asyncio.run(artifacts.score(item, WithCard(eyes, ("car",))))  # type: ignore[arg-type]
    assert {score.value for score in scores.values() if isinstance(score, Score)} == {0.0}


def test_with_a_black_mask_the_detected_change_is_inspected(staged: Stage) -> None:
    source = np.full((480, 640, 3), 90, np.uint8)
    edited = source.copy()
    left, top, right, bottom = map(int, CAR[:4])
    edited[top:bottom, left:right] = 250
    item, eyes = staged(ADD_CUP, {"car": [(*CAR, 0.8)]}, {}, pictures=(source, edited))
    item = replace(item, mask=np.zeros((480, 640), np.bool_))
    scores = asyncio.run(artifacts.score(item, WithCard(eyes, ("car",))))  # type: ignore[arg-type]
    assert scores["gone"] == Score(1.0)


@pytest.mark.parametrize("options", [{"drop": "much"}, {"drop": "2"}, {"fall": "0.1"}])
def test_wrong_options_are_refused(options: dict[str, str]) -> None:
    with pytest.raises(BadInputError, match="drop"):
        artifacts.variant(options)


class WithOutlines(WithCard):
    """The same with a segmenter that draws the left half of every box, and counts what it was asked; for tests only."""

    def __init__(self, staged: Any, words: tuple[str, ...]) -> None:
        super().__init__(staged, words)
        self.boxes: list[tuple[float, ...]] = []

    def card(self, role: str) -> ModelCard:
        return super().card("detector")

    async def segment(self, image: Pixels, prompt: SegmentPrompt) -> Any:
        assert prompt.boxes is not None
        self.boxes += [tuple(box) for box in prompt.boxes.tolist()]
        halves = [
            Rectangle(left, top, (left + right) / 2, bottom) for left, top, right, bottom in prompt.boxes.tolist()
        ]
        return [half.render(640, 480) for half in halves]


def test_only_things_that_lie_across_the_mask_s_edge_are_outlined(staged: Stage) -> None:
    inside, away = (120, 120, 160, 160), (400, 300, 500, 400)
    things = {"cup": [(*CUP, 0.8)], "car": [(*CAR, 0.8)], "dog": [(*inside, 0.8)], "bench": [(*away, 0.8)]}
    after = {**things, "car": [(*CAR, 0.5)], "dog": [(*inside, 0.4)]}
    item, eyes = staged(ADD_CUP, things, after)
    item = replace(item, mask=MASK.render(640, 480))
    perception = WithOutlines(eyes, tuple(things))
    scores = asyncio.run(artifacts.score(item, perception))  # type: ignore[arg-type]
    assert set(perception.boxes) == {tuple(map(float, CAR))}, "what lies inside or away needs no outline"
    largest = scores["artifact_score"]
    assert isinstance(largest, Score)
    assert largest.value == pytest.approx(0.4)


def test_what_changed_is_found_once_for_all_protocols_that_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Pixels] = []

    def counted(source: Pixels, edited: Pixels) -> Changes:
        asked.append(edited)
        return find_changes(source, edited)

    monkeypatch.setattr(_changes, "find_changes", counted)
    source = np.full((40, 40, 3), 90, np.uint8)
    edited = source.copy()
    edited[10:30, 10:30] = 200
    first = _changes.changes_of(source, edited)
    assert _changes.changes_of(source.copy(), edited.copy()) is first
    edited[:5] = 0
    assert _changes.changes_of(source, edited) is not first, "pictures are known by their pixels"
    assert len(asked) == 2
