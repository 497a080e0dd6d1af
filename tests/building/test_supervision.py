"""Made-up edits are surely wrong, the way back leads back, and yes and no are even."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from editgauge.analysis.ratings import Rating
from editgauge.building.supervision.authors import Rules
from editgauge.building.supervision.balance import balanced
from editgauge.building.supervision.change import Change, backwards, change_of, towards
from editgauge.building.supervision.decoys import Scene, check, decoy
from editgauge.building.supervision.export import LABELS, USUAL_LABELS
from editgauge.building.supervision.labels import ACCEPTED, Labels, labels_of, rated
from editgauge.building.supervision.lessons import KINDS, QUESTIONS, Lesson, Subject, lessons_of
from editgauge.building.supervision.likeness import are_other_attributes, may_be_the_same, tables
from editgauge.building.supervision.wording import caption_of, instruction_of, reworded
from editgauge.core.errors import CannotTell
from editgauge.core.images import Picture
from editgauge.core.types import Edit, Item, Outcome
from editgauge.judges import NoAnswer, open_prompt
from editgauge.metrics.triplets import ACTIONS
from editgauge.perception.vocabulary import wordnet_here
from editgauge.protocols.difference.asking import main_difference
from editgauge.protocols.difference.parsing import read_triplets
from editgauge.protocols.editinspector.inspecting import PROMPTS, Inspection, Options
from tests.building.eyes import COCO, Eyes, picture

NAMES = st.sampled_from(COCO)
ATTRIBUTES = st.sampled_from([word for rows in tables().values() for row in rows for word in row])
CHANGES = st.one_of(
    st.builds(Change, st.just("Add"), st.none(), NAMES, where=st.sampled_from([None, "on the table"])),
    st.builds(Change, st.just("Remove"), NAMES, st.none()),
    st.builds(Change, st.just("Replace"), NAMES, NAMES),
    st.builds(Change, st.just("Change Attribute"), ATTRIBUTES, ATTRIBUTES, NAMES),
)
BOX = (4.0, 4.0, 40.0, 40.0)
BEFORE, AFTER = 10, 200
SLOWLY = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])

needs_wordnet = pytest.mark.skipif(wordnet_here() is None, reason="WordNet is not here: similar things were NOT tested")


def scene(before: dict[str, Any], after: dict[str, Any], accurate: bool = True, mask: Any = None) -> Scene:
    eyes: Any = Eyes({BEFORE: before, AFTER: after})
    return Scene(picture(BEFORE), picture(AFTER), eyes, mask, accurate)


def chosen(change: Change, here: Scene, seed: int) -> str | CannotTell:
    try:
        return asyncio.run(decoy(change, here, Random(seed)))
    except CannotTell as unable:
        return unable


def edit(told: str, **parts: Any) -> Edit:
    where = Picture("a.png", Path("a.png"))
    return Edit(id="e", source=where, instruction=told, **{"type": "unspecified", **parts})


@given(CHANGES)
def test_the_way_back_leads_back(change: Change) -> None:
    assert backwards(backwards(change)) == change
    assert backwards(change) != change or change.before == change.after


def test_nobody_guesses_what_was_there_before() -> None:
    with pytest.raises(CannotTell, match="how the car was before"):
        backwards(Change("Change Attribute", None, "blue", "car"))


@needs_wordnet
@SLOWLY
@given(NAMES, NAMES, st.sets(NAMES, max_size=30), st.integers(0, 9))
def test_what_is_said_to_have_come_is_in_neither_picture(new: str, old: str, there: set[str], seed: int) -> None:
    change = Change("Replace", old, new)
    around = dict.fromkeys(there, BOX)
    here = scene({**around, old: BOX}, {**around, new: BOX}, accurate=False)
    found = chosen(change, here, seed)
    if isinstance(found, CannotTell):
        assert found.reason == "unknown_word"
        return
    assert found not in {*there, old, new}
    assert not may_be_the_same(found, new)
    assert not may_be_the_same(found, old)
    asyncio.run(check(found, change, here))


@SLOWLY
@given(NAMES, st.dictionaries(NAMES, st.floats(2, 60)), st.integers(0, 9))
def test_what_is_said_to_have_gone_is_still_there(gone: str, sides: dict[str, float], seed: int) -> None:
    stays = {word: (0.0, 0.0, side, side) for word, side in sides.items() if word != gone}
    here = scene({**stays, gone: (0.0, 0.0, 20.0, 20.0)}, stays)
    found = chosen(Change("Remove", gone, None), here, seed)
    if isinstance(found, CannotTell):
        assert found.reason == "not_detected"
        return
    assert found in stays
    assert not may_be_the_same(found, gone)
    assert 100 <= stays[found][2] ** 2 <= 1600


def test_a_thing_that_moved_did_not_stay() -> None:
    here = scene({"cat": BOX, "dog": BOX}, {"dog": (40.0, 40.0, 64.0, 64.0)})
    with pytest.raises(CannotTell, match="nothing of the size of 'cat'"):
        asyncio.run(decoy(Change("Remove", "cat", None), here, Random(0)))


def test_the_mask_tells_the_size_of_what_the_detector_does_not_know() -> None:
    mask = np.zeros((64, 64), bool)
    there = {"dog": BOX}
    with pytest.raises(CannotTell, match="how large 'gramophone' was is not known"):
        asyncio.run(decoy(Change("Remove", "gramophone", None), scene(there, there), Random(0)))
    mask[4:40, 4:40] = True
    change, here = Change("Remove", "gramophone", None), scene(there, there, mask=mask)
    assert asyncio.run(decoy(change, here, Random(0))) == "dog"


@given(ATTRIBUTES, ATTRIBUTES, st.integers(0, 9))
def test_another_attribute_is_of_the_same_kind_and_surely_another(before: str, after: str, seed: int) -> None:
    change = Change("Change Attribute", before, after, "car")
    found = asyncio.run(decoy(change, scene({}, {}), Random(seed)))
    assert are_other_attributes(found, after)
    assert not any({found, after} <= set(row) for rows in tables().values() for row in rows)


def test_an_attribute_is_wrong_only_where_the_right_one_is_known() -> None:
    change = Change("Change Attribute", None, "blue", "car")
    with pytest.raises(CannotTell, match="nobody says whether the car became blue"):
        asyncio.run(decoy(change, scene({}, {}, accurate=False), Random(0)))


@pytest.mark.parametrize("words", [("navy", "blue"), ("wooden", "wood"), ("blue", "striped"), ("shiny", "red")])
def test_attributes_that_may_go_together_are_never_called_others(words: tuple[str, str]) -> None:
    assert not are_other_attributes(*words)


@given(CHANGES.filter(lambda change: change.action != "Change Attribute" and change.before != change.after))
def test_a_caption_tells_its_change(change: Change) -> None:
    (found,) = read_triplets(caption_of(change))
    assert found.action == change.action
    for name, told in ((change.before, found.source), (change.after, found.target)):
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
    assert reworded(told, old, new) == expected


@pytest.mark.parametrize(
    ("asked", "change"),
    [
        (edit("Remove the cat"), Change("Remove", "cat", None)),
        (edit("replace the apple with a pear"), Change("Replace", "apple", "pear")),
        (edit("let the dog wear a hat"), Change("Add", None, "hat", where="on the dog")),
        (edit("make the red car blue"), Change("Change Attribute", "red", "blue", "car")),
        (edit("", type="size", subject="dog", to="large"), Change("Change Attribute", "small", "large", "dog")),
        (edit("", type="style", subject="dog", to="a sketch"), Change("Change Attribute", None, "sketch", "image")),
    ],
)
def test_edits_are_read(asked: Edit, change: Change) -> None:
    assert change_of(asked) == change


def test_what_cannot_be_read_is_said() -> None:
    for asked, why in (
        (edit("do something nice"), "no form that the rules know"),
        (edit("Remove the cat", extras={"action": "Add"}), "the benchmark has Add"),
        (edit("", type="viewpoint", subject="cat", to="side"), "no negative that rules could tell"),
    ):
        with pytest.raises(CannotTell, match=why):
            change_of(asked)


LESSONS = st.lists(
    st.tuples(st.sampled_from(ACTIONS), st.sampled_from(KINDS), st.sampled_from(QUESTIONS), st.booleans()),
    max_size=60,
).map(
    lambda rows: [
        Lesson(f"e{n}", "m", 0, kind, action, name, "", "text" if name == QUESTIONS[-1] else yes, Path(), Path())
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


def subject(labels: Labels, **extras: Any) -> Subject:
    asked = edit("remove the cat", extras=extras)
    there = {"dog": BOX}
    eyes = scene({"cat": BOX, **there}, there, accurate=bool(labels.accurate))
    return Subject(asked, "m", 0, Path("before.png"), Path("after.png"), labels, eyes)


def learned(labels: Labels, **extras: Any) -> dict[tuple[str, str], bool | str]:
    lessons, _ = asyncio.run(lessons_of(subject(labels, **extras), Rules(), open_prompt, 0))
    return {(each.kind, each.question): each.answer for each in lessons}


@needs_wordnet
def test_a_right_outcome_gives_four_instances_as_in_figure_7() -> None:
    lessons, lacking = asyncio.run(lessons_of(subject(ACCEPTED), Rules(), open_prompt, 0))
    asked = {each.kind: each.asked.splitlines()[0] for each in lessons if each.question == "edit"}
    assert list(asked) == ["edit", "negative", "reversed", "reversed_negative"]
    assert asked["negative"].endswith(": remove the dog")
    assert asked["reversed"].endswith(": Add a cat.")
    assert {each.kind: each.answer for each in lessons if each.question == "edit"} == {
        "edit": True,
        "negative": False,
        "reversed": True,
        "reversed_negative": False,
    }
    shown = {each.kind: (each.before.stem, each.after.stem) for each in lessons}
    assert shown["edit"] == shown["negative"] == ("before", "after")
    assert shown["reversed"] == shown["reversed_negative"] == ("after", "before")
    assert {each.what for each in lacking} == {"edit: consistent", "edit: precise", "edit: artifacts"}


def test_no_answer_is_made_up() -> None:
    unknown = learned(Labels())
    assert {kind for kind, _ in unknown} <= {"negative", "reversed_negative"}
    assert set(unknown.values()) == {False}
    failed = learned(Labels(accurate=False, artifacts=True))
    assert failed["edit", "edit"] is False
    assert failed["edit", "artifacts"] is True
    assert ("reversed", "edit") not in failed
    assert ("edit", "main_difference") not in failed


def test_people_decide_about_the_caption_they_saw() -> None:
    people = learned(Labels(accurate=True, caption_right=False), difference_caption="The dog vanished.")
    assert people["edit", "caption_right"] is False
    assert people["edit", "main_difference"] == "The cat was removed."


def test_what_people_said_counts_where_the_request_cannot_be_read() -> None:
    labels = Labels(accurate=True, consistent=False, precise=None, artifacts=True, caption_right=True)
    extras = {"action": "Remove", "difference_caption": "The cat is gone."}
    known = subject(labels)
    unread = Subject(edit("no cat, no cry", extras=extras), "m", 0, known.before, known.after, labels, known.scene)
    lessons, lacking = asyncio.run(lessons_of(unread, Rules(), open_prompt, 0))
    assert {each.question: each.answer for each in lessons} == {
        "edit": True,
        "consistent": False,
        "artifacts": True,
        "caption_right": True,
    }
    assert {(each.kind, each.action) for each in lessons} == {("edit", "Remove")}
    assert {each.what for each in lacking} == {"negative", "reversed", "reversed_negative", "edit: precise"}


def test_people_count_by_majority() -> None:
    assert labels_of({"accuracy": 1, "artifacts": 0, "consistent": None}) == Labels(accurate=False, artifacts=True)
    ratings = [
        *(Rating("e", "m", value, rater, "accuracy") for rater, value in (("a", 3), ("b", 3), ("c", 0))),
        *(Rating("e", "m", value, rater, "artifacts") for rater, value in (("a", 0), ("b", 1), ("c", 2))),
    ]
    assert rated(ratings) == {("e", "m", None): Labels(accurate=True)}


class Listening:
    """A sight that keeps what it is asked."""

    prompt = staticmethod(open_prompt)

    def __init__(self) -> None:
        self.asked: list[Any] = []

    async def ask(self, question: Any, role: str = "") -> Any:
        self.asked.append(question)
        raise NoAnswer("refused", "only listening")


def test_a_judge_is_taught_what_the_protocol_asks() -> None:
    lessons, _ = asyncio.run(lessons_of(subject(ACCEPTED), Rules(), open_prompt, 0))
    taught = {each.question: each.asked for each in lessons if each.kind == "edit"}
    asked = edit("remove the cat", extras={"difference_caption": "The cat was removed."})
    where = Outcome(edit_id="e", method="m", image=Path("after.png"))
    item = Item(edit=asked, outcome=where, source=picture(BEFORE), edited=picture(AFTER))
    sight: Any = Listening()
    inspection = Inspection(item, sight, "judge", Options())
    for name in ("edit", "caption_right"):
        asyncio.run(inspection.verdict(name))
    assert [each.words.text for each in sight.asked] == [taught["edit"], taught["caption_right"]]
    assert {tuple(shown.label for shown in each.images) for each in sight.asked} == {USUAL_LABELS}
    main = main_difference(item, sight)
    assert (main.words.text, tuple(shown.label for shown in main.images)) == (
        taught["main_difference"],
        LABELS["main_difference"],
    )
    assert set(PROMPTS) <= set(QUESTIONS)


def test_another_goal_is_all_that_changes() -> None:
    assert towards(Change("Remove", "cat", None), "dog") == Change("Remove", "dog", None)
    assert towards(Change("Add", None, "cup", where="on the table"), "jug").where == "on the table"
    assert instruction_of(Change("Change Attribute", None, "stripes", "shirt")) == (
        "Give the shirt a texture of stripes."
    )
