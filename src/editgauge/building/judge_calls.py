"""What the builders that ask a judge share: the judge itself, many questions at once, and a loop to run them in."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TypeVar

from editgauge.engine.judges import Jury
from editgauge.judges import ModelJudge, open_judge

T = TypeVar("T")
WAITING = 4
"""This many questions per place at the endpoint are under way: their pictures are in memory."""


def transcripts_beside(out: Path) -> Path:
    """Where the calls of a judge are kept."""
    return out.with_name(f"{out.stem}.transcripts")


def the_judge(jury: Jury, out: Path) -> ModelJudge:
    """The one judge of a jury; its calls are kept beside what is built, so that nothing is asked twice."""
    (address,) = jury.addresses.values()
    return open_judge(
        address,
        transcripts=transcripts_beside(out),
        parameters=jury.parameters,
        price=jury.price,
        budget=jury.budget,
        replay=jury.replay,
    )


async def each_of(judge: ModelJudge, things: Sequence[T], one: Callable[[T], Awaitable[None]]) -> None:
    """Does one for each of them, as many at once as the judge answers."""
    places = asyncio.Semaphore(WAITING * judge.at_once)

    async def turn(thing: T) -> None:
        async with places:
            await one(thing)

    await asyncio.gather(*(turn(thing) for thing in things))
