"""Answers are read strictly: what a form writes it reads, and what is not clearly an answer is none."""

from __future__ import annotations

import contextlib
import json
from enum import Enum

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict

from editgauge.errors import BadInputError
from editgauge.judges._parsing import UnparsableReplyError
from editgauge.judges._questions import FreeText, PairwiseAnswer, Scale, Structured, YesNo


class Found(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: str
    count: int


class Side(Enum):
    LEFT = "left"


class Placed(BaseModel):
    where: Side
    box: tuple[int, int]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"answer": "yes"}', True),
        (' {"answer": "No"}\n', False),
        ('```json\n{"answer": "yes"}\n```', True),
        ('Here it is:\n```\n{"answer": "no"}\n```', False),
        ("yes", True),
        ("No.", False),
        ("**Yes**", True),
        ("Yes, there are no artifacts.", True),
        ("No - the dog is gone.", False),
        ("Answer: yes", True),
        ("The final answer is: No.", False),
        ("<think>no, wait, yes</think>\n\nno", False),
    ],
)
def test_the_usual_ways_of_saying_yes_and_no(text: str, value: bool) -> None:
    assert YesNo().read(text) is value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Yes and no.",
        "Yes, no.",
        "yes/no",
        "Yes or no? Hard to say.",
        "No problem, yes it is.",
        "Yesterday it was there.",
        "Nothing changed.",
        "No-one can tell.",
        "yes-no",
        "I would say yes",
        "Yes. But my final answer is no.",
        '{"answer": "yes", "answer": "no"}',
        '{"answer": "yes"} {"answer": "no"}',
        '```\n{"answer": "yes"}\n```\n```\n{"answer": "no"}\n```',
        '["yes"]',
        "<think>yes",
        '{"answer": "y',
    ],
)
def test_what_is_not_clearly_yes_or_no_is_neither(text: str) -> None:
    with pytest.raises(UnparsableReplyError):
        YesNo().read(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"answer": 4}', 4),
        ('{"answer": 4.0}', 4),
        ("4", 4),
        ("4.0", 4),
        ("Rating: 5/5", 5),
        ("3 out of 5.", 3),
        ("2, it is bad", 2),
    ],
)
def test_the_usual_ways_of_giving_a_number(text: str, value: int) -> None:
    assert Scale(1, 5).read(text) == value


@pytest.mark.parametrize(
    "text",
    ["0", "6", "-4", "4/10", "4 or 5", "3-4", "4.5", "4.05", '{"answer": 4.5}', '{"answer": true}',
     '{"answer": NaN}', '{"answer": 1e400}', "four", "4,5", "5 stars of 10", "10000000000000", "99"],
)  # fmt: skip
def test_what_is_not_on_the_scale_is_no_number(text: str) -> None:
    with pytest.raises(UnparsableReplyError):
        Scale(1, 5).read(text)


@given(st.text() | st.text('yesno firtcd0123.,:/{}"\n'))
def test_nothing_but_a_form_comes_out_of_any_text(text: str) -> None:
    for form, values in (
        (YesNo(), (True, False)),
        (Scale(0, 3), (0, 1, 2, 3)),
        (PairwiseAnswer(), ("one", "two", "tie")),
    ):
        with contextlib.suppress(UnparsableReplyError):
            assert form.read(text) in values


@given(st.integers(-50, 50), st.integers(1, 60), st.data())
def test_every_step_of_a_scale_is_read_as_itself(low: int, steps: int, data: st.DataObject) -> None:
    scale, step = Scale(low, low + steps), data.draw(st.integers(low, low + steps))
    assert scale.read(json.dumps({"answer": step})) == scale.read(f"{step}.") == step
    assert step in scale.schema["properties"]["answer"]["enum"]


def test_a_choice_names_the_edit_and_not_its_place() -> None:
    assert [PairwiseAnswer(swapped).read("first") for swapped in (False, True)] == ["one", "two"]
    assert [PairwiseAnswer(swapped).read('{"answer": "second"}') for swapped in (False, True)] == ["two", "one"]
    assert [PairwiseAnswer(swapped).read("Tie.") for swapped in (False, True)] == ["tie", "tie"]


def test_a_structure_must_fit_its_model() -> None:
    form = Structured(Found)
    assert form.read('```json\n{"name": "hat", "count": 2}\n```') == Found(name="hat", count=2)
    for wrong in (
        '{"name": "hat"}',
        '{"name": "hat", "count": "2"}',
        "hat: 2",
    ):
        with pytest.raises(UnparsableReplyError):
            form.read(wrong)
    assert form.read('{"Name": "hat", "count": 2, "more": 1}') == Found(name="hat", count=2)
    assert form.schema["additionalProperties"] is False
    assert Structured(Placed).read('{"where": "left", "box": [1, 2]}') == Placed(where=Side.LEFT, box=(1, 2))


def test_free_text_may_be_anything_but_nothing_and_a_refusal() -> None:
    assert FreeText().read("<think>hm</think> A hat.\n") == "A hat."
    for said in ("The dog looks sorry.", "I cannot see any difference.", "I am sorry to say that the hat is gone."):
        assert FreeText().read(said) == said
    refusals = (
        "I'm sorry, but I can't assist with that.",
        "I cannot describe people.",
        "As an AI model, I am unable to judge art.",
        "Sorry.",
    )
    for wrong in ("", "  \n", *refusals):
        with pytest.raises(UnparsableReplyError):
            FreeText().read(wrong)


def test_a_scale_goes_upwards() -> None:
    with pytest.raises(BadInputError, match="from a lower number to a higher one; got 5 to 1"):
        Scale(5, 1)
