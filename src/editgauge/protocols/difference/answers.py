"""What a model, and what people, tell about the differences of one item; how triplets are read from captions."""

from __future__ import annotations

from asyncio import gather
from dataclasses import dataclass
from typing import TYPE_CHECKING

from editgauge.benchmarks.editinspector.outcome_captions import EXTRA, caption_of
from editgauge.errors import UnscorableError
from editgauge.protocols.difference.pipeline import pipeline_caption
from editgauge.protocols.difference.questions import (
    SaidCaption,
    every_difference,
    main_difference,
    seen_in,
    triplets_in,
)
from editgauge.protocols.difference.triplets import Triplet

if TYPE_CHECKING:
    from editgauge._util.images import Pixels
    from editgauge.protocols import JudgingPerception
    from editgauge.types import Edit, Item, Outcome


MOST_TRIPLETS = 24
"""More differences than any caption tells; it bounds how many objects a grader is asked to compare."""


@dataclass(frozen=True, slots=True)
class ModelDifferences:
    """The differences that a model named."""

    differences: tuple[str, ...]
    """A sentence each; nothing when it saw none."""
    main: str | None
    triplet: Triplet | None = None
    """The one change, where the model gave it as such."""
    source_attributes: tuple[str, ...] = ()
    """What the object was like before, where the model says so."""
    target_attributes: tuple[str, ...] = ()
    """What it is like now."""
    place: str = ""
    """How the part of the picture was chosen that the caption is about."""

    @property
    def metadata(self) -> str:
        """Action, objects and attributes in one line; empty where the model gave a caption alone."""
        if self.triplet is None:
            return ""
        sides = (
            ("source", self.triplet.source, self.source_attributes),
            ("target", self.triplet.target, self.target_attributes),
        )
        words = [f"{side} {name or 'none'}" + (f" ({', '.join(its)})" if its else "") for side, name, its in sides]
        return "; ".join([self.triplet.action, *words])

    @property
    def caption(self) -> str:
        """All of it."""
        return " ".join(self.differences)


async def asked_directly(item: Item, perception: JudgingPerception, judge: str) -> ModelDifferences:
    """The judge looks at both pictures: once for all differences, once for the main one."""
    every, main = await gather(
        perception.ask(every_difference(item, perception), role=judge),
        perception.ask(main_difference(item, perception), role=judge),
    )
    sentences = tuple(each.strip() for each in every.value.differences if each.strip())
    return ModelDifferences(sentences, (main.value.difference or "").strip() or None)


async def by_pipeline(item: Item, perception: JudgingPerception, judge: str) -> ModelDifferences:
    """The judge sees no picture, only captions of the place by a captioner: one difference comes of it."""
    return _one(*await pipeline_caption(item, perception, judge, perception.caption))


async def by_judged_pipeline(item: Item, perception: JudgingPerception, judge: str) -> ModelDifferences:
    """The same, with captions by the judge itself, who sees one part of one picture at a time."""

    async def caption(picture: Pixels) -> str:
        return (await perception.ask(seen_in(picture, perception), role=judge)).value

    return _one(*await pipeline_caption(item, perception, judge, caption))


def _one(said: SaidCaption, place: str) -> ModelDifferences:
    attributes = tuple(said.source_attributes), tuple(said.target_attributes)
    return ModelDifferences((said.caption,), said.caption, said.triplet, *attributes, place)


async def triplets_by_judge(caption: str, perception: JudgingPerception, grader: str) -> tuple[Triplet, ...]:
    """The differences in a caption, read by a judge; an empty caption has none."""
    if not caption:
        return ()
    answer = await perception.ask(triplets_in(caption, perception), role=grader)
    if len(answer.value.triplets) > MOST_TRIPLETS:
        many = f"{grader} reads {len(answer.value.triplets)} differences in one caption, more than {MOST_TRIPLETS}"
        raise UnscorableError("unparsable", many)
    return tuple(Triplet(each.source or None, each.target or None, each.action) for each in answer.value.triplets)


def people_of(edit: Edit, outcome: Outcome | None = None) -> tuple[str, ...]:
    """The difference captions that people wrote, one for each: of this outcome, or else of the edit."""
    own = caption_of(edit, outcome) if outcome is not None else None
    if own is not None and own.people:
        return own.people
    listed = edit.extras.get("differences", ())
    return tuple(each.strip() for each in listed if isinstance(each, str) and each.strip())


def most_people(edit: Edit) -> int:
    """How many captions of people one outcome of the edit has at most."""
    own = (len(each["people"]) for each in edit.extras.get(EXTRA, {}).values())
    return max([len(people_of(edit)), *own])


def human_captions(edit: Edit, outcome: Outcome | None = None) -> tuple[str, ...]:
    """The difference captions that people wrote, one for each; raises `UnscorableError` where there is none.

    They come with the outcome (`run --captions`), or stand in `extras["differences"]`; `extras["difference_caption"]`
    may be a machine's and is not taken for one.
    """
    captions = people_of(edit, outcome)
    if not captions:
        raise UnscorableError("not_applicable", "no person wrote a difference caption for this edit")
    return captions
