"""Code that builders share: paths, results, reports, and questions to a judge."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from editgauge._util.coco import Coco
from editgauge._util.files import write_text
from editgauge._util.progress import log_info
from editgauge.engine._judges import JudgeConfig
from editgauge.errors import BadInputError, UnscorableError
from editgauge.judges import Answer, ModelJudge, Question, open_judge, open_prompt
from editgauge.judges._cost import BYTES_PER_TOKEN, CallBound
from editgauge.judges.prompts import Prompt
from editgauge.models.vocabulary import siblings
from editgauge.types import Edit


@dataclass(frozen=True, slots=True)
class OmittedTask:
    """An image, object or candidate that was left out of the benchmark."""

    what: str
    """An image, an object or a candidate."""
    why: str


@dataclass(frozen=True, slots=True)
class BuiltBenchmark:
    """Result of building a benchmark."""

    file: Path
    """The benchmark's own file."""
    review: Path
    report: Path
    images: int = 0
    candidates: int = 0
    reused: int = 0
    """Images of an earlier run that were left as they were."""
    left_out: tuple[OmittedTask, ...] = ()
    asking: CallBound | None = None
    """Of a dry run: what the judge can be asked at most."""


def check_paths(file: Path, images: Path) -> None:
    """Raise `BadInputError` unless the benchmark file can be built from these images."""
    if file.suffix != ".json":
        raise BadInputError(f"`out` is a file NAME.json, got '{file}'.")
    if not images.is_dir():
        raise BadInputError(f"There is no folder '{images}' for `images`.")


def similar_classes(coco: Coco, class_: str, present: Collection[str]) -> tuple[list[str], list[str]]:
    """Return absent classes that could replace a class: WordNet siblings, then others of its supercategory."""
    try:
        beside = set(siblings(class_))
    except UnscorableError:
        beside = set()
    absent = [word for word in coco.classes if word not in present]
    near = [word for word in absent if word in beside]
    return near, [word for word in absent if word not in beside and coco.classes[word] == coco.classes[class_]]


def report_path(out: Path) -> Path:
    """Return the path of the report next to a built file."""
    return out.with_name(f"{out.stem}.report.txt")


def write_report(file: Path, made: str, left_out: Sequence[OmittedTask]) -> None:
    """Write what was made, each reason with its count, and everything that was left out."""
    reasons = Counter(item.why for item in left_out)
    lines = [made, "", f"Left out: {len(left_out)}." if left_out else "Nothing was left out."]
    lines += [f"  {count:>5}  {why}" for why, count in reasons.most_common()]
    lines += ["", *(f"{element.what}: {element.why}" for element in left_out)] if left_out else []
    write_text(file, "\n".join(lines) + "\n")


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
    """Return the folder of the judge's transcripts next to a built file."""
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
