"""What the builders that ask a judge share: the judge itself, many questions at once, and a loop to run them in."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from editgauge._util.progress import log_info
from editgauge.engine._judges import JudgeConfig
from editgauge.errors import BadInputError
from editgauge.judges import Answer, ModelJudge, Question, open_judge, open_prompt
from editgauge.judges._cost import BYTES_PER_TOKEN, CallBound
from editgauge.judges.prompts import Prompt
from editgauge.types import Edit

T = TypeVar("T")
Ask = Callable[[Question[Any]], Awaitable[Answer[Any]]]
"""Puts one question to a judge."""
OpenPrompt = Callable[[str], Prompt]
"""Opens a prompt by its name."""
RULES = "rules"
"""In place of a judge's address: proposals come from rules."""
QUESTIONS_PER_SLOT = 4
"""This many questions per place at the endpoint are under way: their pictures are in memory."""


def transcripts_path(out: Path) -> Path:
    """Where the calls of a judge are kept."""
    return out.with_name(f"{out.stem}.transcripts")


def open_single_judge(judge_config: JudgeConfig, transcripts: Path) -> ModelJudge:
    """Open the only judge of a configuration; its calls are recorded in a folder."""
    (address,) = judge_config.addresses.values()
    return open_judge(
        address,
        transcripts=transcripts,
        parameters=judge_config.parameters,
        price=judge_config.price,
        budget=judge_config.budget,
        replay=judge_config.replay,
    )


def written_by(judge_config: JudgeConfig, prompts: Sequence[str]) -> str:
    """Return the name of the judge with the versions of its prompts."""
    (judge,) = judge_config.addresses
    opened = [open_prompt(name, folder=judge_config.prompts) for name in prompts]
    return f"{judge} ({', '.join(f'{item.name}.v{item.version}' for item in opened)})"


def bound_calls(
    judge_config: JudgeConfig,
    questions: int,
    *,
    prompts: Sequence[str],
    text_bytes: int,
    images: int = 0,
    quiet: bool = False,
) -> CallBound:
    """Bound the calls of a builder's judge, and log the bound.

    Args:
        judge_config: the one judge.
        questions: the most that there are, without repair questions.
        prompts: their names; one may hold another, so that they are added up.
        text_bytes: what is put into them at most, besides earlier answers.
        images: the most that one of them shows.
        quiet: print nothing.

    """
    if not judge_config.addresses:
        raise BadInputError("`dry_run` says what a judge would be asked; rules ask no judge.")
    (address,) = judge_config.addresses.values()
    judge = open_judge(address, parameters=judge_config.parameters, price=judge_config.price)
    longest = sum(len(open_prompt(name, folder=judge_config.prompts).text.encode()) for name in prompts)
    earlier = judge_config.max_tokens * BYTES_PER_TOKEN
    bound = judge.bound(questions, text_bytes=longest + text_bytes + earlier, images=images)
    cost = "pass `price` for the cost" if bound.cost is None else f"cost at most {bound.cost:.4g}"
    log_info(
        f"{bound.judge}: at most {bound.questions:,} questions, {bound.calls:,} calls with repair questions, "
        f"{bound.prompt_tokens:,} tokens of prompts and {bound.completion_tokens:,} of answers; {cost}. "
        "Nothing was asked.",
        quiet=quiet,
    )
    return bound


def edit_bytes(edits: Iterable[Edit]) -> int:
    """Return the length of the longest text among the edits."""
    return max(
        (len(f"{edit.instruction}{edit.source_caption}{edit.target_caption}".encode()) for edit in edits), default=0
    )


async def run_concurrently(judge: ModelJudge, items: Sequence[T], one: Callable[[T], Awaitable[None]]) -> None:
    """Process items concurrently, as many as the judge answers at once."""
    slots = asyncio.Semaphore(QUESTIONS_PER_SLOT * judge.at_once)

    async def turn(item: T) -> None:
        async with slots:
            await one(item)

    await asyncio.gather(*(turn(item) for item in items))
