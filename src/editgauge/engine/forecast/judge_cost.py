"""What the judges of a run would be asked at most, and what that would cost: estimated from a few outcomes, without any
call.

Protocols ask further questions after some answers. They are therefore listened to twice, once with every answer yes and
much, once with no and little, and of each prompt the larger number counts. Each answer may need a repair question.
"""

from __future__ import annotations

import asyncio
import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

from editgauge.core.concurrency import run_async
from editgauge.engine.forecast.hypothetical import hypothetical
from editgauge.engine.judges import FOLDER
from editgauge.engine.plan.run_plan import RunPlan
from editgauge.engine.plan.tasks import all_tasks
from editgauge.engine.worker.memory_gate import MemoryGate
from editgauge.engine.worker.perception import RunPerception
from editgauge.engine.worker.scoring import ScoringTask, score_task
from editgauge.judges import Answer, Question
from editgauge.judges.calls import Call
from editgauge.judges.panel import members_of
from editgauge.models.cache import place

LOOKED_AT = 24
"""Outcomes from which the rest is estimated."""

Value = TypeVar("Value")


class CountingPerception(RunPerception):
    """Notes what is asked; the answers are made up, lead to what would be asked next, and are kept nowhere."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.inclined = True
        """Whether made-up answers are yes and much, or no and little."""
        self.heard: dict[bool, dict[str, list[Question[Any]]]] = {each: defaultdict(list) for each in (True, False)}

    def asked(self, name: str) -> list[Question[Any]]:
        """What a judge would be asked at most: of each prompt as many as in the listening that heard more of it."""
        by_prompt: dict[str, list[list[Question[Any]]]] = defaultdict(list)
        for inclined in (True, False):
            mine: dict[str, list[Question[Any]]] = defaultdict(list)
            for question in self.heard[inclined][name]:
                mine[question.words.prompt].append(question)
            for prompt, questions in mine.items():
                by_prompt[prompt].append(questions)
        return [question for heard in by_prompt.values() for question in max(heard, key=len)]

    async def ask(self, question: Question[Value], role: str = "judge") -> Answer[Value]:
        """A made-up answer of the asked form."""
        self.judge(role)
        for member in members_of(role):
            self.heard[self.inclined][member].append(question)
        return hypothetical(question, self.inclined)

    def told(self, outcomes: int, times: float, call_seconds: float | None = None) -> dict[str, dict[str, Any]]:
        """For each judge the calls, tokens, cost and time of that many times these outcomes.

        Args:
            outcomes: how many were listened to
            times: how many times as many there are
            call_seconds: how long a call takes; as the transcripts tell when left out
        """
        return {name: self._told(name, outcomes, times, call_seconds) for name in self.judges}

    def _told(self, name: str, outcomes: int, times: float, call_seconds: float | None) -> dict[str, Any]:
        judge = self.judges[name]
        found = judge.estimate(self.asked(name))
        fields = {
            "questions": round(found.questions * times),
            "answered before": round(found.recorded * times),
            "calls": math.ceil(found.calls * times),
            "calls at most": math.ceil((found.calls + found.repairs) * times),
            "prompt tokens": round(found.prompt_tokens * times),
            "completion tokens at most": round(found.completion_tokens * times),
            "derived from": f"{outcomes} outcomes; what follows from answers is counted, at most adds a repair to each",
        }
        if judge.ledger.price.prompt or judge.ledger.price.completion:
            fields["cost at most"] = round(found.cost * times, 4)
        each = seconds_of_a_call(judge.name, judge.transcripts) if call_seconds is None else call_seconds
        if each is not None:
            fields |= {"seconds a call": round(each, 3), "calls at once": judge.at_once}
            fields["seconds"] = round(found.calls * times * each / judge.at_once, 1)
        return fields


def seconds_of_a_call(model: str, calls: Iterable[Call]) -> float | None:
    """How long a call of that model usually took; None when none was ever answered."""
    known = [call.latency for call in calls if call.asked["model"] == model and call.body is not None]
    return median(known) if known else None


def asking_cost(plan: RunPlan, out: Path) -> dict[str, dict[str, Any]]:
    """For each judge the calls, tokens and cost of the whole run, or shard, at most."""
    if not plan.jury.addresses:
        return {}
    with_image = sum(task.outcome.image is not None for task in all_tasks(plan))
    if not with_image:
        return {}
    tasks = (task for task in all_tasks(plan) if task.outcome.image)
    many = min(LOOKED_AT, with_image)
    evenly = {place * with_image // many for place in range(many)}
    some = [task for place, task in enumerate(tasks) if place in evenly]
    transcripts = out / FOLDER if (out / FOLDER).is_dir() else None
    see = CountingPerception(plan.choice.models, place(), plan.jury, transcripts)
    run_async(_listen(plan, some, see))
    return see.told(len(some), with_image / len(some))


async def _listen(plan: RunPlan, tasks: Sequence[ScoringTask], see: CountingPerception) -> None:
    gate = MemoryGate()
    async with see:
        for see.inclined in (True, False):
            await asyncio.gather(*(score_task(task, plan.protocols, see, gate) for task in tasks))
