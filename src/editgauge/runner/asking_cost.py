"""What the judges of a run would be asked, and what that would cost: looked up on a few outcomes, asking nobody."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from editgauge.judges import Answer, NoAnswer, Question
from editgauge.perception.cache import place
from editgauge.runner.jury import FOLDER
from editgauge.runner.plan import Plan
from editgauge.runner.room import Room
from editgauge.runner.scoring import Task, score_task
from editgauge.runner.sight import Sight
from editgauge.runner.tasks import all_tasks

LOOKED_AT = 24
"""Outcomes from which the rest is told."""

Value = TypeVar("Value")


class Listening(Sight):
    """Notes what is asked, and answers nothing."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.asked: dict[str, list[Question[Any]]] = defaultdict(list)

    async def ask(self, question: Question[Value], role: str = "judge") -> Answer[Value]:
        """No answer, whatever the question."""
        self.judge(role)
        self.asked[role].append(question)
        raise NoAnswer("budget", "a dry run asks nobody")


def asking_cost(plan: Plan, out: Path) -> dict[str, dict[str, Any]]:
    """For each judge the calls, tokens and cost of the whole run; questions that follow from answers come on top."""
    with_image = sum(these.present for these in plan.found.values())
    if not plan.jury.addresses or not with_image:
        return {}
    tasks = (task for task in all_tasks(plan) if task.outcome.image)
    some = list(islice(tasks, 0, None, max(1, with_image // LOOKED_AT)))[:LOOKED_AT]
    transcripts = out / FOLDER if (out / FOLDER).is_dir() else None
    see = Listening(plan.choice.models, place(), plan.jury, transcripts)
    with ThreadPoolExecutor(1) as thread:  # a notebook has a running loop
        thread.submit(asyncio.run, _listen(plan, some, see)).result()
    times = with_image / len(some)
    return {name: _told(see, name, times, len(some)) for name in plan.jury.addresses}


async def _listen(plan: Plan, tasks: Sequence[Task], see: Listening) -> None:
    room = Room()
    async with see:
        await asyncio.gather(*(score_task(task, plan.protocols, see, room) for task in tasks))


def _told(see: Listening, name: str, times: float, outcomes: int) -> dict[str, Any]:
    found = see.judges[name].estimate(see.asked[name])
    told = {
        "questions": round(found.questions * times),
        "answered before": round(found.recorded * times),
        "calls": round(found.calls * times),
        "prompt tokens": round(found.prompt_tokens * times),
        "completion tokens at most": round(found.completion_tokens * times),
        "told from": f"{outcomes} outcomes; questions that follow from answers come on top",
    }
    return told | ({"cost at most": round(found.cost * times, 4)} if see.judges[name].ledger.price.prompt else {})
