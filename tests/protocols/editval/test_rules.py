"""EditVal's rules by hand-worked boxes, both rule sets, each with a case where the two readings differ."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from editgauge.edit_types import EDIT_TYPES
from editgauge.errors import BadInputError
from editgauge.evidence import Box, Note
from editgauge.protocols import open_protocol
from editgauge.protocols.editval import _rules
from editgauge.types import Position, Score, Unscored

Make = Callable[..., tuple[Any, Any]]
PAPER, RELEASED = "editval", "editval@released"
ADD = {"type": "object_addition", "subject": "bench", "to": "dog"}
REPLACE = {"type": "object_replacement", "subject": "horse", "from_": "horse", "to": "zebra"}
SMALL_LEFT, SMALL_RIGHT, BIG = (20, 200, 120, 300), (500, 200, 600, 300), (100, 100, 500, 400)


def verdict(protocol: str, staging: tuple[Any, Any]) -> Score | Unscored:
    item, perception = staging
    return asyncio.run(open_protocol(protocol).score(item, perception))["edit"]


def value(protocol: str, staging: tuple[Any, Any]) -> float | str:
    given = verdict(protocol, staging)
    return given.value if isinstance(given, Score) else given.reason


@pytest.mark.parametrize(
    ("edited", "by_both", "by_algorithm_1"),
    [
        ({"dog": [BIG], "bench": [SMALL_LEFT]}, 1.0, 1.0),
        ({"dog": [BIG]}, 0.0, 1.0),
        ({"bench": [SMALL_LEFT]}, 0.0, 0.0),
        ({"dog": [(*BIG, 0.09)], "bench": [SMALL_LEFT]}, 0.0, 0.0),
    ],
)
def test_object_addition(staged: Make, edited: Any, by_both: float, by_algorithm_1: float) -> None:
    assert value(PAPER, staged(ADD, {}, edited)) == by_both
    assert value(RELEASED, staged(ADD, {}, edited)) == by_both
    assert value("editval[algorithm1]", staged(ADD, {}, edited)) == by_algorithm_1


@pytest.mark.parametrize("protocol", [PAPER, RELEASED])
def test_object_replacement_wants_the_new_and_not_the_old(staged: Make, protocol: str) -> None:
    assert value(protocol, staged(REPLACE, {"horse": [BIG]}, {"zebra": [BIG]})) == 1
    assert value(protocol, staged(REPLACE, {"horse": [BIG]}, {"zebra": [BIG], "horse": [SMALL_LEFT]})) == 0
    assert value(protocol, staged(REPLACE, {"horse": [BIG]}, {"horse": [BIG]})) == 0


def test_a_verdict_is_explained_in_one_sentence_with_its_boxes(staged: Make) -> None:
    given = verdict(PAPER, staged(REPLACE, {"horse": [BIG]}, {"zebra": [(*BIG, 0.96)]}))

    assert isinstance(given, Score)
    assert [piece.label for piece in given.evidence if isinstance(piece, Box)] == ["zebra"]
    assert [piece.text for piece in given.evidence if isinstance(piece, Note)] == [
        "Zebra .96 found, no horse seen: replaced."
    ]


def placing(relation: str, raw: str, thing: str = "cup") -> dict[str, Any]:
    position = Position(relation, "bench")  # type: ignore[arg-type]
    return {
        "type": "positional_addition", "subject": "bench", "to": thing, "position": position, "extras": {"to": raw}
    }  # fmt: skip


@pytest.mark.parametrize(
    ("relation", "raw", "cup", "paper", "released"),
    [
        ("left", "cup to left", SMALL_LEFT, 1.0, 1.0),
        ("right", "cup to right", SMALL_LEFT, 0.0, 0.0),
        ("below", "cup below", (300, 420, 340, 460), 1.0, 0.0),  # the script has above and below swapped
        ("on", "cup on top", (300, 10, 340, 50), 1.0, 0.0),
        ("on", "cup on top", (300, 420, 340, 460), 0.0, 1.0),
    ],
)
def test_positional_addition(
    staged: Make, relation: str, raw: str, cup: Any, paper: float, released: float
) -> None:  # fmt: skip
    staging = placing(relation, raw), {"bench": [BIG]}, {"cup": [cup], "bench": [BIG]}

    assert value(PAPER, staged(*staging)) == paper
    assert value(RELEASED, staged(*staging)) == released


def test_the_released_script_looks_for_the_first_word_alone(staged: Make) -> None:
    edit = placing("left", "wine glass to left", "wine glass")
    staging = edit, {"bench": [BIG]}, {"wine glass": [SMALL_LEFT], "bench": [BIG]}

    assert value(PAPER, staged(*staging)) == 1
    assert value(RELEASED, staged(*staging)) == 0


def test_the_paper_compares_with_where_the_class_was_the_script_with_where_it_is(staged: Make) -> None:
    staging = placing("left", "cup to left"), {"bench": [BIG]}, {"cup": [SMALL_LEFT]}

    assert value(PAPER, staged(*staging)) == 1
    assert value(RELEASED, staged(*staging)) == 0


def moving(to: str) -> dict[str, Any]:
    return {"type": "position_replacement", "subject": "dog", "to": to, "position": Position(to), "extras": {"to": to}}  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("to", "end", "by_delta"),
    [
        ("left", 40, {25: 1.0, 200: 1.0, 250: 1.0}),
        ("left", 90, {25: 1.0, 200: 1.0, 250: 0.0}),
        ("left", 250, {25: 1.0, 200: 0.0, 250: 0.0}),
        ("right", 40, {25: 0.0, 200: 0.0, 250: 0.0}),
        ("left", 310, {25: 0.0, 200: 0.0, 250: 0.0}),
    ],
)
def test_position_replacement_by_delta(staged: Make, to: str, end: float, by_delta: dict[int, float]) -> None:
    staging = moving(to), {"dog": [(270, 200, 370, 300)]}, {"dog": [(end - 50, 200, end + 50, 300)]}

    for delta, expected in by_delta.items():
        assert value(f"editval[delta={delta}]", staged(*staging)) == expected
    assert value(PAPER, staged(*staging)) == by_delta[250]
    assert value(RELEASED, staged(*staging)) == by_delta[200]


def test_the_script_compares_pixels_of_differently_sized_images(staged: Make) -> None:
    staging = moving("right"), {"dog": [(100, 200, 200, 300)]}, {"dog": [(160, 200, 260, 300)]}

    assert value(RELEASED, staged(*staging)) == 0
    assert value(RELEASED, staged(*staging, resized_from=(1280, 960))) == 1  # 160 is 320 there
    assert value(PAPER, staged(*staging, resized_from=(1280, 960))) == 0


def test_to_the_center_can_succeed_only_by_the_paper(staged: Make) -> None:
    staging = moving("center"), {"dog": [SMALL_LEFT]}, {"dog": [(290, 200, 390, 300)]}

    assert value("editval[delta=200]", staged(*staging)) == 1
    assert value(RELEASED, staged(*staging)) == 0


def sized(to: str) -> dict[str, Any]:
    return {"type": "size", "subject": "dog", "to": to, "extras": {"to": to}}


def test_size_by_true_areas_and_by_the_scripts(staged: Make) -> None:
    shrunk_in_place = {"dog": [(250, 200, 350, 300)]}
    shrunk_to_the_corner = {"dog": [(530, 370, 630, 470)]}
    before = {"dog": [(200, 150, 400, 350)]}

    assert value(PAPER, staged(sized("small"), before, shrunk_in_place)) == 1
    assert value(PAPER, staged(sized("large"), before, shrunk_in_place)) == 0
    assert value(PAPER, staged(sized("small"), before, shrunk_to_the_corner)) == 1
    assert value(RELEASED, staged(sized("small"), before, shrunk_to_the_corner)) == 0  # 630 * 470 > 400 * 350


def test_an_unseen_source_object_is_unscored_by_the_paper_and_0_by_the_script(staged: Make) -> None:
    for edit in (moving("left"), sized("small")):
        assert value(PAPER, staged(edit, {}, {"dog": [BIG]})) == "not_detected"
        assert value(RELEASED, staged(edit, {}, {"dog": [BIG]})) == 0


def test_alter_parts_wants_the_part_on_the_object(staged: Make) -> None:
    edit = {"type": "alter_parts", "subject": "dog", "to": "tie", "extras": {"to": "tie"}}
    on, beside = (250, 200, 300, 260), (510, 10, 600, 90)

    assert value(PAPER, staged(edit, {}, {"dog": [BIG], "tie": [on]})) == 1
    assert value(PAPER, staged(edit, {}, {"dog": [BIG], "tie": [beside]})) == 0
    assert value(PAPER, staged(edit, {}, {"dog": [(*BIG, 0.02)], "tie": [on]})) == 1  # any confidence of the class
    assert value(RELEASED, staged(edit, {}, {"dog": [(*BIG, 0.02)], "tie": [on]})) == 0
    lower_right = (400, 350, 480, 390)  # on the dog, but beyond half of its far corner from its near one
    assert value(PAPER, staged(edit, {}, {"dog": [BIG], "tie": [lower_right]})) == 1
    assert value(RELEASED, staged(edit, {}, {"dog": [BIG], "tie": [lower_right]})) == 0


def test_of_several_boxes_the_surest_counts_by_the_paper_and_the_last_by_the_script(staged: Make) -> None:
    several = {"dog": [(20, 20, 120, 120, 0.9), (500, 380, 600, 470, 0.2)]}
    staging = moving("left"), {"dog": [(470, 200, 570, 300)]}, several

    assert value(PAPER, staged(*staging)) == 1
    assert value(RELEASED, staged(*staging)) == 0


@pytest.mark.parametrize("protocol", [PAPER, RELEASED])
@pytest.mark.parametrize("kind", sorted(set(EDIT_TYPES) - set(_rules.RULES)))
def test_types_without_a_rule_are_unscored_and_say_so(staged: Make, protocol: str, kind: str) -> None:
    given = verdict(protocol, staged({"type": kind, "subject": "dog", "to": "red"}))

    assert given == Unscored("no_rule", "this protocol has no rule for this edit type; a --judge or a study can answer")


def test_an_unknown_word_of_a_closed_vocabulary_is_unscored(staged: Make) -> None:
    staging = staged({**ADD, "to": "unicorn"}, {}, {"bench": [BIG]}, words=("bench", "dog"))

    assert value(PAPER, staging) == "unknown_word"


@pytest.mark.parametrize("name", ["editval[delta=far]", "editval[speed=3]", "editval@released[delta=25]"])
def test_wrong_options_are_refused(name: str) -> None:
    with pytest.raises(BadInputError, match="editval"):
        open_protocol(name)


boxes = st.tuples(st.integers(0, 500), st.integers(0, 400), st.integers(5, 139), st.integers(5, 79)).map(
    lambda sides: (sides[0], sides[1], sides[0] + sides[2], sides[1] + sides[3])
)
sure_boxes = st.tuples(boxes, st.floats(0.11, 0.99)).map(lambda pair: (*pair[0], pair[1]))
slow = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])


def mirrored(box: Any) -> Any:
    return (640 - box[2], box[1], 640 - box[0], box[3], *box[4:])


@slow
@given(boxes, boxes, st.sampled_from(["left", "right"]), st.sampled_from(["moving", "placing"]))
def test_mirror_the_pictures_and_left_becomes_right(staged: Make, one: Any, other: Any, side: str, kind: str) -> None:
    opposite = "right" if side == "left" else "left"
    edits = [moving(way) if kind == "moving" else placing(way, "") for way in (side, opposite)]
    names = ("dog", "dog") if kind == "moving" else ("bench", "cup")

    first = staged(edits[0], {names[0]: [one]}, {names[1]: [other]})
    second = staged(edits[1], {names[0]: [mirrored(one)]}, {names[1]: [mirrored(other)]})
    assert value("editval[delta=25]", first) == value("editval[delta=25]", second)


@slow
@given(boxes, boxes, st.integers(2, 4), st.sampled_from(["left", "center", "small", "large"]))
def test_scale_both_pictures_and_nothing_changes(staged: Make, one: Any, other: Any, scale: int, wish: str) -> None:
    edit = sized(wish) if wish in {"small", "large"} else moving(wish)
    protocol = "editval[delta=0.3]"

    small = staged(edit, {"dog": [one]}, {"dog": [other]})
    large = staged(
        edit,
        {"dog": [[side * scale for side in one]]},
        {"dog": [[side * scale for side in other]]},
        size=(640 * scale, 480 * scale),
    )
    assert value(protocol, small) == value(protocol, large)


@slow
@given(st.lists(sure_boxes, min_size=1, max_size=5, unique_by=lambda box: box[4]), st.randoms(use_true_random=False))
def test_the_order_of_detections_never_matters(staged: Make, seen: list[Any], random: Any) -> None:
    shuffled = random.sample(seen, len(seen))
    for protocol in (PAPER, RELEASED):
        for edit in (ADD, sized("large"), moving("right")):
            told = [{"dog": order, "bench": [BIG]} for order in (seen, shuffled)]
            assert value(protocol, staged(edit, told[0], told[0])) == value(protocol, staged(edit, told[1], told[1]))


@slow
@given(boxes, st.sampled_from(sorted(_rules.RULES)))
def test_the_source_itself_is_no_edit(staged: Make, box: Any, kind: str) -> None:
    """Doing nothing never passes where the object to add or the change to make was not there."""
    edits = {
        "object_addition": ADD | {"subject": "dog", "to": "cup"},
        "object_replacement": REPLACE | {"subject": "dog", "from_": "dog"},
        "positional_addition": placing("left", "cup to left") | {"subject": "dog"},
        "position_replacement": moving("left"),
        "size": sized("large"),
        "alter_parts": {"type": "alter_parts", "subject": "dog", "to": "tie", "extras": {"to": "add tie"}},
    }
    untouched = {"dog": [box], "bench": [BIG]}
    for protocol in (PAPER, RELEASED):
        assert value(protocol, staged(edits[kind], untouched, untouched)) == 0


def test_an_addition_without_a_class_asks_for_the_new_object_alone(staged: Make) -> None:
    edit = {"type": "object_addition", "to": "dog"}

    assert value(PAPER, staged(edit, {}, {"dog": [BIG]})) == 1
    assert value(PAPER, staged(edit, {}, {})) == 0


@pytest.mark.parametrize("protocol", ["editval", "pixlens"])
@pytest.mark.parametrize("kind", sorted(_rules.RULES))
def test_an_edit_that_lacks_its_parts_is_unscored_and_leaves_no_question_unasked(
    staged: Make, protocol: str, kind: str
) -> None:  # fmt: skip
    """A question that is made and never awaited is a warning, and warnings are errors here."""
    assert value(protocol, staged({"type": kind, "subject": "dog"})) in {"not_applicable", "not_detected", "no_rule"}


def test_in_the_released_reading_object_and_class_compete_for_a_box(staged: Make) -> None:
    one_box = (100, 100, 200, 200)
    edited = {"cup": [(*one_box, 0.6)], "dog": [(*one_box, 0.4)]}
    add = {"type": "object_addition", "subject": "dog", "to": "cup"}
    replace = {"type": "object_replacement", "subject": "dog", "to": "cup"}

    assert value(PAPER, staged(add, {}, edited)) == 1
    assert value(RELEASED, staged(add, {}, edited)) == 0
    assert value(RELEASED, staged(replace, {}, edited)) == 1


def test_other_types_are_asked_in_one_phrase_where_appendix_k_is_wanted(staged: Make) -> None:
    edit = {"type": "color", "subject": "bench", "to": "red"}
    seen = {"red bench": [(10, 10, 50, 50)]}

    assert value(PAPER, staged(edit, {}, seen)) == "no_rule"
    assert value("editval[other_types]", staged(edit, {}, seen)) == 1
    assert value("editval[other_types]", staged(edit, {}, {"bench": [(10, 10, 50, 50)]})) == 0
    assert value("editval[other_types]", staged(ADD, {}, {})) == value(PAPER, staged(ADD, {}, {}))
