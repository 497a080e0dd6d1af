"""Who words made-up edits: rules, which need no service."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Protocol

from editgauge.building.training.change import DescribedChange, backwards, change_of, towards
from editgauge.building.training.decoys import ChangeScene, decoy
from editgauge.building.training.wording import as_many, caption_of, instruction_of, reworded
from editgauge.core.errors import CannotTell
from editgauge.core.types import Edit


@dataclass(frozen=True, slots=True)
class Worded:
    """A change, how it is asked for, and what is said about it afterwards."""

    change: DescribedChange
    instruction: str
    caption: str


@dataclass(frozen=True, slots=True)
class EditAndReverse:
    """An edit and its way back, or why there is none."""

    own: Worded
    way_back: Worded | CannotTell


class Author(Protocol):
    """Words edits, and made-up ones."""

    async def read(self, edit: Edit) -> EditAndReverse:
        """The edit and its way back; raises `CannotTell` when it is not clear what the edit asks for."""
        ...

    async def negative(self, worded: Worded, scene: ChangeScene, chance: Random) -> Worded:
        """A request that was surely not carried out in this scene; raises `CannotTell` when none can be determined."""
        ...


class RuleAuthor:
    """Templates, WordNet and tables of attributes."""

    async def read(self, edit: Edit) -> EditAndReverse:
        """By the edit's parts, or by the forms of instruction that rules know."""
        change = change_of(edit)
        own = Worded(change, edit.instruction or instruction_of(change), caption_of(change))
        try:
            back = backwards(change)
        except CannotTell as unable:
            return EditAndReverse(own, unable)
        return EditAndReverse(own, Worded(back, instruction_of(back), caption_of(back)))

    async def negative(self, worded: Worded, scene: ChangeScene, chance: Random) -> Worded:
        """The same words with another goal, so that the wording does not give away what was made up."""
        goal = await decoy(worded.change, scene, chance)
        if worded.change.action != "Change Attribute":
            goal = as_many(goal, like=worded.change.goal)
        change = towards(worded.change, goal)
        instruction = reworded(worded.instruction, worded.change.goal, goal)
        return Worded(change, instruction or instruction_of(change), caption_of(change))
