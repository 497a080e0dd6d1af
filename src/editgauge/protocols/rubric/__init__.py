"""Rubrics: a judge rates several dimensions, and formulas make scores of the ratings. One YAML file each.

`rubric:viescore`, `rubric:imgedit`, … are built in; `rubric:mine.yaml` is a user's own. The dimensions, ranges and
formulas of the built-in ones are those of the papers; the wording is ours, unless `--prompts` gives another.
"""

from __future__ import annotations

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
from editgauge.protocols import Protocol, SetPart, format_variant
from editgauge.protocols.rubric._model import (
    SLOT,
    GuessedRatings,
    OpenRubric,
    Released,
    RubricQuestion,
    open_rubric,
)
from editgauge.types import Edit, Item, Score, Scores, ScoreSpec, Unscored

if TYPE_CHECKING:
    from editgauge.protocols import JudgingPerception

PREFIX = "rubric:"
RELEASED = "@released"
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
IMAGE_FORMAT_VERSION = "2"
"""Increased if judges get images in another form; since 2, outcomes are in their native size."""


@dataclass(frozen=True, slots=True)
class RubricOptions:
    """Options of a rubric variant."""

    repeat: int
    swap: bool = False
    wording: str | None = None
    """Name of the user's own wording."""


class RubricProtocol(Protocol):
    """One rubric; with a judge it is called `rubric:viescore[gpt-4o]`, for instance."""

    needs = ("judge",)
    takes_inputs = True

    def __init__(self, opened: OpenRubric, judge: str | None, options: RubricOptions, *, released: bool) -> None:
        rubric = opened.rubric
        self._opened, self._rubric = opened, rubric
        self._released: Released | None = rubric.released if released else None
        self._options = options
        self.judge = judge
        option_texts = {"repeat": str(options.repeat)} if options.repeat != rubric.repeat else {}
        option_texts |= {"swap": ""} if options.swap else {}
        option_texts |= {"wording": options.wording} if options.wording else {}
        base = f"{PREFIX}{opened.called}{RELEASED if released else ''}"
        self.name = format_variant(base, option_texts | ({judge: ""} if judge else {}))
        self.about, self.paper = rubric.about, rubric.paper
        self.version = f"{rubric.version}-{opened.fingerprint}-{IMAGE_FORMAT_VERSION}"
        notes = self._released.notes if self._released else []
        self.deviations = (*notes, *rubric.deviations, *DEVIATIONS[: 2 if released else 3])
        dimensions = [
            ScoreSpec(
                dimension.name,
                True,
                _dimension_range(question.range, released=released),
                dimension.asks.strip().partition("\n")[0],
            )
            for question in rubric.questions
            for dimension in question.dimensions
        ]
        computed = [ScoreSpec(score.name, True, score.range, score.about) for score in rubric.scores]
        answers = {name: question for question, name in rubric.answers.items()}
        distinct = (*{spec.name: spec for spec in dimensions}.values(), *computed)
        self.scores: tuple[ScoreSpec, ...] = tuple(replace(spec, question=answers.get(spec.name)) for spec in distinct)
        by_name = {spec.name: spec for spec in self.scores}
        self.sets = tuple(ScoreSpec(part.name, True, by_name[part.of].range, part.about) for part in rubric.sets)

    def variant(self, options: Mapping[str, str]) -> RubricProtocol:
        """Return a variant: `repeat=3` averages repetitions, `swap` both image orders.

        `wording=NAME` names the user's own prompts; any other word is the name of the judge.
        """
        judges = [word for word in options if word not in ("repeat", "swap", "wording")]
        if len(judges) > 1 or any(options[word] for word in (*judges, "swap") if word in options):
            raise BadInputError(
                f"A rubric takes repeat=N, swap, and the name of one judge; got '{format_variant(self.name, options)}'."
            )
        repeat = options.get("repeat", str(self._options.repeat))
        if not (repeat.isascii() and repeat.isdigit() and 1 <= int(repeat) <= 64):
            raise BadInputError(f"{self.name}[repeat=N] takes a number from 1 to 64; got '{repeat}'.")
        selected = RubricOptions(int(repeat), "swap" in options, options.get("wording"))
        return self._replace(judges[0] if judges else None, selected)

    def with_models(self, models: Mapping[str, str]) -> RubricProtocol:
        """Return the protocol with the judge that was named first, by the variant or by the run."""
        return self._replace(self.judge or models.get("judge"), self._options)

    def worded(self, wording: str, prompts: Collection[str]) -> RubricProtocol:
        """Return the protocol with the user's own prompts in its name, if one of them is for this rubric."""
        own_prompts = {prompt_name(self._rubric.name, question.name) for question in self._rubric.questions}
        if not own_prompts.intersection(prompts):
            return self
        return self._replace(self.judge, replace(self._options, wording=wording))

    def _replace(self, judge: str | None, options: RubricOptions) -> RubricProtocol:
        return RubricProtocol(self._opened, judge, options, released=self._released is not None)

    async def score(self, item: Item, perception: JudgingPerception) -> Scores:
        """Return every dimension and score of the rubric, averaged over repetitions."""
        if self.judge is None:
            raise UnscorableError("no_model", f"{self.name} needs a judge; name one with --judge")
        orders = (False, True) if self._options.swap else (False,)
        passes = await gather(
            *(
                self._pass(item, perception, number, swap=swap)
                for number in range(self._options.repeat)
                for swap in orders
            )
        )
        notes = [note for _, notes_of_pass in passes for note in notes_of_pass]
        scores: dict[str, Score | Unscored] = {}
        for spec in self.scores:
            values = [ratings.get(spec.name) for ratings, _ in passes]
            scores[spec.name] = _mean(values, () if scores else tuple(notes))
        return scores

    def questions_at_most(self, edit: Edit, outcomes: int) -> Mapping[str, int]:
        """Return the number of questions that apply, in each repetition and order."""
        questions = sum(self._rubric.applies(question.when, edit) for question in self._rubric.questions)
        times = self._options.repeat * (2 if self._options.swap else 1)
        return {self.judge: questions * times * outcomes} if self.judge else {}

    async def part(self, item: Item, perception: JudgingPerception) -> SetPart:
        """Return the scores that sets are made of, with the fields that group them."""
        scores = await self.score(item, perception)
        results = [scores[part.of] for part in self._rubric.sets]
        numbers = np.array([result.value if isinstance(result, Score) else np.nan for result in results])
        accepted = np.array([self._rubric.applies(part.when, item.edit) for part in self._rubric.sets])
        groups = [self._rubric.field(item.edit, part.over) if part.over else "" for part in self._rubric.sets]
        return numbers, accepted, np.array(groups)

    def score_set(self, parts: Sequence[SetPart]) -> Scores:
        """Return means of group means, over the scored outcomes of each set."""
        return {part.name: _set_mean(part.over, index, parts) for index, part in enumerate(self._rubric.sets)}

    async def _pass(
        self, item: Item, perception: JudgingPerception, repetition: int, *, swap: bool
    ) -> tuple[dict[str, float | Unscored | None], list[Note]]:
        """Return all dimensions and scores from one round of questions."""
        questions = [question for question in self._rubric.questions if self._rubric.applies(question.when, item.edit)]
        answers = await gather(
            *(self._ask(question, item, perception, repetition, swap=swap) for question in questions)
        )
        values: dict[str, float | Unscored | None] = {
            dimension.name: None for question in self._rubric.questions for dimension in question.dimensions
        }
        notes: list[Note] = []
        for ratings, notes_of_answer in answers:
            values |= ratings
            notes += notes_of_answer
        caps = self._released is None or self._released.caps
        return self._rubric.combine(values, item.edit, caps=caps), notes

    async def _ask(
        self, rubric_question: RubricQuestion, item: Item, perception: JudgingPerception, repetition: int, *, swap: bool
    ) -> tuple[dict[str, float | Unscored], list[Note]]:
        names = [dimension.name for dimension in rubric_question.dimensions]
        try:
            question = self.question(rubric_question, item, perception).again(repetition)
            answer = await perception.ask(question.swapped() if swap else question, role=self.judge or "judge")
        except UnscorableError as error:
            if self._released and self._released.failed == "zero" and isinstance(error, NoAnswerError):
                return dict.fromkeys(names, 0.0), [Note(f"{rubric_question.name}: no answer counts as 0, as released")]
            return dict.fromkeys(names, Unscored(error.reason, error.detail)), []
        return dict(answer.value), [Note(_note(rubric_question.name, self.judge or "", answer))]

    def _prompt(self, question: RubricQuestion, perception: JudgingPerception) -> Prompt:
        """Return the user's wording of a question if there is one, else ours."""
        try:
            return perception.prompt(prompt_name(self._rubric.name, question.name))
        except UnknownNameError:
            return perception.prompt("rubric")

    def question(
        self, rubric_question: RubricQuestion, item: Item, perception: JudgingPerception
    ) -> Question[Mapping[str, float]]:
        """Return one of the rubric's questions about an outcome."""
        images = tuple(image for side in rubric_question.shows for image in _labeled_images(side, item))
        low, high = rubric_question.range
        form = Ratings(
            tuple((dimension.name, tuple(dimension.also)) for dimension in rubric_question.dimensions),
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
        rendered = prompt.render_known(
            question=_fill(rubric_question.asks, slots),
            low=f"{low:g}",
            high=f"{high:g}",
            dimensions="\n".join(
                f"- {dimension.name}: {_fill(dimension.asks, slots)}" for dimension in rubric_question.dimensions
            ),
            limits="\n".join(["", *limits, ""]) if limits else "",
            form="{" + ", ".join(['"reasoning": "…"', *(f'"{name}": N' for name, _ in form.names)]) + "}",
            **slots,
        )
        named = replace(rendered, prompt=prompt_name(self._rubric.name, rubric_question.name))
        return Question(words=named, form=form, images=images)


def prompt_name(rubric: str, question: str) -> str:
    """Return the name of a question's prompt, in transcripts and in the user's prompt files.

    >>> prompt_name("complex-edit", "quality")
    'rubric_complex_edit_quality'
    """
    plain = "".join(character if character.isalnum() else "_" for character in rubric.lower())
    return f"rubric_{plain}_{question}"


def open_rubric_protocol(base: str) -> RubricProtocol:
    """Return the protocol of `rubric:NAME`, `rubric:NAME@released` or `rubric:FILE.yaml`."""
    name = base.removeprefix(PREFIX)
    released = name.endswith(RELEASED)
    opened = open_rubric(name.removesuffix(RELEASED))
    if released and opened.rubric.released is None:
        raise BadInputError(f"The rubric '{opened.called}' has no variant {RELEASED}: its file names no difference.")
    return RubricProtocol(opened, None, RubricOptions(opened.rubric.repeat), released=released)


def _fill(text: str, slots: Mapping[str, str]) -> str:
    """Fill the slots of a text; what fills a slot is not parsed again."""
    return SLOT.sub(lambda slot: slots.get(slot[1], slot[0]), text).strip()


def _labeled_images(which: str, item: Item) -> list[LabeledImage]:
    """Return an image with its label; after the source come the other images of the edit."""
    images = [LabeledImage(LABELS[which], _image_of(which, item))]
    if which == "source":
        roles = [source_image.role for source_image in item.edit.inputs]
        for position, (role, pixels) in enumerate(zip(roles, item.inputs, strict=True), start=2):
            kind = "" if role == "image" else f" ({role})"
            images.append(LabeledImage(f"Picture {position} that the edit starts from{kind}:", pixels))
    return images


def _image_of(which: str, item: Item) -> Any:
    if which == "reference":
        if item.reference is None:
            raise UnscorableError(
                "not_applicable", "the edit has no picture of a correct edit, and the rubric shows it"
            )
        return item.reference
    return item.source if which == "source" else item.as_made


def _dimension_range(limits: tuple[float, float], *, released: bool) -> tuple[float, float]:
    """Return the range of a dimension; guesses of released code may be zero."""
    low, high = limits
    return (min(low, 0.0), high) if released else (low, high)


def _mean(values: Sequence[float | Unscored | None], notes: tuple[Note, ...]) -> Score | Unscored:
    """Return the mean over repetitions; unscored if one is missing, because a partial mean is another quantity."""
    numbers = [value for value in values if isinstance(value, float | int)]
    if len(numbers) == len(values):
        spread = f" (repetitions: {', '.join(f'{number:g}' for number in numbers)})" if len(numbers) > 1 else ""
        return Score(fmean(numbers), (*notes, *([Note(f"mean of {len(numbers)}{spread}")] if spread else [])))
    gap = next((value for value in values if isinstance(value, Unscored)), None)
    if gap is None:
        return Unscored("not_applicable", "the rubric does not ask this for the edit", notes)
    return replace(gap, evidence=(*gap.evidence, *notes))


def _set_mean(over: str | None, index: int, parts: Sequence[SetPart]) -> Score | Unscored:
    groups: dict[str, list[float]] = defaultdict(list)
    for values, accepted, names in parts:
        if accepted[index] and not np.isnan(values[index]):
            groups[str(names[index])].append(float(values[index]))
    if not groups:
        return Unscored("not_applicable", "no outcome with a score belongs to this set")
    mean = fmean(fmean(group) for group in groups.values())
    of = f" of {len(groups)} values of {over}" if over else ""
    return Score(mean, (Note(f"Mean{of}, {sum(map(len, groups.values()))} outcomes."),))


def _note(question: str, judge: str, answer: Answer[Mapping[str, float]]) -> str:
    numbers = _format_ratings(answer.value)
    if answer.members:
        member_ratings = "; ".join(f"{name}: {_format_ratings(values)}" for name, values in answer.members.items())
        return f"{question}: {judge} gives {numbers} ({member_ratings})"
    reply = parse_object(parse_reply(answer.call.body).text) if answer.call.body else None
    reasons = (reply or {}).get("reasoning")
    reason_text = f": {reasons[:400]}" if isinstance(reasons, str) and reasons else ""
    return f"{question}: {judge} gives {numbers}{reason_text} (call {answer.call.identity[:12]})"


def _format_ratings(values: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:g}" for name, value in values.items())
