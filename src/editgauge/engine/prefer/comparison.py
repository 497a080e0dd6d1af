"""A judge is shown two outcomes of one source and says which is better; many pairs are under way at once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from editgauge._util.images import Pixels
from editgauge.judges import Choice, ModelJudge, NoAnswerError, Question, ask_pairwise, open_prompt
from editgauge.judges.prompts import Prompt

PAIRS_UNDER_WAY = 4
"""For each question that the judge takes at once, so that it never waits and few pictures are held."""
Pair = TypeVar("Pair")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class ComparisonWording:
    """What is asked about two outcomes, and the words around it."""

    question: str
    frame: Prompt

    @classmethod
    def of(cls, prompts: Path | None, question: str = "") -> ComparisonWording:
        """The built-in words, or those of a folder of prompts: which is better, or better in one respect."""
        name = f"prefer_{question}" if question else "prefer"
        return cls(open_prompt(name, folder=prompts).render().text, open_prompt("pairwise", folder=prompts))

    def ask(self, request: str, source: Pixels, one: Pixels, two: Pixels) -> Question[Choice]:
        """Which of the two fulfills the request better?"""
        return ask_pairwise(self.question, request, source, one, two, self.frame)


async def compare_each(
    judge: ModelJudge, pairs: Sequence[Pair], compare: Callable[[Pair], Awaitable[Result]], advance: Callable[[], None]
) -> list[Result]:
    """The result of every pair, in their order; no more are begun than the judge can take."""
    turns = asyncio.Semaphore(PAIRS_UNDER_WAY * judge.at_once)

    async def one(pair: Pair) -> Result:
        async with turns:
            verdict = await compare(pair)
        advance()
        return verdict

    return list(await asyncio.gather(*map(one, pairs)))


async def choice_of(judge: ModelJudge, question: Question[Choice]) -> Choice | NoAnswerError:
    """The outcome that it prefers, or why it gave no answer."""
    try:
        return (await judge.ask(question)).value
    except NoAnswerError as error:
        return error
