"""What a form says."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import parse_qs

from fastapi import HTTPException, Request

from editgauge.studies.design import Answer, QuestionFields, from_form

CSRF = "form-token"
"""The field that proves that a form is ours. No question can have such a name."""
ATTEMPT = "attempt-number"
"""The field that tells one attempt at the qualification from the next."""
FORM = "application/x-www-form-urlencoded"
MOST_FIELDS = 500
Fields = dict[str, list[str]]


async def read_form(request: Request) -> Fields:
    """The fields of a form. Files are not taken."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != FORM:
        raise HTTPException(415, "Forms only, please.")
    try:
        text = (await request.body()).decode("ascii")
        fields = parse_qs(text, keep_blank_values=True, max_num_fields=MOST_FIELDS, errors="strict")
    except ValueError as error:
        raise HTTPException(400, "This form cannot be read.") from error
    if any("\0" in word for name, words in fields.items() for word in (name, *words)):
        raise HTTPException(400, "This form cannot be read.")  # PostgreSQL stores no such text
    return fields


def read_answers(fields: Fields, questions: Iterable[QuestionFields]) -> dict[str, Answer]:
    """The answers of a form, as a study takes them; a field that no question has is passed on, for it to refuse."""
    known = {question.id: question for question in questions}
    answers: dict[str, Answer] = {}
    for name, words in fields.items():
        if name in (CSRF, ATTEMPT):
            continue
        answer = from_form(known[name], words) if name in known else words[-1]
        if answer is not None:
            answers[name] = answer
    return answers
