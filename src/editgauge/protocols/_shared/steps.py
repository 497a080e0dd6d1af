"""Instructions with several steps: each is judged on its own, and the edit is done when all are."""

from __future__ import annotations

from asyncio import gather
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from editgauge._util.text import counted
from editgauge.evidence import Note
from editgauge.instructions.readings import steps_of
from editgauge.types import Item, Score, Scores, ScoreSpec, Unscored

DONE = 0.5
"""A step with at least this score counts as done."""
STEPS_DONE = ScoreSpec("steps_done", True, (0.0, 1.0), "The share of the instruction's steps that were done.")
"""What every protocol that judges an edit step by step declares too."""


def item_steps(item: Item) -> tuple[Item, ...]:
    """The item once per step of its instruction."""
    return tuple(replace(item, edit=edit) for edit in steps_of(item.edit))


async def score_each_step(item: Item, score: Callable[[Item], Awaitable[Scores]]) -> Scores:
    """The scores of an item and `steps_done`; `edit` is that of all steps, and what needs one change has no score."""
    parts = item_steps(item)
    every = await gather(*(score(part) for part in parts))
    verdicts = [each["edit"] for each in every]
    if len(parts) == 1:
        return {**every[0], "steps_done": share_done(verdicts)}
    several = Unscored("not_applicable", f"the instruction asks for {len(parts)} changes, and this looks beside one")
    return {**dict.fromkeys(every[0], several), "edit": all_done(verdicts), "steps_done": share_done(verdicts)}


def all_done(verdicts: Sequence[Score | Unscored]) -> Score | Unscored:
    """The verdict on all steps: the least of them; unscored when a step is, unless another one failed already."""
    scored = [each for each in verdicts if isinstance(each, Score)]
    evidence = tuple(row for each in verdicts for row in each.evidence)
    lowest = min((each.value for each in scored), default=1.0)
    done = sum(each.value >= DONE for each in scored)
    note = Note(f"{done} of {counted(len(verdicts), 'step')} done")
    if len(scored) == len(verdicts) or lowest < DONE:
        return Score(lowest, (note, *evidence))
    number, missing = next((n, each) for n, each in enumerate(verdicts, start=1) if isinstance(each, Unscored))
    return Unscored(missing.reason, f"step {number} of {len(verdicts)}: {missing.detail}", (note, *evidence))


def share_done(verdicts: Sequence[Score | Unscored]) -> Score | Unscored:
    """The share of the steps that were done; unscored when a step is."""
    missing = next((each for each in verdicts if isinstance(each, Unscored)), None)
    if missing is not None:
        return Unscored(missing.reason, missing.detail)
    done = sum(isinstance(each, Score) and each.value >= DONE for each in verdicts)
    return Score(done / len(verdicts), (Note(f"{done} of {counted(len(verdicts), 'step')} done"),))
