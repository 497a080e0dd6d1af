"""Rubrics: a judge gives numbers for several dimensions, and a formula makes scores of them. One YAML file each.

`rubric:viescore`, `rubric:imgedit`, … are built in; `rubric:mine.yaml` is a user's own. The dimensions, ranges and
formulas of the built-in ones are those of the papers; the wording is ours, unless `--prompts` gives another.
"""

from __future__ import annotations

import re
from asyncio import gather
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np

from editgauge.errors import BadInputError, UnknownNameError, UnscorableError
from editgauge.evidence import Note
from editgauge.judges import Answer, LabeledImage, NoAnswerError, Question
from editgauge.judges._endpoint import parse_reply
from editgauge.judges._parsing import parse_object
from editgauge.judges._questions import Ratings
from editgauge.judges.prompts import Prompt
from editgauge.protocols import Part, Protocol, variant_name
from editgauge.protocols.rubric._model import (
    GuessedRatings,
    Opened,
    Released,
    Rubric,
    RubricQuestion,
    Values,
    capped,
    evaluate,
    holds,
    open_rubric,
)
from editgauge.types import Edit, Item, Score, Scores, ScoreSpec, Unscored

if TYPE_CHECKING:
    from editgauge.protocols import JudgingPerception

PREFIX = "rubric:"
RELEASED = "@released"
_SLOT = re.compile(r"\{([a-z][a-z0-9_]*)\}")
LABELS = {
    "source": "The picture before the edit:",
    "outcome": "The picture after the edit:",
    "reference": "A picture of a correct edit:",
}
DEVIATIONS = (
    "The questions are worded by ourselves unless --prompts gives another wording, which the name then shows.",
    "Each image is shown in its own size, made smaller only where the server wants it.",
    "What the judge refuses, or answers so that it cannot be read even after one repair question, is unscored.",
)
SHOWN = "2"
"""Raised when judges are shown pictures in another way; since 2, outcomes are in their own size."""


@dataclass(frozen=True, slots=True)
class RubricOptions:
    """How a rubric is used."""

    repeat: int
    swap: bool = False
    wording: str | None = None
    """The name of the user's own wording."""


class RubricProtocol(Protocol):
    """One rubric; with a judge it is called, for instance, `rubric:viescore[gpt-4o]`."""

    needs = ("judge",)
    takes_inputs = True

    def __init__(self, opened: Opened, released: bool, judge: str | None, options: RubricOptions) -> None:
        rubric = opened.rubric
        self._opened, self._rubric = opened, rubric
        self._released: Released | None = rubric.released if released else None
        self._options = options
        self.judge = judge
        words = {"repeat": str(options.repeat)} if options.repeat != rubric.repeat else {}
        words |= {"swap": ""} if options.swap else {}
        words |= {"wording": options.wording} if options.wording else {}
        base = f"{PREFIX}{opened.called}{RELEASED if released else ''}"
        self.name = variant_name(base, words | ({judge: ""} if judge else {}))
        self.about, self.paper = rubric.about, rubric.paper
        self.version = f"{rubric.version}-{opened.fingerprint}-{SHOWN}"
        notes = self._released.notes if self._released else []
        self.deviations = (*notes, *rubric.deviations, *DEVIATIONS[: 2 if released else 3])
        dimensions = [
            ScoreSpec(each.name, True, _range(each_question.range, released), each.asks.strip().partition("\n")[0])
            for each_question in rubric.questions
            for each in each_question.dimensions
        ]
        made = [ScoreSpec(each.name, True, each.range, each.about) for each in rubric.scores]
        answers = {name: question for question, name in rubric.answers.items()}
        distinct = (*{each.name: each for each in dimensions}.values(), *made)
        self.scores: tuple[ScoreSpec, ...] = tuple(replace(each, question=answers.get(each.name)) for each in distinct)
        by_name = {spec.name: spec for spec in self.scores}
        self.sets = tuple(ScoreSpec(each.name, True, by_name[each.of].range, each.about) for each in rubric.sets)

    def variant(self, options: Mapping[str, str]) -> RubricProtocol:
        """`[repeat=3]` asks everything three times, `[swap]` in both orders of the pictures; scores are means.

        `wording=NAME` names the user's own prompts; another word is the name of the judge.
        """
        judges = [word for word in options if word not in ("repeat", "swap", "wording")]
        if len(judges) > 1 or any(options[word] for word in (*judges, "swap") if word in options):
            raise BadInputError(
                f"A rubric takes repeat=N, swap, and the name of one judge; got '{variant_name(self.name, options)}'."
            )
        repeat = options.get("repeat", str(self._options.repeat))
        if not (repeat.isascii() and repeat.isdigit() and 1 <= int(repeat) <= 64):
            raise BadInputError(f"{self.name}[repeat=N] takes a number from 1 to 64; got '{repeat}'.")
        chosen = RubricOptions(int(repeat), "swap" in options, options.get("wording"))
        return self._with(judges[0] if judges else None, chosen)

    def with_models(self, models: Mapping[str, str]) -> RubricProtocol:
        """Asks the judge that was named first: in the protocol's own name, or by the run."""
        return self._with(self.judge or models.get("judge"), self._options)

    def worded(self, wording: str, prompts: Collection[str]) -> RubricProtocol:
        """With the user's own prompts, which its name then tells, if one of them is for this rubric."""
        mine = {prompt_name(self._rubric.name, each.name) for each in self._rubric.questions}
        if not mine.intersection(prompts):
            return self
        return self._with(self.judge, replace(self._options, wording=wording))

    def _with(self, judge: str | None, options: RubricOptions) -> RubricProtocol:
        return RubricProtocol(self._opened, self._released is not None, judge, options)

    async def score(self, item: Item, perception: JudgingPerception) -> Scores:
        """Every dimension and every score of the rubric, each the mean over repetitions."""
        if self.judge is None:
            raise UnscorableError("no_model", f"{self.name} needs a judge; name one with --judge")
        orders = (False, True) if self._options.swap else (False,)
        passes = await gather(
            *(self._pass(item, perception, number, swap) for number in range(self._options.repeat) for swap in orders)
        )
        notes = [note for _, notes_of_pass in passes for note in notes_of_pass]
        scores: dict[str, Score | Unscored] = {}
        for spec in self.scores:
            values = [ratings.get(spec.name) for ratings, _ in passes]
            scores[spec.name] = _mean(values, () if scores else tuple(notes))
        return scores

    def questions_at_most(self, edit: Edit, outcomes: int) -> Mapping[str, int]:
        """Every question that applies, in each repetition and order."""
        questions = sum(self._rubric.applies(each.when, edit) for each in self._rubric.questions)
        times = self._options.repeat * (2 if self._options.swap else 1)
        return {self.judge: questions * times * outcomes} if self.judge else {}

    async def part(self, item: Item, perception: JudgingPerception) -> Part:
        """The scores that sets are made of, with the fields that group them."""
        scores = await self.score(item, perception)
        values = [scores[each.of] for each in self._rubric.sets]
        numbers = np.array([each.value if isinstance(each, Score) else np.nan for each in values])
        accepted = np.array([self._rubric.applies(each.when, item.edit) for each in self._rubric.sets])
        groups = [self._rubric.field(item.edit, each.over) if each.over else "" for each in self._rubric.sets]
        return numbers, accepted, np.array(groups)

    def score_set(self, parts: Sequence[Part]) -> Scores:
        """The mean of group means, of all outcomes that belong to the set and have a score."""
        return {each.name: _set_mean(each.over, number, parts) for number, each in enumerate(self._rubric.sets)}

    async def _pass(
        self, item: Item, perception: JudgingPerception, repetition: int, swap: bool
    ) -> tuple[dict[str, float | Unscored | None], list[Note]]:
        """All dimensions and scores, from one round of questions."""
        questions = [each for each in self._rubric.questions if self._rubric.applies(each.when, item.edit)]
        answers = await gather(*(self._ask(each, item, perception, repetition, swap) for each in questions))
        values: dict[str, float | Unscored | None] = {
            each.name: None for question in self._rubric.questions for each in question.dimensions
        }
        notes: list[Note] = []
        for ratings, notes_of_answer in answers:
            values |= ratings
            notes += notes_of_answer
        return combined(self._rubric, values, item, caps=self._released is None or self._released.caps), notes

    async def _ask(
        self, rubric_question: RubricQuestion, item: Item, perception: JudgingPerception, repetition: int, swap: bool
    ) -> tuple[dict[str, float | Unscored], list[Note]]:
        names = [each.name for each in rubric_question.dimensions]
        try:
            question = self.question(rubric_question, item, perception).again(repetition)
            answer = await perception.ask(question.swapped() if swap else question, role=self.judge or "judge")
        except UnscorableError as unable:
            if self._released and self._released.failed == "zero" and isinstance(unable, NoAnswerError):
                return dict.fromkeys(names, 0.0), [Note(f"{rubric_question.name}: no answer counts as 0, as released")]
            return dict.fromkeys(names, Unscored(unable.reason, unable.detail)), []
        return dict(answer.value), [Note(_note(rubric_question.name, self.judge or "", answer))]

    def _prompt(self, question: RubricQuestion, perception: JudgingPerception) -> Prompt:
        """The user's own wording of a question where there is one, else ours."""
        try:
            return perception.prompt(prompt_name(self._rubric.name, question.name))
        except UnknownNameError:
            return perception.prompt("rubric")

    def question(
        self, rubric_question: RubricQuestion, item: Item, perception: JudgingPerception
    ) -> Question[Mapping[str, float]]:
        """One of the rubric's questions about an outcome."""
        images = tuple(picture for each in rubric_question.shows for picture in _shown(each, item))
        low, high = rubric_question.range
        form = Ratings(
            tuple((each.name, tuple(each.also)) for each in rubric_question.dimensions),
            low,
            high,
            ends_only=rubric_question.yes_or_no,
        )
        if self._released:
            form = GuessedRatings(form.names, low, high, form.ends_only, self._released.unreadable)
        slots = {name: self._rubric.field(item.edit, name) for name in self._rubric.fields}
        slots["instruction"] = item.edit.instruction
        prompt = self._prompt(rubric_question, perception)
        limits = [f"{a} must not be above {b}." for a, b in self._rubric.caps.items() if a in dict(form.names)]
        words = prompt.render_known(
            question=_filled(rubric_question.asks, slots),
            low=f"{low:g}",
            high=f"{high:g}",
            dimensions="\n".join(f"- {each.name}: {_filled(each.asks, slots)}" for each in rubric_question.dimensions),
            limits="\n".join(["", *limits, ""]) if limits else "",
            form="{" + ", ".join(['"reasoning": "…"', *(f'"{name}": N' for name, _ in form.names)]) + "}",
            **slots,
        )
        named = replace(words, prompt=prompt_name(self._rubric.name, rubric_question.name))
        return Question(words=named, form=form, images=images)


def prompt_name(rubric: str, question: str) -> str:
    """What the prompt of a question is called, in transcripts and in a file of a user's own wording.

    >>> prompt_name("complex-edit", "quality")
    'rubric_complex_edit_quality'
    """
    plain = "".join(sign if sign.isalnum() else "_" for sign in rubric.lower())
    return f"rubric_{plain}_{question}"


def combined(rubric: Rubric, values: Values, item: Item, *, caps: bool = True) -> dict[str, float | Unscored | None]:
    """Dimensions with caps and rules applied, and the scores that are made of them."""
    totals = capped(values, rubric.caps) if caps else dict(values)
    for rule in rubric.rules:
        if isinstance(totals.get(rule.set), float) and holds(rule.if_, totals) is True:
            totals[rule.set] = rule.to
    for made in rubric.scores:
        fitting = [each for each in made.formulas if rubric.applies(each.when, item.edit)]
        if fitting:
            totals[made.name] = evaluate(fitting[0].is_, totals)
        else:
            totals[made.name] = Unscored("not_applicable", f"'{made.name}' is not defined for this edit")
    return totals


def open_rubric_protocol(base: str) -> RubricProtocol:
    """The protocol of `rubric:NAME`, `rubric:NAME@released` or `rubric:FILE.yaml`."""
    name = base.removeprefix(PREFIX)
    released = name.endswith(RELEASED)
    opened = open_rubric(name.removesuffix(RELEASED))
    if released and opened.rubric.released is None:
        raise BadInputError(f"The rubric '{opened.called}' has no variant {RELEASED}: its file names no difference.")
    return RubricProtocol(opened, released, None, RubricOptions(opened.rubric.repeat))


def _filled(text: str, slots: Mapping[str, str]) -> str:
    """A text of a rubric with its slots filled; what fills a slot is never read as a text with slots."""
    return _SLOT.sub(lambda slot: slots.get(slot[1], slot[0]), text).strip()


def _shown(which: str, item: Item) -> list[LabeledImage]:
    """A picture with its label; behind the source come the further pictures of the edit."""
    shown = [LabeledImage(LABELS[which], _picture(which, item))]
    if which == "source":
        roles = [each.role for each in item.edit.inputs]
        for number, (role, pixels) in enumerate(zip(roles, item.inputs, strict=True), start=2):
            kind = "" if role == "image" else f" ({role})"
            shown.append(LabeledImage(f"Picture {number} that the edit starts from{kind}:", pixels))
    return shown


def _picture(which: str, item: Item) -> Any:
    if which == "reference":
        if item.reference is None:
            raise UnscorableError(
                "not_applicable", "the edit has no picture of a correct edit, and the rubric shows it"
            )
        return item.reference
    return item.source if which == "source" else item.as_made


def _range(limits: tuple[float, float], released: bool) -> tuple[float, float]:
    """The range of a dimension; guesses of released code may be zero."""
    low, high = limits
    return (min(low, 0.0), high) if released else (low, high)


def _mean(values: Sequence[float | Unscored | None], notes: tuple[Note, ...]) -> Score | Unscored:
    """The mean over repetitions; one that is missing leaves none, for a mean of fewer would be another quantity."""
    numbers = [each for each in values if isinstance(each, float | int)]
    if len(numbers) == len(values):
        spread = f" (repetitions: {', '.join(f'{each:g}' for each in numbers)})" if len(numbers) > 1 else ""
        return Score(fmean(numbers), (*notes, *([Note(f"mean of {len(numbers)}{spread}")] if spread else [])))
    gap = next((each for each in values if isinstance(each, Unscored)), None)
    if gap is None:
        return Unscored("not_applicable", "the rubric does not ask this for the edit", notes)
    return replace(gap, evidence=(*gap.evidence, *notes))


def _set_mean(over: str | None, number: int, parts: Sequence[Part]) -> Score | Unscored:
    groups: dict[str, list[float]] = defaultdict(list)
    for values, accepted, names in parts:
        if accepted[number] and not np.isnan(values[number]):
            groups[str(names[number])].append(float(values[number]))
    if not groups:
        return Unscored("not_applicable", "no outcome with a score belongs to this set")
    mean = fmean(fmean(each) for each in groups.values())
    of = f" of {len(groups)} values of {over}" if over else ""
    return Score(mean, (Note(f"Mean{of}, {sum(map(len, groups.values()))} outcomes."),))


def _note(question: str, judge: str, answer: Answer[Mapping[str, float]]) -> str:
    numbers = _listed(answer.value)
    if answer.members:
        each = "; ".join(f"{name}: {_listed(values)}" for name, values in answer.members.items())
        return f"{question}: {judge} gives {numbers} ({each})"
    said = parse_object(parse_reply(answer.call.body).text) if answer.call.body else None
    reasons = (said or {}).get("reasoning")
    because = f": {reasons[:400]}" if isinstance(reasons, str) and reasons else ""
    return f"{question}: {judge} gives {numbers}{because} (call {answer.call.identity[:12]})"


def _listed(values: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:g}" for name, value in values.items())
