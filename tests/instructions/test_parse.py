"""Instructions as people write them, and texts that are none."""

from __future__ import annotations

import csv
import json
import random
import string
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from editgauge.edit_types import EDIT_TYPES
from editgauge.errors import BadInputError
from editgauge.instructions import parse_instruction
from editgauge.types import Position
from tests.instructions.accuracy import SETS, counts


@pytest.mark.parametrize(
    ("name", "types", "all_fields"),
    [
        ("forms.jsonl", 0.95, 0.92),
        ("blind.tsv", 0.97, 0.95),
        ("editinspector.tsv", 0.97, 0.95),
        ("styles.tsv", 0.94, 0.94),
        ("magicbrush.tsv", 0.97, 0.95),
        ("mixed.tsv", 0.96, 0.93),
        ("pairs.tsv", 0.95, 0.82),
    ],
)
def test_labeled_instructions_are_read_as_people_read_them(name: str, types: float, all_fields: float) -> None:
    row = counts(name)["all"]
    assert row["types"] / row["all"] >= types
    assert row["fields"] / row["all"] >= all_fields
    assert row["sure_types"] / row["sure"] >= 0.95


FAMILIES = {
    "Add": {"object_addition", "positional_addition", "alter_parts"},
    "Remove": {"object_removal", "single_instance_removal"},
    "Replace": {"object_replacement", "background", "color", "texture"},
}


def test_on_real_instructions_the_types_agree_with_people(shared: Path) -> None:
    """EditInspector labeled 783 edits of MagicBrush by what was done.

    A replacement is often worded as an addition ("put a cake on the plate"), and a change of an attribute as anything.
    """
    with (shared / "editinspector" / "editinspector_benchmark.csv").open(encoding="utf-8", newline="") as file:
        rows = [(row["action"], parse_instruction(row["instruction"]).steps[0]) for row in csv.DictReader(file)]
    assert len(rows) == 783
    assert sum(step.type == "unspecified" for _, step in rows) < 30
    agreed = Counter(action for action, step in rows if action in FAMILIES and step.type in FAMILIES[action])
    of = Counter(action for action, _ in rows)
    shares = {action: agreed[action] / of[action] for action in FAMILIES}
    assert shares["Add"] > 0.95, shares
    assert shares["Remove"] > 0.9, shares
    assert shares["Replace"] > 0.6, shares


def test_captions_of_real_edits_are_sure_only_where_they_agree_with_the_instruction(shared: Path) -> None:
    """The Museum's captions were rewritten for each turn: some differ in more than the edit, and are then unsure."""
    lookup = shared / "museum" / "ImagenHub_Text-Guided_IE" / "dataset_lookup.json"
    sure = []
    for edit in json.loads(lookup.read_text("utf-8")).values():
        source, target = edit["source_global_caption"], edit["target_global_caption"]
        steps = parse_instruction(target, source, form="caption").steps
        if all(step.sure for step in steps):
            asked_for = parse_instruction(edit["instruction"], source).steps
            sure.append([step.type for step in steps] == [step.type for step in asked_for])
    assert len(sure) >= 40
    assert sum(sure) / len(sure) >= 0.9


@pytest.mark.parametrize(
    ("before", "after", "kind", "subject", "to"),
    [
        ("a photo of a lion", "a drawing of a lion", "style", "lion", "drawing"),
        ("a lighthouse at noon", "a lighthouse at sunset", "style", "lighthouse", "sunset"),
        ("a car on a road through the desert", "an empty road through the desert", "object_removal", "car", None),
        ("a stone statue in a square", "a golden statue in a square", "texture", "statue", "golden"),
        ("bananas and berries", "bananas, berries, and a lizard", "object_addition", None, "lizard"),
    ],
)
def test_captions_are_aligned_word_by_word(before: str, after: str, kind: str, subject: str | None, to: str) -> None:
    (step,) = parse_instruction(after, before, form="caption").steps
    assert (step.type, step.subject, step.to) == (kind, subject, to)


def test_the_labels_name_edit_types() -> None:
    for name in SETS:
        from tests.instructions.accuracy import labeled

        for example in labeled(name):
            assert {step[0] for steps in example.accepted for step in steps} <= set(EDIT_TYPES), example.text


def test_two_requests_are_two_steps_in_their_order() -> None:
    first, second = parse_instruction("remove the tent and add a bonfire").steps
    assert (first.type, first.subject) == ("object_removal", "tent")
    assert (second.type, second.to) == ("object_addition", "bonfire")


def test_a_pronoun_is_resolved_from_the_source_caption_only() -> None:
    assert parse_instruction("could he be in the forest?", "A man walks down a street.").steps[0].subject == "man"
    assert parse_instruction("could he be in the forest?").steps[0].subject is None


def test_what_must_stay_is_no_step() -> None:
    steps = parse_instruction("Make the car red, but don't touch the background.").steps
    assert [(step.type, step.to) for step in steps] == [("color", "red")]


def test_a_place_is_a_relation_with_its_anchor() -> None:
    left, beside = (
        parse_instruction(f"add a ball {place} the dog").steps[0] for place in ("to the left of", "next to")
    )
    assert (left.type, left.position) == ("positional_addition", Position("left", "dog"))
    assert (beside.type, beside.position) == ("object_addition", Position("next to", "dog"))


def test_the_captions_say_what_the_instruction_leaves_open() -> None:
    step = parse_instruction("change the color of the ball", "a boy with a blue ball", "a boy with a red ball").steps[0]
    assert (step.type, step.subject, step.from_, step.to) == ("color", "ball", "blue", "red")


def test_the_instruction_wins_over_the_captions() -> None:
    step = parse_instruction("make the ball green", "a boy with a blue ball", "a boy with a red ball").steps[0]
    assert step.to == "green"


def test_what_is_not_understood_is_said() -> None:
    reading = parse_instruction("blorp the frindle")
    assert [step.type for step in reading.steps] == ["unspecified"]
    assert "frindle" in reading.left


@pytest.mark.parametrize("text", ["add next to the cat", "add \N{DOG FACE} next to the cat", "put on the table"])
def test_a_verb_is_not_the_thing_that_it_asks_for(text: str) -> None:
    reading = parse_instruction(text)
    assert [step.type for step in reading.steps] == ["unspecified"]
    assert reading.left


@pytest.mark.parametrize("text", ["", "  \n"])
def test_an_empty_instruction_is_refused(text: str) -> None:
    with pytest.raises(BadInputError, match="empty"):
        parse_instruction(text)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Сделай небо красным", "not in the Latin alphabet"),
        ("🐶➡️🐱", "holds no words"),
        ("make it red " * 4000, "12,000 words"),
        ("!!! ???", "holds no words"),
    ],
)
def test_a_text_that_cannot_be_read_says_why(text: str, left: str) -> None:
    reading = parse_instruction(text)
    assert reading.steps[0].type == "unspecified"
    assert not reading.steps[0].sure
    assert left in reading.left


@given(st.text(alphabet=string.ascii_letters + " ,.'\"-?!0123456789", min_size=1, max_size=120).filter(str.strip))
def test_no_text_breaks_the_reader(text: str) -> None:
    reading = parse_instruction(text)
    assert reading.steps
    assert all(step.type in EDIT_TYPES for step in reading.steps)


def test_no_order_of_known_words_breaks_the_reader() -> None:
    known = "let have make the a it her turn into to of and one two red dog 's on left is be there with not but from "
    more = 'instead wearing say "OPEN" photo background color style , . add remove replace put give change in next by'
    vocabulary = f"{known}{more}".split()
    chance = random.Random(7)
    for _ in range(600):
        text = " ".join(chance.choices(vocabulary, k=chance.randint(1, 9)))
        for caption in (None, "a red dog on a sofa"):
            assert all(step.type in EDIT_TYPES for step in parse_instruction(text, source_caption=caption).steps), text


@pytest.mark.parametrize("text", ["have a person hold an airplane", "add a person holding an airplane"])
def test_what_somebody_new_holds_is_asked_for_too(text: str) -> None:
    assert [step.to for step in parse_instruction(text).steps] == ["person", "airplane"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("change the number of apples to five", ("object_addition", "apples", 5, False)),
        ("increase the number of dogs to 3", ("object_addition", "dogs", 3, False)),
        ("change the number on the jersey to 5", ("text", "5", None, True)),
    ],
)
def test_a_number_of_things_is_a_count_and_a_number_on_something_is_text(
    text: str, expected: tuple[str, str, int | None, bool]
) -> None:
    (step,) = parse_instruction(text).steps
    assert (step.type, step.to, step.count, step.sure) == expected


@pytest.mark.parametrize(
    ("text", "step"),
    [
        ("remove a laptop", ("single_instance_removal", "laptop", 1)),
        ("could you delete one cup?", ("single_instance_removal", "cup", 1)),
        ("remove the laptop", ("object_removal", "laptop", None)),
        ("remove two apples", ("object_removal", "apples", 2)),
        ("remove a few cars", ("object_removal", "cars", None)),
        ("erase everyone", ("object_removal", "person", None)),
    ],
)
def test_an_indefinite_removal_is_of_one_of_several(text: str, step: tuple[str, str, int | None]) -> None:
    (read,) = parse_instruction(text).steps
    assert (read.type, read.subject, read.count) == step


def test_everyone_is_there_already() -> None:
    (smile,) = parse_instruction("make everyone smile").steps
    assert (smile.type, smile.subject) == ("action", "person")
    (hat,) = parse_instruction("let everyone wear a hat").steps
    assert (hat.type, hat.subject, hat.to) == ("object_addition", "person", "hat")


def test_captions_say_what_a_pronoun_stands_for_where_they_differ_in_one_thing() -> None:
    (step,) = parse_instruction(
        "Make it a slice of pizza", "A plate with a sandwich", "A plate with a slice of pizza"
    ).steps
    assert (step.type, step.from_, step.to) == ("object_replacement", "sandwich", "slice of pizza")


def test_what_somebody_new_holds_and_is_there_already_is_not_asked_for() -> None:
    assert [step.to for step in parse_instruction("make a kid hold the plate").steps] == ["kid"]


@pytest.mark.parametrize(
    ("text", "types"),
    [
        ("make the man who is wearing a hat smile", ["action"]),
        ("There are three cups on the table, take one away.", ["single_instance_removal"]),
        ("The lamp is ugly, swap it for a candle", ["object_replacement"]),
        ("Give the girl a balloon instead of the umbrella", ["object_replacement"]),
        ("make the chair look like it is made of glass", ["texture"]),
        ("Hi all, can someone please remove the guy in the background? Thanks!", ["object_removal"]),
        ("Paint the door green, the shutters white and the roof black", ["color", "color", "color"]),
        ("on the table put an apple", ["object_addition"]),
        ("Golden retriever instead of poodle", ["object_replacement"]),
        ("I don't want the dog there", ["object_removal"]),
    ],
)
def test_requests_are_found_behind_and_between_other_words(text: str, types: list[str]) -> None:
    assert [step.type for step in parse_instruction(text).steps] == types


@pytest.mark.parametrize(
    "text", ["Remove the\x00 cat.", "Remove\x1b[31m the cat.", "Remove the \u202ecat.", "Remove\nthe\tcat."]
)
def test_control_characters_do_not_change_the_parse(text: str) -> None:
    assert parse_instruction(text).steps == parse_instruction("Remove the cat.").steps
