"""What judges are asked about differences, and the forms of their answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict

from editgauge.judges import Question, Shown
from editgauge.judges.forms import FreeText, Structured, YesNo
from editgauge.protocols.difference.triplets import Action, Triplet

if TYPE_CHECKING:
    from editgauge._util.images import Pixels
    from editgauge.protocols import JudgingPerception
    from editgauge.types import Item


class _Said(BaseModel):
    model_config = ConfigDict(extra="forbid")


class SaidDifferences(_Said):
    """Every difference, a sentence each."""

    differences: list[str]


class SaidDifference(_Said):
    """The main difference, if there is one."""

    difference: str | None


class SaidTriplet(_Said):
    """One change in a caption."""

    source: str | None
    target: str | None
    action: Action


class SaidTriplets(_Said):
    """The changes in a caption."""

    triplets: list[SaidTriplet]


class SaidCaption(_Said):
    """What the pipeline ends with: a caption, and what it is about."""

    caption: str
    action: Action
    source_object: str | None
    target_object: str | None
    source_attributes: list[str]
    target_attributes: list[str]

    @property
    def triplet(self) -> Triplet:
        """The change itself."""
        return Triplet(self.source_object or None, self.target_object or None, self.action)


def every_difference(item: Item, perception: JudgingPerception) -> Question[SaidDifferences]:
    """All differences of the two pictures, the main one first."""
    words = perception.prompt("all_differences").render()
    return Question(words=words, form=Structured(SaidDifferences), images=_both(item))


def main_difference(item: Item, perception: JudgingPerception) -> Question[SaidDifference]:
    """The main difference of the two pictures."""
    words = perception.prompt("main_difference").render()
    return Question(words=words, form=Structured(SaidDifference), images=_both(item))


def triplets_in(caption: str, perception: JudgingPerception) -> Question[SaidTriplets]:
    """The changes that a caption tells."""
    words = perception.prompt("difference_triplets").render(caption=caption)
    return Question(words=words, form=Structured(SaidTriplets))


def same_object(one: str, other: str, perception: JudgingPerception) -> Question[bool]:
    """Can two names mean the same kind of thing?"""
    return Question(words=perception.prompt("object_match").render(first=one, second=other), form=YesNo())


def same_difference(one: str, other: str, perception: JudgingPerception) -> Question[bool]:
    """Do two sentences tell the same difference?"""
    return Question(words=perception.prompt("main_difference_match").render(first=one, second=other), form=YesNo())


def seen_in(picture: Pixels, perception: JudgingPerception) -> Question[str]:
    """What a part of a picture shows, in one sentence."""
    words = perception.prompt("zoom_caption").render()
    return Question(words=words, form=FreeText(), images=(Shown("The picture:", picture),))


def changes_from_captions(
    instruction: str, before: str, after: str, perception: JudgingPerception
) -> Question[SaidCaption]:
    """The change that a request and the captions of both pictures tell."""
    words = perception.prompt("pipeline_caption").render(instruction=instruction, before=before, after=after)
    return Question(words=words, form=Structured(SaidCaption))


def _both(item: Item) -> tuple[Shown, Shown]:
    return Shown("Before the change:", item.source), Shown("After the change:", item.as_made)
