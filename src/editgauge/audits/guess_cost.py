"""What guessing would cost: one set of recorded answers, and the means that each peer's failure rule makes of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import sqrt
from pathlib import Path
from statistics import fmean
from typing import Any

from editgauge.errors import BadInputError
from editgauge.judges._endpoint import find_fault, parse_reply
from editgauge.judges._parsing import UnparsableReplyError
from editgauge.judges._questions import Ratings
from editgauge.judges._transcripts import Call, Transcripts
from editgauge.protocols.rubric._model import guess_ratings, open_rubric, rubric_names


@dataclass(frozen=True, slots=True)
class FailureRule:
    """What a peer's released code does when there is no readable answer."""

    who: str
    unreadable: str
    failed: str


RULES = (
    FailureRule("ImgEdit, RISE", "dropped", "dropped"),
    FailureRule("VIEScore, GEdit", "random", "dropped"),
    FailureRule("lmms-eval", "random", "zero"),
    FailureRule("KRIS", "lone_digit", "dropped"),
    FailureRule("EditScore", "middle", "middle"),
    FailureRule("HQ-Edit", "zero", "zero"),
)


@dataclass(frozen=True, slots=True)
class FailureRuleComparison:
    """One dimension of one question, over all recorded answers of one judge."""

    model: str
    question: str
    dimension: str
    questions: int
    read: int
    repaired: int
    """Read only after the repair question."""
    unreadable: int
    """Answers in another form, refusals in words among them."""
    failed: int
    """No answer at all, or one that was cut off or filtered."""
    mean: float | None
    """Of what was read, repairs included."""
    means: Mapping[str, float | None]
    """What the rule of each peer makes of the same answers; for random ones, what is to be expected."""
    spread: Mapping[str, float]
    """How far random guesses move a mean from run to run: two standard deviations."""


def guess_cost(transcripts: str | Path) -> list[FailureRuleComparison]:
    """Compare the means with those that the failure rules of other tools would give on the same answers.

    Random scores for unreadable answers, zeros for errors, the middle of the scale: each rule next to what was read.

    Example:
        $ editgauge judges guess-cost run
        >>> guess_cost("run")

    Args:
        transcripts: folder of transcripts, or a run folder that has one.

    """
    folder = Path(transcripts)
    folder = folder / "transcripts" if (folder / "transcripts").is_dir() else folder
    if not folder.is_dir():
        raise BadInputError(f"There are no transcripts at '{transcripts}'.")
    calls = list(Transcripts(folder))
    repairs = {str(call.question["repairs"]): call for call in calls if "repairs" in call.question}
    groups: dict[tuple[str, str], list[tuple[Call, Ratings]]] = defaultdict(list)
    for call in calls:
        form = _form(call)
        if "repairs" not in call.question and form is not None:
            groups[str(call.question["model"]), str(call.question["prompt"])].append((call, form))
    if not groups:
        raise BadInputError(
            f"The transcripts in '{folder}' hold no answer with numbers: no rubric was asked, and no scale."
        )
    return [
        item
        for (model, question), calls_of_question in sorted(groups.items())
        for item in _of(model, question, calls_of_question, repairs)
    ]


def _of(
    model: str, question: str, calls: Sequence[tuple[Call, Ratings]], repairs: Mapping[str, Call]
) -> list[FailureRuleComparison]:
    read: list[Mapping[str, float]] = []
    repaired: list[Mapping[str, float]] = []
    unreadable: list[str] = []
    failed = 0
    for call, form in calls:
        text = _said(call, model)
        ratings = _read(form, text)
        if ratings is not None:
            read.append(ratings)
        elif text is None:
            failed += 1
        else:
            unreadable.append(text)
            again = repairs.get(call.identity)
            mended = _read(form, _said(again, model)) if again else None
            repaired += [mended] if mended is not None else []
    return [
        _dimension((model, question, name), form, read=read, repaired=repaired, unreadable=unreadable, failed=failed)
        for name, _ in form.names
    ]


def _dimension(
    labels: tuple[str, str, str],
    form: Ratings,
    *,
    read: list[Mapping[str, float]],
    repaired: list[Mapping[str, float]],
    unreadable: list[str],
    failed: int,
) -> FailureRuleComparison:
    model, question, name = labels
    parsed = [ratings[name] for ratings in read]
    ours = parsed + [ratings[name] for ratings in repaired]
    means: dict[str, float | None] = {}
    spread: dict[str, float] = {}
    steps = form.high - form.low + 1
    for rule in RULES:
        values = parsed + _guesses(rule.unreadable, unreadable, name, form) + _failures(rule.failed, failed, form)
        means[rule.who] = fmean(values) if values else None
        if rule.unreadable == "random" and unreadable:
            spread[rule.who] = 2 * sqrt(len(unreadable) * (steps**2 - 1) / 12) / len(values)
    return FailureRuleComparison(
        model=model,
        question=question,
        dimension=name,
        questions=len(read) + len(unreadable) + failed,
        read=len(read),
        repaired=len(repaired),
        unreadable=len(unreadable),
        failed=failed,
        mean=fmean(ours) if ours else None,
        means=means,
        spread=spread,
    )


def _guesses(rule: str, texts: list[str], name: str, form: Ratings) -> list[float]:
    if rule == "random":
        return [(form.low + form.high) / 2] * len(texts)
    guesses = []
    for text in texts:
        try:
            guesses.append(guess_ratings(rule, text, form)[name])
        except UnparsableReplyError:
            continue
    return guesses


def _failures(rule: str, failed: int, form: Ratings) -> list[float]:
    if rule == "dropped":
        return []
    return [0.0 if rule == "zero" else (form.low + form.high) / 2] * failed


def _said(call: Call, model: str) -> str | None:
    """Return the text of an answer or refusal, or None if there is none."""
    if call.body is None:
        return None
    reply = parse_reply(call.body)
    fault = find_fault(reply, model)
    if fault and fault[0] == "refused":
        return reply.refusal
    return None if fault and fault[0] != "unparsable" else reply.text


def _read(form: Ratings, text: str | None) -> Mapping[str, float] | None:
    if text is None:
        return None
    try:
        return form.read(text)
    except UnparsableReplyError:
        return None


def _form(call: Call) -> Ratings | None:
    """Return the recorded form of a call: ratings or a scale."""
    form: Mapping[str, Any] = call.question.get("form") or {}
    if form.get("kind") not in ("ratings", "scale"):
        return None
    properties: Mapping[str, Any] = (form.get("schema") or {}).get("properties", {})
    numbers = {name: property_["enum"] for name, property_ in properties.items() if "enum" in property_}
    if not numbers:
        return None
    every = [value for values in numbers.values() for value in values]
    names = tuple((name, _also(name)) for name in numbers)
    return Ratings(names, min(every), max(every))


@cache
def _also(dimension: str) -> tuple[str, ...]:
    """Further names of a dimension, in any of the built-in rubrics."""
    questions = (item for name in rubric_names() for item in open_rubric(name).rubric.questions)
    named = (
        also
        for question in questions
        for element in question.dimensions
        if element.name == dimension
        for also in element.also
    )
    return tuple(dict.fromkeys(named))
