from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from editgauge._util.phrases import read_placing, read_position, read_size, without_article
from editgauge.errors import UnscorableError
from editgauge.types import Position


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("left", Position("left")),
        ("to the left", Position("left")),
        ("To the left of the bench", Position("left", "bench")),
        ("on the right side of a stop sign", Position("right", "stop sign")),
        ("on top", Position("on")),
        ("on top of the pizza", Position("on", "pizza")),
        ("on the table", Position("on", "table")),
        ("above", Position("above")),
        ("over the door", Position("above", "door")),
        ("below the bench", Position("below", "bench")),
        ("underneath his hat", Position("below", "hat")),
        ("center", Position("center")),
        ("in the middle of the picture", Position("center")),
        ("to the left of the image", Position("left")),
        ("on the left of the left chair", Position("left", "left chair")),
    ],
)
def test_places(text: str, expected: Position) -> None:
    assert read_position(text) == expected


@pytest.mark.parametrize(
    ("text", "thing", "place"),
    [
        ("wine glass to left", "wine glass", Position("left")),
        ("baseball glove on top", "baseball glove", Position("on")),
        ("the left shoe below the chair", "left shoe", Position("below", "chair")),
        ("an apple on the plate", "apple", Position("on", "plate")),
    ],
)
def test_things_with_places(text: str, thing: str, place: Position) -> None:
    assert read_placing(text) == (thing, place)


@pytest.mark.parametrize("text", ["in front of the car", "behind", "next to the dog", "near a tree", "inside the box"])
def test_depth_cannot_be_told_in_a_picture(text: str) -> None:
    with pytest.raises(UnscorableError, match="nothing about left, right, above or below") as told:
        read_position(text)
    assert told.value.reason == "unknown_word"
    with pytest.raises(UnscorableError, match="nothing about left, right, above or below"):
        read_placing(f"a cup {text}")


@pytest.mark.parametrize("text", ["", "purple", "the bench", "northwards"])
def test_what_is_no_place_is_said_to_be_none(text: str) -> None:
    with pytest.raises(UnscorableError, match="names no place"):
        read_position(text)


@pytest.mark.parametrize(("text", "size"), [("small", "small"), ("much larger", "large"), ("BIG", "large")])
def test_sizes(text: str, size: str) -> None:
    assert read_size(text) == size


@pytest.mark.parametrize("text", ["red", "", "neither bigger nor smaller"])
def test_what_is_no_size_cannot_be_told(text: str) -> None:
    with pytest.raises(UnscorableError, match="neither small nor large"):
        read_size(text)


things = st.sampled_from(["cup", "wine glass", "stop sign", "old red car"])
places = st.sampled_from(
    [("left", "to left"), ("right", "to the right of the bench"), ("on", "on top"), ("below", "below")]
)


@given(things, places, st.sampled_from(["", "a ", "the "]))
def test_every_thing_with_every_place_is_read_back(thing: str, place: tuple[str, str], article: str) -> None:
    relation, words = place
    read, position = read_placing(f"{article}{thing} {words}")

    assert read == thing == without_article(f"{article}{thing}")
    assert position.relation == relation
