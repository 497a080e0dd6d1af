"""Which questions a page asks, and whether answers fit them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from editgauge._util.fields import format_value
from editgauge.studies.design.fields import DesignQuestion, QuestionFields, Value, lookup
from editgauge.studies.errors import BadAnswersError

Answer = str | int | list[str]
"""A word, a level, or the words that were ticked."""
Answers = dict[str, Answer]
MAX_TEXT_CHARACTERS = 5000
LEVEL = re.compile(r"-?[0-9]{1,9}")


def applicable_questions(questions: Iterable[DesignQuestion], edit: Mapping[str, Any]) -> list[DesignQuestion]:
    """Return the questions that apply to an edit; `when` may hide some of them."""
    return [question for question in questions if question.needs is None or lookup(edit, question.needs) is not None]


def is_asked(question: DesignQuestion, answers: Mapping[str, Answer]) -> bool:
    """Whether the answers so far make the question appear."""
    return all(_given(answers.get(name)) & set(values) for name, values in question.when.items())


def _given(answer: Answer | None) -> set[Value]:
    if answer is None:
        return set()
    return set(answer) if isinstance(answer, list) else {answer}


def validate_answers(
    questions: Sequence[DesignQuestion],
    checks: Sequence[QuestionFields],
    entries: Mapping[str, Any],
    *,
    is_draft: bool = False,
) -> Answers:
    """Validate answers and return them as stored; raise `BadAnswersError` with the problem of each question.

    Answers to questions that `when` hides are left out: a form may still send what was chosen before it was hidden. All
    checks must be answered; in the draft of a page anything may be missing.
    """
    answers, problems = _read(questions, checks, entries)
    if not is_draft:
        visible = [question for question in questions if is_asked(question, answers)]
        needed = [question.id for question in visible if question.required] + [check.id for check in checks]
        problems |= {name: "please answer this question" for name in needed if name not in answers | problems}
    if problems:
        raise BadAnswersError(problems)
    return answers


def _read(
    questions: Sequence[DesignQuestion], checks: Sequence[QuestionFields], entries: Mapping[str, Any]
) -> tuple[Answers, dict[str, str]]:
    valid_ids = {question.id for question in questions} | {check.id for check in checks}
    problems = {str(name): "there is no such question here" for name in entries if name not in valid_ids}
    answers: Answers = {}
    for question in (*questions, *checks):
        value = entries.get(question.id)
        if value in (None, "", []) or (isinstance(question, DesignQuestion) and not is_asked(question, answers)):
            continue
        problem = _problem(question, value)
        if problem:
            problems[question.id] = problem
        elif question.kind != "text" or value.strip():
            answers[question.id] = sorted(value, key=question.values.index) if isinstance(value, list) else value
    return answers, problems


def _problem(question: QuestionFields, value: object) -> str | None:
    if question.kind == "text":
        return _text_problem(value)
    values = value if isinstance(value, list) and question.kind == "multi_choice" else [value]
    strange = [one for one in values if isinstance(one, bool) or one not in question.values]
    if strange:
        return f"{format_value(strange[0])} is not among {', '.join(map(str, question.values))}"
    if question.kind == "multi_choice" and (not isinstance(value, list) or len(set(values)) < len(values)):
        return "give a list, each option once"
    return None


def _text_problem(value: object) -> str | None:
    if not isinstance(value, str):
        return f"write words, got {format_value(value)}"
    if len(value) > MAX_TEXT_CHARACTERS:
        return f"write at most {MAX_TEXT_CHARACTERS} signs, got {len(value)}"
    if any(unicodedata.category(sign) in ("Cc", "Cs") and sign not in "\n\r\t" for sign in value):
        return "there is a sign in it that cannot be stored; please type it again"
    return None


def parse_form_value(question: QuestionFields, words: Sequence[str]) -> Answer | None:
    """Parse form fields or a table cell: levels become numbers, checkboxes become a list.

    >>> parse_form_value(QuestionFields(id="a", kind="scale", label="?"), ["2"])
    2
    """
    entries = [word for word in words if word != ""]
    if not entries:
        return None
    if question.kind == "multi_choice":
        return entries
    word = entries[-1]
    return int(word) if question.kind == "scale" and LEVEL.fullmatch(word) else word


def is_right(question: QuestionFields, answer: Answer | None, right: Sequence[Value], tolerance: int = 0) -> bool:
    """Whether an answer is among the right ones; a level may be off by the tolerance."""
    if question.kind == "multi_choice":
        return isinstance(answer, list) and set(answer) == set(right)
    return any(
        answer == one or (isinstance(answer, int) and isinstance(one, int) and abs(answer - one) <= tolerance)
        for one in right
    )
