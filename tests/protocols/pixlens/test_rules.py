"""PixLens's rules by hand-worked outlines, both rule sets, each with a case where the two readings differ."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from editgauge.edit_types import EDIT_TYPES
from editgauge.engine._options import open_protocols_with_models
from editgauge.evidence import Note, Region
from editgauge.models import profiles
from editgauge.models.profiles import models_for
from editgauge.options import ModelOptions
from editgauge.protocols import open_protocol
from editgauge.protocols._rules import NO_RULE
from editgauge.protocols.pixlens import _rules
from editgauge.types import Position, Score, Scores, Unscored

Make = Callable[..., tuple[Any, Any]]
PAPER, RELEASED = "pixlens", "pixlens@released"
SIZE = (90, 60)
WHOLE = (30, 15, 60, 45)


def all_scores(protocol: str, staging: tuple[Any, Any]) -> Scores:
    item, perception = staging
    return asyncio.run(open_protocol(protocol).score(item, perception))


def value(protocol: str, staging: tuple[Any, Any], name: str = "edit") -> float | str:
    given = all_scores(protocol, staging)[name]
    return given.value if isinstance(given, Score) else given.reason


@pytest.fixture
def stage(staged: Make) -> Make:
    def make(edit: Any, source: Any, edited: Any, **more: Any) -> tuple[Any, Any]:
        return staged(edit, source, edited, size=SIZE, **more)

    return make


ADD = {"type": "object_addition", "subject": "bench", "to": "dog"}


@pytest.mark.parametrize("protocol", [PAPER, RELEASED])
def test_an_addition_asks_for_the_new_object_alone(stage: Make, protocol: str) -> None:
    assert value(protocol, stage(ADD, {}, {"dog": [WHOLE]})) == 1
    assert value(protocol, stage(ADD, {}, {"bench": [WHOLE]})) == 0


def sized(to: str) -> dict[str, Any]:
    return {"type": "size", "subject": "dog", "to": to}


@pytest.mark.parametrize(
    ("to", "after", "paper", "released"),
    [
        ("small", (35, 20, 55, 40), 1.0, 1.0),
        ("large", (35, 20, 55, 40), 0.0, 0.0),
        ("small", (31, 16, 60, 45), 0.0, 0.0),  # 93 % of the area: less than a tenth
        ("small", (55, 20, 75, 40), 0.0, 0.5),  # smaller, but somewhere else
        ("large", (20, 5, 70, 55), 1.0, 1.0),
    ],
)
def test_size(stage: Make, to: str, after: Any, paper: float, released: float) -> None:
    staging = sized(to), {"dog": [WHOLE]}, {"dog": [after]}

    assert value(PAPER, stage(*staging)) == paper
    assert value(RELEASED, stage(*staging)) == released


def test_an_object_that_vanished_fails_and_one_that_never_was_seen_is_unscored(stage: Make) -> None:
    assert value(PAPER, stage(sized("small"), {"dog": [WHOLE]}, {})) == 0
    assert value(PAPER, stage(sized("small"), {}, {"dog": [WHOLE]})) == "not_detected"


def placing(relation: str) -> dict[str, Any]:
    position = Position(relation, "bench")  # type: ignore[arg-type]
    return {"type": "positional_addition", "subject": "bench", "to": "cup", "position": position}


@pytest.mark.parametrize(
    ("relation", "cup", "expected"),
    [
        ("left", (5, 25, 15, 35), 1.0),
        ("right", (5, 25, 15, 35), 0.0),  # Algorithm 3's absolute value would call this right
        ("above", (5, 0, 15, 10), 0.3888),  # 35 to the left, 25 up: 54.5 degrees from straight up
        ("below", (40, 27, 50, 37), 0.0),  # 2 pixels are no movement
    ],
)
def test_positional_addition_by_its_angle(stage: Make, relation: str, cup: Any, expected: float) -> None:
    staging = placing(relation), {"bench": [WHOLE]}, {"cup": [cup], "bench": [WHOLE]}
    released = (expected + 1) / 2 if expected else 0

    if expected == 0.3888:
        expected = (90 - math.degrees(math.atan2(35, 25))) / 90
        released = (expected + 1) / 2
    assert value(PAPER, stage(*staging)) == pytest.approx(expected, abs=1e-6)
    assert value(RELEASED, stage(*staging)) == pytest.approx(released, abs=1e-6)


def test_the_released_positional_addition_asks_for_the_category_too(stage: Make) -> None:
    staging = placing("left"), {"bench": [WHOLE]}, {"cup": [(5, 25, 15, 35)]}

    assert value(PAPER, stage(*staging)) == 1
    assert value(RELEASED, stage(*staging)) == 0.5


def moving(to: str, from_: str | None = None) -> dict[str, Any]:
    position = Position(to)  # type: ignore[arg-type]
    return {"type": "position_replacement", "subject": "dog", "to": to, "from_": from_, "position": position}


@pytest.mark.parametrize(
    ("to", "from_", "start", "end", "expected"),
    [
        ("right", "left", (0, 20, 20, 40), (65, 20, 85, 40), 1.0),
        ("right", "left", (0, 20, 20, 40), (35, 20, 55, 40), 0.75),  # the right way, but only to the middle
        ("center", "left", (0, 20, 20, 40), (65, 20, 85, 40), 0.75),  # too far
        ("center", None, (0, 20, 20, 40), (35, 20, 55, 40), 1.0),
        ("left", "right", (65, 20, 85, 40), (65, 20, 85, 40), 0.0),
        ("left", "center", (35, 20, 55, 40), (65, 20, 85, 40), 0.0),
    ],
)
def test_position_replacement(stage: Make, to: str, from_: str | None, start: Any, end: Any, expected: float) -> None:
    assert value(PAPER, stage(moving(to, from_), {"dog": [start]}, {"dog": [end]})) == pytest.approx(expected)


def test_a_moved_object_that_is_gone_fails(stage: Make) -> None:
    assert value(PAPER, stage(moving("left"), {"dog": [WHOLE]}, {})) == 0


def test_a_replacement_lies_where_the_old_object_was_and_tells_whether_it_is_gone(stage: Make) -> None:
    edit = {"type": "object_replacement", "subject": "bench", "from_": "horse", "to": "zebra"}
    before = {"horse": [WHOLE]}

    assert value(PAPER, stage(edit, before, {"zebra": [(50, 30, 80, 50)]})) == 1
    assert value(PAPER, stage(edit, before, {"zebra": [(0, 0, 10, 10)]})) == 0
    given = all_scores(PAPER, stage(edit, before, {"zebra": [WHOLE], "horse": [WHOLE]}))["edit"]
    assert isinstance(given, Score)
    assert given.value == 1
    assert [piece.text for piece in given.evidence if isinstance(piece, Note)] == [
        "Zebra .90 found in its place, horse still seen."
    ]


FIVE = [(0, 0, 10, 10), (20, 0, 30, 10), (40, 0, 50, 10), (60, 0, 70, 10)]


@pytest.mark.parametrize(("left", "removal", "single"), [(4, 0.0, 0.0), (3, 0.25, 1.0), (1, 0.75, 0.5), (0, 1.0, 0.5)])
def test_removals_count(stage: Make, left: int, removal: float, single: float) -> None:
    for kind, expected in (("object_removal", removal), ("single_instance_removal", single)):
        edit = {"type": kind, "subject": "apple"}
        assert value(PAPER, stage(edit, {"apple": FIVE}, {"apple": FIVE[:left]})) == expected


@pytest.mark.parametrize(("left", "expected"), [(4, 0.0), (3, 0.0), (2, 1.0), (1, 0.5)])
def test_of_a_removal_as_many_must_go_as_the_instruction_says(stage: Make, left: int, expected: float) -> None:
    edit = {"type": "object_removal", "subject": "apple", "count": 2}
    assert value(PAPER, stage(edit, {"apple": FIVE}, {"apple": FIVE[:left]})) == expected


def test_two_boxes_of_one_object_count_once(stage: Make) -> None:
    edit = {"type": "object_removal", "subject": "apple"}
    again = (1, 0, 11, 10, 0.3)

    assert value(PAPER, stage(edit, {"apple": [*FIVE, again]}, {"apple": FIVE[:1]})) == 0.75


def test_alter_parts_is_the_share_of_objects_that_have_theirs(stage: Make) -> None:
    edit = {"type": "alter_parts", "subject": "dog", "to": "tie"}
    dogs = [(0, 0, 20, 20), (50, 0, 70, 20)]

    assert value(PAPER, stage(edit, {"dog": dogs}, {"tie": [(5, 5, 8, 8)]})) == 0.5
    assert value(PAPER, stage(edit, {"dog": dogs}, {"tie": [(5, 5, 8, 8), (55, 5, 58, 8)]})) == 1
    assert value(PAPER, stage(edit, {"dog": dogs}, {})) == 0


def test_color_looks_at_the_object_alone(stage: Make) -> None:
    edit = {"type": "color", "subject": "dog", "to": "red"}
    before = np.full((60, 90, 3), 90, np.uint8)
    red, red_elsewhere = before.copy(), before.copy()
    red[15:45, 30:60] = red_elsewhere[:10, :20] = (250, 5, 5)
    seen = {"dog": [WHOLE]}

    assert float(value(PAPER, stage(edit, seen, seen, pictures=(before, red)))) > 0.9
    assert float(value(PAPER, stage(edit, seen, seen, pictures=(before, red_elsewhere)))) < 0.5
    assert value(PAPER, stage({**edit, "to": "plaid"}, seen, seen)) == "unknown_word"
    assert value(PAPER, stage(edit, seen, {})) == "not_detected"  # the paper discards it


def test_the_subject_of_an_untouched_picture_is_the_same(stage: Make, photo: Any) -> None:
    picture = np.ascontiguousarray(photo[:60, :90])
    seen = {"bench": [(10, 5, 80, 55)]}
    scores = all_scores(PAPER, stage(ADD, seen, seen, pictures=(picture, picture.copy())))

    values = {name: given.value for name, given in scores.items() if isinstance(given, Score)}
    assert values == pytest.approx(
        {"edit": 0, "steps_done": 0, "subject_sift": 1, "subject_iou": 1, "subject_ssim": 1, "subject_color": 1}
        | {"subject_position": 0, "background": 1}
    )


@pytest.mark.parametrize(
    ("edit", "left_out"),
    [
        ({"type": "color", "subject": "dog", "to": "red"}, "subject_color"),
        (sized("small"), "subject_iou"),
        (moving("left"), "subject_position"),
    ],
)
def test_what_the_edit_asks_to_change_is_left_out_of_the_average_and_told(
    stage: Make, edit: Any, left_out: str
) -> None:  # fmt: skip
    scores = all_scores(PAPER, stage(edit, {"dog": [WHOLE]}, {"dog": [(5, 15, 30, 45)]}))

    unscored = {name: given for name, given in scores.items() if isinstance(given, Unscored)}
    assert set(unscored) == {left_out}
    assert "measured" in unscored[left_out].detail


def test_the_position_of_the_subject_is_a_share_of_width_and_height(stage: Make) -> None:
    scores = all_scores(PAPER, stage(sized("large"), {"dog": [(0, 0, 10, 10)]}, {"dog": [(45, 30, 55, 40)]}))

    given = scores["subject_position"]
    assert isinstance(given, Score)
    assert given.value == pytest.approx(math.hypot(0.5, 0.5))


def test_a_moved_objects_new_place_is_background_only_for_the_released_code(stage: Make) -> None:
    before, after = np.zeros((60, 90, 3), np.uint8), np.zeros((60, 90, 3), np.uint8)
    before[20:40, 0:20] = after[20:40, 60:80] = 200
    staging = moving("right", "left"), {"dog": [(0, 20, 20, 40)]}, {"dog": [(60, 20, 80, 40)]}

    assert value(PAPER, stage(*staging, pictures=(before, after)), "background") == 1
    assert float(value(RELEASED, stage(*staging, pictures=(before, after)), "background")) < 0.8


def test_what_covers_everything_leaves_no_background(stage: Make) -> None:
    seen = {"dog": [(0, 0, 90, 60)]}

    assert value(PAPER, stage(sized("small"), seen, seen), "background") == "not_applicable"


def test_the_evidence_outlines_what_was_seen(stage: Make) -> None:
    given = all_scores(PAPER, stage(sized("small"), {"dog": [WHOLE]}, {"dog": [WHOLE]}))["edit"]

    regions = [piece for piece in given.evidence if isinstance(piece, Region)]
    assert [(region.on, int(region.mask.sum())) for region in regions] == [("source", 900), ("edited", 900)]


@pytest.mark.parametrize("kind", sorted(set(EDIT_TYPES) - set(_rules.RULES)))
def test_types_without_a_rule_are_unscored_and_say_so(stage: Make, kind: str) -> None:
    scores = all_scores(PAPER, stage({"type": kind, "subject": "dog", "to": "wood"}, {}, {}))

    assert set(scores.values()) == {NO_RULE}


@pytest.mark.parametrize("kind", ["positional_addition", "alter_parts", "single_instance_removal", "object_removal"])
def test_the_subject_is_compared_only_for_the_types_of_table_5(stage: Make, kind: str) -> None:
    edit = {**placing("left"), "type": kind}
    seen = {"bench": [WHOLE], "cup": [(5, 25, 15, 35)]}
    scores = all_scores(PAPER, stage(edit, seen, seen))

    assert {
        given.reason for name, given in scores.items() if name.startswith("subject") and isinstance(given, Unscored)
    } == {"not_applicable"}


def test_the_released_code_finds_a_name_within_another(stage: Make) -> None:
    edit = {"type": "object_removal", "subject": "apple"}
    addition = {"type": "object_addition", "subject": "pineapple", "to": "apple"}

    assert value(RELEASED, stage(addition, {}, {"pineapple": [WHOLE]})) == 1
    assert value(PAPER, stage(addition, {}, {"pineapple": [WHOLE]})) == 0
    assert value(RELEASED, stage(edit, {"apple": [WHOLE]}, {})) == 1


boxes = st.tuples(st.integers(0, 60), st.integers(0, 40), st.integers(3, 29), st.integers(3, 19)).map(
    lambda sides: (sides[0], sides[1], sides[0] + sides[2], sides[1] + sides[3])
)
several = st.lists(boxes, min_size=1, max_size=4)
slow = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
EDITS = (ADD, sized("large"), placing("left"), moving("right"), {"type": "object_removal", "subject": "dog"})


@slow
@given(several, several, st.sampled_from(EDITS))
def test_every_score_is_in_its_range_and_every_name_is_answered(stage: Make, one: Any, other: Any, edit: Any) -> None:
    names = ("dog", "bench", "cup")
    for protocol in (PAPER, RELEASED):
        scores = all_scores(protocol, stage(edit, dict.fromkeys(names, one), dict.fromkeys(names, other)))
        specs = {spec.name: spec for spec in open_protocol(protocol).scores}
        assert set(scores) == set(specs)
        for name, score in scores.items():
            if isinstance(score, Score):
                low, high = specs[name].range
                assert low <= score.value <= high


@slow
@given(boxes, boxes, st.sampled_from(["left", "right"]), st.booleans())
def test_mirror_the_pictures_and_left_becomes_right(
    stage: Make, one: Any, other: Any, side: str, moves: bool
) -> None:  # fmt: skip
    opposite = "right" if side == "left" else "left"
    names = ("dog", "dog") if moves else ("bench", "cup")

    def staging(to: str, start: Any, end: Any) -> tuple[Any, Any]:
        return stage(moving(to) if moves else placing(to), {names[0]: [start]}, {names[1]: [end]})

    def mirrored(box: Any) -> Any:
        return (90 - box[2], box[1], 90 - box[0], box[3])

    first = value(PAPER, staging(side, one, other))
    assert first == pytest.approx(value(PAPER, staging(opposite, mirrored(one), mirrored(other))))


@slow
@given(boxes, boxes, st.integers(2, 3), st.sampled_from(EDITS))
def test_scale_both_pictures_and_no_verdict_changes(
    staged: Make, one: Any, other: Any, scale: int, edit: Any
) -> None:  # fmt: skip
    names = ("dog", "bench", "cup")

    def verdict(times: int) -> float | str:
        before, after = ([tuple(side * times for side in box)] for box in (one, other))
        size = (SIZE[0] * times, SIZE[1] * times)
        return value(PAPER, staged(edit, dict.fromkeys(names, before), dict.fromkeys(names, after), size=size))

    assert verdict(scale) == pytest.approx(verdict(1), abs=1e-6)


@slow
@given(st.lists(boxes, min_size=2, max_size=4), st.randoms(use_true_random=False), st.sampled_from(EDITS))
def test_the_order_of_detections_never_matters(stage: Make, seen: list[Any], random: Any, edit: Any) -> None:
    sure = [(*box, 0.9 - 0.1 * place) for place, box in enumerate(seen)]
    shuffled = random.sample(sure, len(sure))
    names = ("dog", "bench", "cup")
    for protocol in (PAPER, RELEASED):
        both = [stage(edit, dict.fromkeys(names, order), dict.fromkeys(names, order)) for order in (sure, shuffled)]
        assert value(protocol, both[0]) == value(protocol, both[1])


def test_the_paper_runs_at_0_1_and_the_released_code_at_0_3(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profiles, "is_here", lambda model: True)
    _, choice = open_protocols_with_models(["pixlens", "pixlens@released"], ModelOptions(models="paper"))
    detectors = {name: models_for(name, choice.models)["detector"] for name in ("pixlens", "pixlens@released")}
    assert detectors == {
        "pixlens": "grounding-dino-tiny[threshold=0.1]",
        "pixlens@released": "grounding-dino-tiny[text_threshold=0.3,threshold=0.3]",
    }
