"""Made-up answers that lead a protocol to every possible follow-up question; never shown or stored."""

from __future__ import annotations

import types
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from editgauge.judges import NoAnswer, Question
from editgauge.judges.forms import FreeText, PairwiseAnswer, Ratings, Scale, Structured, YesNo
from editgauge.judges.interfaces import Answer
from editgauge.judges.transcripts import Call

LISTED = 6
"""This many things a judge is taken to name where it may name any number."""


def hypothetical(question: Question[Any], inclined: bool) -> Answer[Any]:
    """An answer of the asked form: yes and much, or no and little.

    Raises `NoAnswer` where no such answer can be thought of.
    """
    return Answer(_value(question.form, inclined), _call(question))


def _value(form: Any, inclined: bool) -> Any:
    match form:
        case YesNo():
            return inclined
        case Scale():
            return form.high if inclined else form.low
        case Ratings():
            return {name: form.high if inclined else form.low for name, _ in form.names}
        case PairwiseAnswer():
            return "one" if inclined else "two"
        case FreeText():
            return "Something is there."
        case Structured():
            try:
                return form.model.model_validate(_field(form.model, inclined, 0))
            except (ValidationError, TypeError) as error:
                raise NoAnswer("budget", "a dry run asks no judge") from error
    raise NoAnswer("budget", "a dry run asks no judge")


def _field(wanted: Any, inclined: bool, number: int) -> Any:
    """A value of a type, as pydantic would read it."""
    origin, parts = get_origin(wanted), get_args(wanted)
    if isinstance(wanted, type) and issubclass(wanted, BaseModel):
        return {name: _field(field.annotation, inclined, number) for name, field in wanted.model_fields.items()}
    if origin is list:
        return [_field(parts[0], inclined, each) for each in range(LISTED if inclined else 0)]
    if origin is Literal:
        return parts[0] if inclined else parts[-1]
    if origin in (Union, types.UnionType):
        others = [part for part in parts if part is not type(None)]
        return _field(others[0], inclined, number) if inclined or len(others) == len(parts) else None
    plain = {str: f"thing {number}", int: 1, float: 1.0, bool: inclined}
    if wanted not in plain:
        raise TypeError(f"no answer of the form {wanted} can be thought of")
    return plain[wanted]


def _call(question: Question[Any]) -> Call:
    request = {"prompt": f"{question.words.prompt}.v{question.words.version}", "model": "", "images": []}
    return Call(
        identity="0" * 64,
        asked=request,
        endpoint="",
        body=None,
        model=None,
        fault=None,
        detail="",
        estimated_tokens=0,
        prompt_tokens=None,
        completion_tokens=None,
        cost=0.0,
        latency=0.0,
        seconds=0.0,
        attempts=(),
        at="",
    )
