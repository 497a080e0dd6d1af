"""UniBench's rules on hand-worked cases: a perception that sees what it is told, and embeds by color."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from editgauge._util.images import ImageFile, Pixels
from editgauge._util.masks import Rectangle
from editgauge.errors import BadInputError, UnscorableError
from editgauge.protocols import open_protocol
from editgauge.protocols.unibench._rules import DEFAULT_READING, cover_objects, cut_out, gray_pair
from editgauge.types import Edit, Item, Outcome, Score, Scores, Unscored
from tests.golden.published import unibench_table_1
from tests.protocols.conftest import Boxes, Staged

SIZE = 80
CAT, CASE, OTHER = (10, 10, 30, 30), (40, 40, 70, 60), (60, 5, 75, 15)
OBJECTS = {"cat": Rectangle(*CAT), "suitcase": Rectangle(*CASE), "cat-2": Rectangle(*OTHER)}
RED, GREEN, BLUE, GRAY = (255, 0, 0), (0, 255, 0), (0, 0, 255), (90, 90, 90)
COMMON = {"name": "cat", "object": "cat", "class": "cat", "classes": ["cat", "suitcase"], "others": ["cat-2"]}
PLACED = {"anchor": "suitcase", "anchor_class": "suitcase", "words": "to the left of", "relation": "left"}
PLACES = {**PLACED, "anchor_others": [], "places": [["suitcase", "to the left of"], ["suitcase", "above"]]}
TASKS: dict[str, dict[str, Any]] = {
    "change_class": {**COMMON, "name": "dog", "target": "dog", "candidates": ["bird", "dog"], "others": []},
    "change_color": {**COMMON, "target": "red", "candidates": ["blue", "red"], "color": "gray"},
    "move": {**COMMON, **PLACES},
    "generate": {"name": "dog", "target": "dog", "candidates": ["dog"], "classes": ["cat"], "others": [], **PLACES},
}
TYPES: dict[str, str] = {
    "change_class": "object_replacement",
    "change_color": "color",
    "move": "position_replacement",
    "generate": "positional_addition",
}
TEXTS = {
    **dict.fromkeys(("dog", "red cat", "cat", "cat to the left of suitcase", "dog to the left of suitcase"), RED),
    **dict.fromkeys(("bird", "blue cat", "suitcase"), BLUE),
    **dict.fromkeys(("gray cat", "cat above suitcase", "dog above suitcase"), GREEN),
}


def _unit(color: Any) -> NDArray[np.float32]:
    vector = np.asarray(color, np.float32)
    return np.asarray(vector / np.linalg.norm(vector), np.float32)


class Seeing(Staged):
    """Embeds a picture as its mean color and a text as the color it is told; the distance is that of mean pixels."""

    has_clip = True

    def card(self, role: str) -> None:
        if role == "joint_embedder" and not self.has_clip:
            raise UnscorableError("no_model", "no model plays the role 'joint_embedder'")

    async def joint_image(self, image: Pixels) -> NDArray[np.float32]:
        self.card("joint_embedder")
        return _unit(image.reshape(-1, 3).mean(axis=0))

    async def joint_text(self, text: str) -> NDArray[np.float32]:
        self.card("joint_embedder")
        return _unit(TEXTS[text])

    async def distance(self, before: Pixels, after: Pixels) -> float:
        assert before.shape == after.shape
        return float(np.abs(before.astype(float) - after).mean() / 255)


def _painted(*patches: tuple[tuple[int, int, int, int], tuple[int, int, int]], ground: Any = GRAY) -> Pixels:
    picture = np.full((SIZE, SIZE, 3), ground, np.uint8)
    for (left, top, right, bottom), color in patches:
        picture[top:bottom, left:right] = color
    return picture


def _scored(
    kind: str,
    edited: Pixels,
    seen: Mapping[str, Boxes],
    protocol: str = "unibench[cosine]",
    clip: bool = True,
    **more: Any,
) -> Scores:
    edit = Edit(
        id="e",
        source=ImageFile("s.png", Path("s.png")),
        type=TYPES[kind],
        instruction="as told",
        objects=OBJECTS,
        extras={"unibench": {"task": kind, **TASKS[kind], **more}},
    )
    source = _painted((CAT, GREEN), (CASE, BLUE))
    item = Item(edit=edit, outcome=Outcome(edit_id="e", method="m", image=Path("m.png")), source=source, edited=edited)
    perception: Any = Seeing(item, {"source": {}, "edited": seen}, None)
    perception.has_clip = clip
    return asyncio.run(open_protocol(protocol).score(item, perception))


def _value(scores: Scores, name: str) -> float:
    score = scores[name]
    assert isinstance(score, Score), score
    return score.value


def _reason(scores: Scores, name: str) -> str:
    score = scores[name]
    assert isinstance(score, Unscored), score
    return score.reason


def test_change_class_compares_the_new_object_with_its_class_and_nothing_else_moves() -> None:
    scores = _scored("change_class", _painted((CAT, RED), (CASE, BLUE)), {"dog": [CAT]})
    assert _value(scores, "target_fidelity") == _value(scores, "fidelity") == pytest.approx(1)
    assert _value(scores, "background_consistency") == _value(scores, "consistency") == 1
    assert _reason(scores, "position_fidelity") == _reason(scores, "target_consistency") == "not_applicable"


def test_an_object_that_is_not_found_is_looked_for_at_the_original_place() -> None:
    red_there, blue_there = (_painted((CAT, color), (CASE, BLUE)) for color in (RED, BLUE))
    elsewhere = {"dog": [(50, 5, 58, 12)]}
    for seen in ({}, elsewhere):
        assert _value(_scored("change_class", red_there, seen), "target_fidelity") == pytest.approx(1)
        assert _value(_scored("change_class", blue_there, seen), "target_fidelity") == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("kind", ["move", "generate"])
def test_where_the_place_cannot_be_inferred_fidelity_is_zero(kind: str) -> None:
    scores = _scored(kind, _painted((CASE, BLUE)), {"suitcase": [CASE]})
    assert [_value(scores, name) for name in ("target_fidelity", "position_fidelity", "fidelity")] == [0, 0, 0]
    # The cat is gone: of a moved one that is no background, beside a generated one it should have stayed.
    assert (_value(scores, "background_consistency") == 1) == (kind == "move")
    assert _reason(scores, "target_consistency") == ("not_detected" if kind == "move" else "not_applicable")


def test_without_clip_no_failure_is_scored_zero_and_lpips_parts_come_out() -> None:
    lost = _scored("move", _painted((CASE, BLUE)), {}, clip=False)
    assert {_reason(lost, name) for name in ("fidelity", "target_fidelity", "position_fidelity")} == {"no_model"}
    assert _reason(lost, "target_consistency") == _reason(lost, "consistency") == "no_model"
    assert _value(lost, "background_consistency") == 1
    color = _scored("change_color", _painted((CAT, RED), (CASE, BLUE)), {"cat": [CAT]}, clip=False)
    assert _reason(color, "fidelity") == "no_model"
    assert 0 < _value(color, "target_consistency") < 1
    assert _value(color, "consistency") == (_value(color, "target_consistency") + 1) / 2


def test_another_annotated_object_of_the_class_is_not_taken_for_the_moved_one() -> None:
    moved = (12, 42, 32, 62)
    scores = _scored("move", _painted((moved, RED), (CASE, BLUE)), {"cat": [(*OTHER, 0.99), moved], "suitcase": [CASE]})
    assert _value(scores, "target_fidelity") == pytest.approx(1)
    assert _value(scores, "target_consistency") == pytest.approx(0, abs=1e-6)
    only_other = _scored("move", _painted((CASE, BLUE)), {"cat": [(*OTHER, 0.99)], "suitcase": [CASE]})
    assert _value(only_other, "target_fidelity") == 0


def test_disturbing_the_rest_lowers_background_consistency_alone() -> None:
    seen = {"dog": [CAT]}
    calm, loud = (_painted((CAT, RED), (CASE, BLUE), ground=ground) for ground in (GRAY, (200, 90, 90)))
    before, after = (_scored("change_class", picture, seen) for picture in (calm, loud))
    assert _value(before, "background_consistency") > _value(after, "background_consistency")
    assert _value(after, "target_fidelity") == pytest.approx(1)


def test_the_three_readings_of_one_cosine() -> None:
    edited = _painted((CAT, (255, 255, 0)), (CASE, BLUE))
    cosine, rescaled, chosen = (
        _value(_scored("change_color", edited, {"cat": [CAT]}, f"unibench[{reading}]"), "target_fidelity")
        for reading in ("cosine", "rescaled", "softmax")
    )
    assert cosine == pytest.approx(np.sqrt(0.5), abs=1e-3)
    assert rescaled == pytest.approx((1 + cosine) / 2)
    assert chosen == pytest.approx(0.5, abs=0.01)  # as near to red as to what stands for gray, far from blue


def test_a_softmax_over_one_candidate_says_nothing() -> None:
    only = _scored(
        "move",
        _painted((CAT, RED), (CASE, BLUE)),
        {"cat": [CAT], "suitcase": [CASE]},
        "unibench[softmax]",
        places=[["suitcase", "to the left of"]],
    )
    assert _reason(only, "position_fidelity") == "not_applicable"
    assert _value(only, "target_fidelity") == pytest.approx(1)


def test_variants_have_their_names_and_others_are_refused() -> None:
    assert open_protocol("unibench[softmax]").name == "unibench[softmax]"
    assert "softmax" in open_protocol("unibench[softmax]").deviations[0]
    assert "raw cosine" in open_protocol("unibench[cosine]").deviations[0]
    assert open_protocol("unibench").deviations == open_protocol("unibench[softmax]").deviations
    with pytest.raises(BadInputError, match="cosine, rescaled, softmax"):
        open_protocol("unibench[sigmoid]")


def test_only_the_default_reading_reaches_all_values_of_table_1() -> None:
    cells = {
        "change class": [rows["change_class"][0] for rows in unibench_table_1()["models"].values()],
        "change color": [rows["change_color"][0] for rows in unibench_table_1()["models"].values()],
        "position of move": [rows["move"][1] for rows in unibench_table_1()["models"].values()],
    }
    out_of_reach = {
        reading: [sum(not low <= value <= high for value in values) for values in cells.values()]
        for reading, (low, high) in {"cosine": (0.1, 0.4), "rescaled": (0.55, 0.7), "softmax": (0.0, 1.0)}.items()
    }
    assert out_of_reach == {"cosine": [0, 0, 5], "rescaled": [5, 5, 4], "softmax": [0, 0, 0]}
    assert DEFAULT_READING == "softmax"


def test_all_scores_of_the_default_lie_between_0_and_1() -> None:
    assert {spec.range for spec in open_protocol("unibench").scores} == {(0.0, 1.0)}


def test_an_edit_of_another_benchmark_cannot_be_told() -> None:
    with pytest.raises(UnscorableError, match="no task of UniBench"):
        _scored("move", _painted(), {}, task="shrink")


@pytest.mark.parametrize(
    ("kind", "patch", "seen", "target", "position"),
    [
        ("change_class", (CAT, RED), {"dog": [CAT]}, 1, None),
        ("change_class", (CAT, RED), {"dog": [(50, 5, 58, 12)]}, 0, None),
        ("change_class", (CAT, RED), {}, 0, None),
        ("move", (CAT, RED), {"cat": [(10, 40, 30, 60)], "suitcase": [CASE]}, 1, 1),
        ("move", (CAT, RED), {"cat": [(45, 10, 65, 30)], "suitcase": [CASE]}, 1, 0),
        ("move", (CAT, RED), {"suitcase": [CASE]}, 0, 0),
        ("generate", (CAT, RED), {"dog": [(10, 40, 30, 60)]}, 1, 1),
        ("generate", (CAT, RED), {"suitcase": [CASE]}, 0, 0),
    ],
)
def test_detect_asks_for_class_and_place(
    kind: str, patch: Any, seen: Mapping[str, Boxes], target: float, position: float | None
) -> None:
    scores = _scored(kind, _painted(patch, (CASE, BLUE)), seen, "unibench-detect", clip=False)
    assert _value(scores, "target") == target
    if position is None:
        assert _reason(scores, "position") == "not_applicable"
    else:
        assert _value(scores, "position") == pytest.approx(position)
    assert _value(scores, "edit") == pytest.approx(target if position is None else (target + position) / 2)


def test_detect_tells_colors_by_their_histogram() -> None:
    red, green = (
        _value(_scored("change_color", _painted((CAT, color)), {"cat": [CAT]}, "unibench-detect"), "edit")
        for color in (RED, GREEN)
    )
    assert red > 0.9 > 0.5 > green


def test_detect_has_no_rule_for_words_outside_the_plane() -> None:
    scores = _scored(
        "move", _painted(), {"cat": [CAT]}, "unibench-detect", words="in front of", relation=None, clip=False
    )
    assert _reason(scores, "position") == _reason(scores, "edit") == "no_rule"
    assert _value(scores, "target") == 1


def test_a_set_lacks_its_total_where_a_type_lacks_a_kind_of_score() -> None:
    protocol = open_protocol("unibench")
    parts = [(np.array([3]), np.array(["background_consistency"], np.str_), np.array([0.9]))]
    consistency, fidelity = protocol.score_set(parts)["total_consistency"], protocol.score_set(())["total_fidelity"]
    assert isinstance(consistency, Unscored)
    assert "move: target_consistency" in consistency.detail
    assert isinstance(fidelity, Unscored)


def test_cut_outs_hold_the_object_alone_and_small_ones_are_enlarged() -> None:
    picture = _painted((CAT, RED))
    mask = OBJECTS["cat"].render(SIZE, SIZE)
    mask[10:20, 10:20] = False
    cut = cut_out(picture, mask)
    assert cut.shape == (20, 20, 3)
    assert (cut[:10, :10] == np.rint(picture.reshape(-1, 3).mean(axis=0))).all()
    assert (cut[10:] == RED).all()
    one, other = gray_pair(cut, cut_out(picture, OBJECTS["suitcase"].render(SIZE, SIZE)))
    assert one.shape == other.shape == (64, 64, 3)


def test_a_picture_that_is_all_object_has_no_background() -> None:
    with pytest.raises(UnscorableError, match="no background"):
        cover_objects(_painted(), _painted(), np.ones((SIZE, SIZE), np.bool_))
