"""Design files: the built-in ones, every fault told at once, and which answers fit."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from editgauge.errors import BadAnswersError, BadInputError, UnknownNameError
from editgauge.studies.design import built_in, find_design, read_design, validate_answers

INSPECTOR = read_design(built_in()["editinspector"], "editinspector.yaml")
WHOLE: dict[str, Any] = {"accuracy": "accurate", "consistent": "yes", "precise": "yes", "artifacts": "none"}


@pytest.mark.parametrize("name", built_in())
def test_a_built_in_design_is_whole(name: str) -> None:
    design = read_design(*reversed((f"{name}.yaml", built_in()[name])))
    assert design.paper
    assert design.mturk
    assert len(design.instructions) > 200


def test_editval_asks_what_the_paper_asks() -> None:
    """Section 3.2.1: three questions with levels 0 to 3; three gold failures exclude; 30 minutes; AMT's conditions."""
    design = read_design(built_in()["editval"], "editval.yaml")
    assert [question.values for question in design.questions] == [(0, 1, 2, 3)] * 3
    assert design.gold.exclude_after == 3
    assert design.mturk
    assert (design.mturk.minutes, design.mturk.approval_above, design.mturk.hits_above) == (30, 90, 500)


@pytest.mark.parametrize("word", ["0e0", "-.5", "08"])
def test_a_text_that_looks_like_a_number_only_to_yaml_1_2_stays_a_text(word: str) -> None:
    """PyYAML writes these texts without quotes."""
    options = [{"value": word, "label": word}, {"value": "other", "label": "other"}]
    question = {"id": "q", "kind": "choice", "label": word, "help": word, "options": options}
    top = {"title": word, "about": word, "unit": "outcome", "instructions": word, "text": word, "fast_seconds": 0.5}
    text = yaml.safe_dump(top | {"questions": [question]})
    assert f"title: {word}\n" in text
    design = read_design(text, "design.yaml")
    assert (design.title, design.instructions, design.text) == (word, word, word)
    (asked,) = design.questions
    assert (asked.label, asked.help, asked.values) == (word, word, (word, "other"))


@pytest.mark.parametrize("word", ["3", "3.0", "3e0", "+3."])
def test_a_number_may_be_written_in_any_way(word: str) -> None:
    text = "{title: a, about: a, unit: outcome, instructions: a, text: a, fast_seconds: %s, questions: [%s]}"
    assert read_design(text % (word, "{id: q, kind: yes_no, label: a}"), "design.yaml").fast_seconds == 3


@pytest.mark.parametrize(
    ("answer", "asked"),
    [("inaccurate", True), ("reflects", True), ("unexpected", True), ("accurate", False)],
)
def test_editinspector_asks_for_a_reason_only_where_something_is_wrong(answer: str, asked: bool) -> None:
    """The reason may stay empty, for the public forms have none; where nothing is wrong it is not asked for."""
    without = WHOLE | {"accuracy": answer, "differences": "the cat is black"}
    questions = [question for question in INSPECTOR.questions if question.needs is None]
    assert validate_answers(questions, [], without) == without
    given = without | {"accuracy_reason": "it is gray"}
    assert validate_answers(questions, [], given) == (given if asked else without)


def test_answers_to_hidden_questions_are_left_out() -> None:
    questions = [question for question in INSPECTOR.questions if question.needs is None]
    given = WHOLE | {"differences": "none", "precise_reason": "chosen before it was hidden"}
    assert "precise_reason" not in validate_answers(questions, [], given)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"accuracy": "perfect"}, "accuracy: 'perfect' is not among inaccurate, reflects, unexpected, accurate"),
        ({"accuracy": True}, "accuracy: True is not among"),
        ({"mood": "good"}, "mood: there is no such question here"),
        ({"differences": "a\x00b"}, "differences: there is a sign in it that cannot be stored"),
        ({"differences": 3}, "differences: write words, got 3"),
        ({"differences": "   "}, "differences: please answer this question"),
        ({"differences": "x" * 5001}, "at most 5000 signs, got 5001"),
    ],
)
def test_every_answer_that_does_not_fit_is_told(given: dict[str, Any], told: str) -> None:
    with pytest.raises(BadAnswersError) as caught:
        validate_answers(INSPECTOR.questions, [], given)
    assert told in str(caught.value)
    assert "consistent" in caught.value.problems, "with all the others"


FAULTY = """
title: x
unit: pair
about: a
instructions: b
text: "{colour}"
questions:
  - id: a
    kind: scale
    label: q
    options: [{value: 1, label: x, key: k}, {value: one, label: y, key: K}]
    when: {b: [1]}
  - id: a
    kind: text
    label: q
    options: [{value: "1", label: x}]
    when: {a: [3]}
  - id: c
    kind: yes_no
    label: q
    prefill: "{instruction}"
    needs: mood
    tree: {ask: "?", answers: [{say: one, choose: maybe}, {say: other}]}
gold: {tolerance: {z: 1}}
qualification:
  items:
    - {question: {id: t, kind: text, label: q}, right: [a]}
"""


def test_everything_wrong_with_a_design_is_told_at_once_with_its_line() -> None:
    with pytest.raises(BadInputError) as caught:
        read_design(FAULTY, "mine.yaml")
    told = str(caught.value)
    for fault in (
        "mine.yaml:6: edits have no field 'colour'; there are: instruction, type",
        "mine.yaml:11: the value of an option of a scale must be a whole number, got 'one'",
        "the key 'k' is used by two options",
        "mine.yaml:12: 'when': unknown earlier question 'b'",
        "mine.yaml:16: a question of kind 'text' brings its own options",
        "mine.yaml:17: 3 is no option of 'a'",
        "the id 'a' is used twice",
        "only a question of kind 'text' can be pre-filled",
        "edits have no field 'mood'",
        "'maybe' is no option of 'c'; there are: yes, no",
        "a branch needs 'then'",
        "'tolerance' names 'z', which is no scale",
        "a test asks questions of kind choice, scale, yes_no, got 'text'",
        "the unit 'pair' needs a question of kind 'pick_side'",
    ):
        assert fault in told, told


def test_misspelled_words_are_guessed() -> None:
    with pytest.raises(BadInputError) as caught:
        read_design("title: x\nunit: pairs\nquestion: []\n", "mine.yaml")
    assert "unknown unit 'pairs'. Did you mean 'pair'?" in str(caught.value)
    assert "unknown key 'question'. Did you mean 'questions'?" in str(caught.value)
    with pytest.raises(UnknownNameError, match="Did you mean 'editval'"):
        find_design("editvall")
    with pytest.raises(BadInputError, match="cannot be read"):
        find_design("nowhere.yaml")
