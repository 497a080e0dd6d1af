"""What the judges of a run will be asked and what that costs, expected from a few outcomes and at most; without a call.

Protocols ask further questions after some answers. They are therefore listened to twice, once with every answer yes and
much, once with no and little, and of each prompt the larger number is expected. What is asked at most the protocols
themselves say of each edit; each answer may need a repair question.
"""

from __future__ import annotations

import asyncio
import json
import math
import types
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from editgauge._util.batching import run_async
from editgauge.engine._judges import transcripts_of
from editgauge.engine._perception import MemoryGate, RunPerception
from editgauge.engine._run_plan import RemainingTasks, RunPlan
from editgauge.engine._scoring import ScoringTask, score_task
from editgauge.judges import Answer, NoAnswerError, Question
from editgauge.judges._panel import is_panel, panel_members
from editgauge.judges._questions import FreeText, PairwiseAnswer, Ratings, Scale, Structured, YesNo
from editgauge.judges._transcripts import Call
from editgauge.models._cache import cache_dir
from editgauge.protocols import Protocol, format_variant, parse_variant
from editgauge.types import Edit

MAX_SAMPLED_OUTCOMES = 24
"""Maximum number of outcomes from which the total is estimated."""
DEFAULT_IMAGES = 3
"""Assumed number of images in a question of a judge that was not asked in the sample."""
ASSUMED_LIST_LENGTH = 6
"""Assumed length of lists in answers of any length."""

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class QuestionLimits:
    """Upper bounds of the questions to judges."""

    questions: Mapping[str, int]
    """By judge."""
    text_bytes: int
    """The longest text of an edit, which a question may hold."""
    unknown: frozenset[str] = frozenset()
    """Judges that a protocol asks without saying how much."""


@dataclass(frozen=True, slots=True)
class Extrapolation:
    """How to extrapolate from a few outcomes to a run."""

    times: float
    """How many times as many outcomes there are."""
    limits: QuestionLimits
    call_seconds: float | None = None
    """How long a call takes; as the transcripts tell when left out."""


def questions_at_most(protocols: Sequence[Protocol], tasks: Iterable[ScoringTask]) -> QuestionLimits:
    """Return an upper bound of the questions to the judges about these outcomes.

    A panel asks its members what the same protocol by each of them alone asks: shared questions are counted once.
    """
    opened = {protocol.name: protocol for protocol in protocols}
    outcomes: Counter[tuple[str, str]] = Counter()
    edits: dict[str, Edit] = {}
    for task in tasks:
        if task.outcome.image is not None:
            edits[task.edit.id] = task.edit
            outcomes.update((task.edit.id, name) for name in task.protocols)
    silent = {
        member
        for protocol in opened.values()
        if protocol.judge and type(protocol).questions_at_most is Protocol.questions_at_most
        for member in panel_members(protocol.judge)
    }
    questions: Counter[str] = Counter()
    for (edit, name), count in outcomes.items():
        for judge, most in opened[name].questions_at_most(edits[edit], count).items():
            alone = {
                member: outcomes.get((edit, _by_member(name, judge, member)), 0) for member in panel_members(judge)
            }
            not_shared = [member for member in alone if not is_panel(judge) or alone[member] < count]
            questions.update(dict.fromkeys(not_shared, most))
    return QuestionLimits(dict(questions), max(map(_text_bytes, edits.values()), default=0), frozenset(silent))


def _by_member(protocol: str, panel: str, member: str) -> str:
    """Return the variant's name when a single member of its panel judges."""
    base, options = parse_variant(protocol)
    return format_variant(base, {member if option == panel else option: value for option, value in options.items()})


def _text_bytes(edit: Edit) -> int:
    """Return the size of all texts of an edit."""
    fields = (edit.instruction, edit.source_caption, edit.target_caption, edit.subject, edit.from_, edit.to)
    return len(json.dumps([*fields, dict(edit.extras)], default=str, ensure_ascii=False).encode())


class CountingPerception(RunPerception):
    """Perception that counts questions and makes up answers, which are never stored."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.inclined = True
        """Whether made-up answers are yes and much, or no and little."""
        self.recorded_questions: dict[bool, dict[str, list[Question[Any]]]] = {
            inclined: defaultdict(list) for inclined in (True, False)
        }

    def asked(self, name: str) -> list[Question[Any]]:
        """Return the questions to a judge: for each prompt, those of the pass that asked more of them."""
        by_prompt: dict[str, list[list[Question[Any]]]] = defaultdict(list)
        for inclined in (True, False):
            grouped: dict[str, list[Question[Any]]] = defaultdict(list)
            for question in self.recorded_questions[inclined][name]:
                grouped[question.words.prompt].append(question)
            for prompt, questions in grouped.items():
                by_prompt[prompt].append(questions)
        return [question for passes in by_prompt.values() for question in max(passes, key=len)]

    async def ask(self, question: Question[Value], role: str = "judge") -> Answer[Value]:
        """Record the question and return a made-up answer of the requested form."""
        self.judge(role)
        for member in panel_members(role):
            self.recorded_questions[self.inclined][member].append(question)
        return made_up_answer(question, inclined=self.inclined)

    def estimate(self, outcomes: int, by: Extrapolation) -> dict[str, dict[str, Any]]:
        """Estimate for each judge the calls, tokens, cost and time of the whole run.

        Args:
            outcomes: number of sampled outcomes.
            by: how to extrapolate from them.

        """
        return {name: self._of_judge(name, outcomes, by) for name in self.judges}

    def _of_judge(self, name: str, outcomes: int, by: Extrapolation) -> dict[str, Any]:
        judge, questions = self.judges[name], self.asked(name)
        expected = judge.estimate(questions)
        bound = judge.bound(
            by.limits.questions.get(name, 0),
            text_bytes=max((len(question.words.text.encode()) for question in questions), default=0)
            + by.limits.text_bytes,
            images=max((len(question.images) for question in questions), default=DEFAULT_IMAGES),
        )
        fields: dict[str, Any] = {
            "questions": round(expected.questions * by.times),
            "answered before": round(expected.recorded * by.times),
            "calls": math.ceil(expected.calls * by.times),
        }
        if name in by.limits.unknown:
            fields["calls at most"] = "not known: a protocol does not say how much it asks (questions_at_most)"
        else:
            fields["calls"] = min(fields["calls"], bound.calls)
            fields |= {
                "calls at most": bound.calls,
                "prompt tokens at most": bound.prompt_tokens,
                "completion tokens at most": bound.completion_tokens,
                **({} if bound.cost is None else {"cost at most": round(bound.cost, 4)}),
            }
        fields["derived from"] = (
            f"the expected calls from {outcomes} outcomes; the maximum from all edits, with a repair question for each"
        )
        question = median_call_seconds(judge.name, judge.transcripts) if by.call_seconds is None else by.call_seconds
        if question is not None:
            fields |= {"seconds a call": round(question, 3), "calls at once": judge.at_once}
            fields["seconds"] = round(expected.calls * by.times * question / judge.at_once, 1)
        return fields


def median_call_seconds(model: str, calls: Iterable[Call]) -> float | None:
    """How long a call of that model usually took; None when none was ever answered."""
    latencies = [call.latency for call in calls if call.question["model"] == model and call.body is not None]
    return median(latencies) if latencies else None


def estimate_judge_cost(plan: RunPlan, out: Path) -> dict[str, dict[str, Any]]:
    """Estimate for each judge the calls, tokens and cost of what is left of the run, or shard."""
    if not plan.judge_config.addresses:
        return {}
    left = RemainingTasks(plan, out)
    limits = questions_at_most(plan.protocols, left)
    with_image = sum(task.outcome.image is not None for task in left)
    if not with_image:
        return {}
    tasks = (task for task in left if task.outcome.image)
    many = min(MAX_SAMPLED_OUTCOMES, with_image)
    evenly = {index * with_image // many for index in range(many)}
    sample = [task for index, task in enumerate(tasks) if index in evenly]
    see = CountingPerception(plan.choice.models, cache_dir(), plan.judge_config, transcripts_of(out))
    run_async(_count_questions(plan, sample, see))
    return see.estimate(len(sample), Extrapolation(with_image / len(sample), limits))


async def _count_questions(plan: RunPlan, tasks: Sequence[ScoringTask], see: CountingPerception) -> None:
    gate = MemoryGate()
    async with see:
        for see.inclined in (True, False):
            await asyncio.gather(*(score_task(task, _left(plan, task), see, gate) for task in tasks))


def _left(plan: RunPlan, task: ScoringTask) -> list[Protocol]:
    return [protocol for protocol in plan.protocols if protocol.name in task.protocols]


def made_up_answer(question: Question[Any], *, inclined: bool) -> Answer[Any]:
    """Make up an answer of the requested form: yes and high, or no and low; never shown or stored.

    Raises `NoAnswerError` where no such answer can be made up.
    """
    return Answer(_value(question.form, inclined=inclined), _call(question))


def _value(form: Any, *, inclined: bool) -> Any:
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
                return form.model.model_validate(_field(form.model, 0, inclined=inclined))
            except (ValidationError, TypeError) as error:
                raise NoAnswerError("budget", "a dry run asks no judge") from error
    raise NoAnswerError("budget", "a dry run asks no judge")


def _field(annotation: Any, number: int, *, inclined: bool) -> Any:
    """Make up a value of a type that pydantic accepts."""
    origin, parts = get_origin(annotation), get_args(annotation)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return {
            name: _field(field.annotation, number, inclined=inclined) for name, field in annotation.model_fields.items()
        }
    if origin is list:
        return [_field(parts[0], index, inclined=inclined) for index in range(ASSUMED_LIST_LENGTH if inclined else 0)]
    if origin is Literal:
        return parts[0] if inclined else parts[-1]
    if origin in (Union, types.UnionType):
        members = [part for part in parts if part is not type(None)]
        return _field(members[0], number, inclined=inclined) if inclined or len(members) == len(parts) else None
    plain = {str: f"thing {number}", int: 1, float: 1.0, bool: inclined}
    if annotation not in plain:
        raise TypeError(f"no answer of the form {annotation} can be made up")
    return plain[annotation]


def _call(question: Question[Any]) -> Call:
    request = {"prompt": f"{question.words.prompt}.v{question.words.version}", "model": "", "images": []}
    return Call(
        identity="0" * 64,
        question=request,
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
