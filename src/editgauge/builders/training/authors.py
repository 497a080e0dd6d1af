"""Who words made-up edits: rules, which need no service, or a judge."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Protocol

from pydantic import BaseModel

from editgauge.builders.judge_calls import Ask, OpenPrompt
from editgauge.builders.training.change import (
    DescribedChange,
    as_many,
    backwards,
    caption_of,
    change_of,
    instruction_of,
    reworded,
    towards,
)
from editgauge.builders.training.decoys import ChangeScene, check, decoy, standing
from editgauge.errors import UnscorableError
from editgauge.judges import Question
from editgauge.judges._questions import Structured
from editgauge.models.vocabulary._phrases import plain_words, singulars
from editgauge.protocols.difference._triplets import Action
from editgauge.types import Edit

OFFERS = 5
"""This many other goals are asked for; the first that can be checked is taken."""
NOTHING_KNOWN = "nothing"
CHOICES = {
    "Add": "Choose things that look similar and are surely not in the picture.",
    "Replace": "Choose things that look similar and are surely not in the picture.",
    "Remove": "Choose among these things, which are seen in the picture and stayed there: {}.",
    "Change Attribute": "Choose attributes of the same kind that nobody could take for it.",
}


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
    way_back: Worded | UnscorableError


class Author(Protocol):
    """Words edits, and made-up ones."""

    async def read(self, edit: Edit) -> EditAndReverse:
        """Parse an edit and its reverse; raise `UnscorableError` if it is ambiguous."""
        ...

    async def negative(self, worded: Worded, scene: ChangeScene, chance: Random) -> Worded:
        """Word a request that was certainly not carried out; raise `UnscorableError` if there is none."""
        ...


class RuleAuthor:
    """Templates, WordNet and tables of attributes."""

    async def read(self, edit: Edit) -> EditAndReverse:
        """By the edit's parts, or by the forms of instruction that rules know."""
        change = change_of(edit)
        own = Worded(change, edit.instruction or instruction_of(change), caption_of(change))
        try:
            back = backwards(change)
        except UnscorableError as unable:
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


class SaidReverse(BaseModel, extra="forbid"):
    """What an edit changes, and the way back."""

    action: Action
    thing: str | None
    before: str | None
    after: str | None
    caption: str
    reversed_instruction: str | None
    reversed_caption: str | None


class SaidNegative(BaseModel, extra="forbid"):
    """A request that was not carried out."""

    goal: str
    instruction: str
    caption: str


class SaidNegatives(BaseModel, extra="forbid"):
    """Several of them, the most tempting first."""

    edits: list[SaidNegative]


class JudgeAuthor:
    """Asks a judge for the words, and takes them only where they can be checked."""

    def __init__(self, ask: Ask, prompt: OpenPrompt) -> None:
        self._ask = ask
        self._prompt = prompt

    async def read(self, edit: Edit) -> EditAndReverse:
        """The judge's reading of the instruction; where the edit has parts, those decide what changes."""
        known = edit.source_caption or NOTHING_KNOWN
        words = self._prompt("reverse_edit").render(instruction=edit.instruction, known=known)
        answer: SaidReverse = (await self._ask(Question(words=words, form=Structured(SaidReverse)))).value
        change = _checked(answer, edit)
        own = Worded(change, edit.instruction, _naming(answer.caption, change.goal))
        try:
            return EditAndReverse(own, _way_back(change, answer, f"{edit.instruction} {edit.source_caption or ''}"))
        except UnscorableError as unable:
            return EditAndReverse(own, unable)

    async def negative(self, worded: Worded, scene: ChangeScene, chance: Random) -> Worded:
        """The first of the judge's offers that is surely wrong."""
        change, choice = worded.change, CHOICES[worded.change.action]
        if change.action == "Remove":
            choice = choice.format(", ".join((await standing(change, scene))[:OFFERS]))
        words = self._prompt("negative_edit").render(
            instruction=worded.instruction, goal=change.goal, choice=choice, amount=OFFERS
        )
        answer: SaidNegatives = (await self._ask(Question(words=words, form=Structured(SaidNegatives)))).value
        why = UnscorableError("unparsable", "the judge offers no other goal")
        for offer in answer.edits:
            try:
                await check(offer.goal, change, scene)
                named = [_naming(text, offer.goal) for text in (offer.instruction, offer.caption)]
                return Worded(towards(change, offer.goal), *named)
            except UnscorableError as unable:
                why = unable
        raise why


def _checked(answer: SaidReverse, edit: Edit) -> DescribedChange:
    """The change that a judge read, if the instruction bears it out; raises `UnscorableError`."""
    try:
        return change_of(edit)
    except UnscorableError:
        change = DescribedChange(answer.action, answer.before or None, answer.after or None, answer.thing or None)
    action = edit.extras.get("action")
    if action is not None and action != change.action:
        raise UnscorableError("unparsable", f"the judge reads '{edit.instruction}' as {change.action}, it is {action}")
    if change.action == "Change Attribute" and not change.thing:
        raise UnscorableError("unparsable", f"the judge does not say what changes its look in '{edit.instruction}'")
    if change.action == "Replace":
        _naming(edit.instruction, change.before or "")
    _naming(edit.instruction, change.goal)
    return change


def _way_back(change: DescribedChange, answer: SaidReverse, known: str) -> Worded:
    """The judge's words for the way back; what was there before must have been told, never guessed."""
    if change.action == "Change Attribute" and not change.before and answer.before:
        change = DescribedChange(change.action, _known(known, answer.before), change.after, change.thing, change.where)
    back = backwards(change)
    if not answer.reversed_instruction or not answer.reversed_caption:
        raise UnscorableError("unparsable", "the judge gives no words for the way back")
    return Worded(back, *(_naming(text, back.goal) for text in (answer.reversed_instruction, answer.reversed_caption)))


def _naming(text: str, goal: str) -> str:
    """The text, if it names the goal; raises `UnscorableError` when it is about something else."""
    if not goal or not _words(goal) <= _words(text):
        raise UnscorableError("unparsable", f"the judge's '{text}' does not name '{goal}'")
    return text


def _known(known: str, guess: str) -> str:
    if not _words(guess) <= _words(known):
        raise UnscorableError("unparsable", f"the judge says that it was '{guess}' before, without any evidence")
    return guess


def _words(text: str) -> set[str]:
    """The words in the singular, for comparing."""
    return {(singulars(word) or [word])[0] for word in plain_words(text)}
