"""Made-up edits are surely wrong, the way back leads back, and yes and no are even."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from editgauge.builders._training_changes import (
    ChangeScene,
    DescribedChange,
    caption_of,
    change_of,
    check,
    decoy,
    exclude_each_other,
    instruction_of,
    may_name_same_object,
    replace_name,
    reverse_change,
    tables,
    with_goal,
)
from editgauge.builders._training_lessons import KINDS, MAIN_DIFFERENCE, Lesson
from editgauge.builders.training import balanced
from editgauge.errors import UnscorableError
from editgauge.protocols.difference._triplets import ACTIONS, read_triplets
from editgauge.protocols.editinspector import PROMPTS
from editgauge.types import Edit
from tests.builders.eyes import BOX, COCO, edit, needs_wordnet, scene

NAMES = st.sampled_from(COCO)
ATTRIBUTES = st.sampled_from([word for rows in tables().values() for row in rows for word in row])
CHANGES = st.one_of(
    st.builds(DescribedChange, st.just("Add"), st.none(), NAMES, where=st.sampled_from([None, "on the table"])),
    st.builds(DescribedChange, st.just("Remove"), NAMES, st.none()),
    st.builds(DescribedChange, st.just("Replace"), NAMES, NAMES),
    st.builds(DescribedChange, st.just("Change Attribute"), ATTRIBUTES, ATTRIBUTES, NAMES),
)


def chosen(change: DescribedChange, here: ChangeScene, seed: int) -> str | UnscorableError:
    try:
        return asyncio.run(decoy(change, here, Random(seed)))
    except UnscorableError as unable:
        return unable


@given(CHANGES)
def test_the_way_back_leads_back(change: DescribedChange) -> None:
    assert reverse_change(reverse_change(change)) == change
    assert reverse_change(change) != change or change.before == change.after


def test_nobody_guesses_what_was_there_before() -> None:
    with pytest.raises(UnscorableError, match="how the car was before"):
        reverse_change(DescribedChange("Change Attribute", None, "blue", "car"))


@needs_wordnet
@given(NAMES, NAMES, st.sets(NAMES, max_size=30), st.integers(0, 9))
def test_what_is_said_to_have_come_is_in_neither_picture(new: str, old: str, there: set[str], seed: int) -> None:
    change = DescribedChange("Replace", old, new)
    around = dict.fromkeys(there, BOX)
    here = scene({**around, old: BOX}, {**around, new: BOX}, accurate=False)
    result = chosen(change, here, seed)
    if isinstance(result, UnscorableError):
        assert result.reason == "unknown_word"
        return
    assert result not in {*there, old, new}
    assert not may_name_same_object(result, new)
    assert not may_name_same_object(result, old)
    asyncio.run(check(result, change, here))


@given(NAMES, st.dictionaries(NAMES, st.floats(2, 60)), st.integers(0, 9))
def test_what_is_said_to_have_gone_is_still_there(gone: str, sides: dict[str, float], seed: int) -> None:
    stays = {word: (0.0, 0.0, side, side) for word, side in sides.items() if word != gone}
    here = scene({**stays, gone: (0.0, 0.0, 20.0, 20.0)}, stays)
    result = chosen(DescribedChange("Remove", gone, None), here, seed)
    if isinstance(result, UnscorableError):
        assert result.reason == "not_detected"
        return
    assert result in stays
    assert not may_name_same_object(result, gone)
    assert 100 <= stays[result][2] ** 2 <= 1600


def test_a_thing_that_moved_did_not_stay() -> None:
    here = scene({"cat": BOX, "dog": BOX}, {"dog": (40.0, 40.0, 64.0, 64.0)})
    with pytest.raises(UnscorableError, match="nothing of the size of 'cat'"):
        asyncio.run(decoy(DescribedChange("Remove", "cat", None), here, Random(0)))


def test_the_mask_tells_the_size_of_what_the_detector_does_not_know() -> None:
    mask = np.zeros((64, 64), bool)
    there = {"dog": BOX}
    with pytest.raises(UnscorableError, match="how large 'gramophone' was is not known"):
        asyncio.run(decoy(DescribedChange("Remove", "gramophone", None), scene(there, there), Random(0)))
    mask[4:40, 4:40] = True
    change, here = DescribedChange("Remove", "gramophone", None), scene(there, there, mask=mask)
    assert asyncio.run(decoy(change, here, Random(0))) == "dog"


@given(ATTRIBUTES, ATTRIBUTES, st.integers(0, 9))
def test_another_attribute_is_of_the_same_kind_and_surely_another(before: str, after: str, seed: int) -> None:
    change = DescribedChange("Change Attribute", before, after, "car")
    result = asyncio.run(decoy(change, scene({}, {}), Random(seed)))
    assert exclude_each_other(result, after)
    assert not any({result, after} <= set(row) for rows in tables().values() for row in rows)


def test_an_attribute_is_wrong_only_where_the_right_one_is_known() -> None:
    change = DescribedChange("Change Attribute", None, "blue", "car")
    with pytest.raises(UnscorableError, match="it is unknown whether the car became blue"):
        asyncio.run(decoy(change, scene({}, {}, accurate=False), Random(0)))


@pytest.mark.parametrize("words", [("navy", "blue"), ("wooden", "wood"), ("blue", "striped"), ("shiny", "red")])
def test_attributes_that_may_go_together_are_never_called_others(words: tuple[str, str]) -> None:
    assert not exclude_each_other(*words)


@given(CHANGES.filter(lambda change: change.action != "Change Attribute" and change.before != change.after))
def test_a_caption_tells_its_change(change: DescribedChange) -> None:
    (result,) = read_triplets(caption_of(change))
    assert result.action == change.action
    for name, told in ((change.before, result.source), (change.after, result.target)):
        assert (told or "").endswith(name.split()[-1].lower() if name else "")


@pytest.mark.parametrize(
    ("told", "old", "new", "expected"),
    [
        ("Add an apple", "apple", "pear", "Add a pear"),
        ("An orange, please", "orange", "kiwi", "A kiwi, please"),
        ("swap it for a cup of tea", "cup", "bowl", None),
        ("put the cat on the cat tree", "cat", "dog", None),
        ("give it a metal look", "metal", "stripes", None),
    ],
)
def test_another_name_takes_the_place_of_one(told: str, old: str, new: str, expected: str | None) -> None:
    assert replace_name(told, old, new) == expected


@pytest.mark.parametrize(
    ("asked", "change"),
    [
        (edit("Remove the cat"), DescribedChange("Remove", "cat", None)),
        (edit("replace the apple with a pear"), DescribedChange("Replace", "apple", "pear")),
        (edit("let the dog wear a hat"), DescribedChange("Add", None, "hat", where="on the dog")),
        (edit("make the red car blue"), DescribedChange("Change Attribute", "red", "blue", "car")),
        (
            edit("", type="size", subject="dog", to="large"),
            DescribedChange("Change Attribute", "small", "large", "dog"),
        ),
        (
            edit("", type="style", subject="dog", to="a sketch"),
            DescribedChange("Change Attribute", None, "sketch", "image"),
        ),
    ],
)
def test_edits_are_read(asked: Edit, change: DescribedChange) -> None:
    assert change_of(asked) == change


def test_what_cannot_be_read_is_said() -> None:
    for asked, why in (
        (edit("do something nice"), "'do something nice' was not understood"),
        (edit("Remove the cat", extras={"action": "Add"}), "the benchmark has Add"),
        (edit("", type="viewpoint", subject="cat", to="side"), "no negative that rules could tell"),
    ):
        with pytest.raises(UnscorableError, match=why):
            change_of(asked)


LESSONS = st.lists(
    st.tuples(
        st.sampled_from(ACTIONS), st.sampled_from(KINDS), st.sampled_from((*PROMPTS, MAIN_DIFFERENCE)), st.booleans()
    ),
    max_size=60,
).map(
    lambda rows: [
        Lesson(f"e{n}", "m", 0, kind, action, name, "", "text" if name == MAIN_DIFFERENCE else yes, Path(), Path())
        for n, (action, kind, name, yes) in enumerate(rows)
    ]
)


@given(LESSONS, st.integers(0, 99))
def test_yes_and_no_are_even_and_as_many_as_can_be(lessons: list[Lesson], seed: int) -> None:
    kept, dropped = balanced(lessons, seed)
    assert sorted([*kept, *dropped], key=lambda each: each.id) == sorted(lessons, key=lambda each: each.id)
    assert kept == [each for each in lessons if each in kept]
    assert balanced(lessons, seed) == (kept, dropped)
    had = Counter((each.question, each.action, each.answer) for each in lessons)
    have = Counter((each.question, each.action, each.answer) for each in kept)
    for question, action, answer in had:
        if isinstance(answer, bool):
            fewer = min(had[question, action, True], had[question, action, False])
            assert have[question, action, True] == have[question, action, False] == fewer
        else:
            assert have[question, action, answer] == had[question, action, answer]


def test_another_goal_is_all_that_changes() -> None:
    assert with_goal(DescribedChange("Remove", "cat", None), "dog") == DescribedChange("Remove", "dog", None)
    assert with_goal(DescribedChange("Add", None, "cup", where="on the table"), "jug").where == "on the table"
    assert instruction_of(DescribedChange("Change Attribute", None, "stripes", "shirt")) == (
        "Give the shirt a texture of stripes."
    )
