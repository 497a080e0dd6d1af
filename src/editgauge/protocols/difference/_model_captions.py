"""What judges are asked about differences, and the forms of their answers."""

from __future__ import annotations

import re
from asyncio import gather
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import cv2
import numpy as np
from pydantic import BaseModel, ConfigDict

from editgauge._vision.changed_regions import find_changes
from editgauge.benchmarks.editinspector.outcome_captions import EXTRA, caption_of
from editgauge.edit_types import EDIT_TYPES
from editgauge.errors import UnscorableError
from editgauge.judges import LabeledImage, Question
from editgauge.judges._questions import FreeText, Structured, YesNo
from editgauge.models.vocabulary import needed_wordnet
from editgauge.models.vocabulary.phrases import singulars
from editgauge.protocols._objects import crop, detect
from editgauge.protocols.difference._triplets import Action, Triplet

if TYPE_CHECKING:
    from editgauge._util.images import Pixels
    from editgauge._util.masks import BoolMask
    from editgauge.evidence import Side
    from editgauge.models.vocabulary.wordnet import WordNet
    from editgauge.protocols import JudgingPerception
    from editgauge.types import Edit, Item, Outcome


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


def same_difference(one: str, other: str, perception: JudgingPerception) -> Question[bool]:
    """Do two sentences tell the same difference?"""
    return Question(words=perception.prompt("main_difference_match").render(first=one, second=other), form=YesNo())


def seen_in(picture: Pixels, perception: JudgingPerception) -> Question[str]:
    """What a part of a picture shows, in one sentence."""
    words = perception.prompt("zoom_caption").render()
    return Question(words=words, form=FreeText(), images=(LabeledImage("The picture:", picture),))


def changes_from_captions(
    instruction: str, before: str, after: str, perception: JudgingPerception
) -> Question[SaidCaption]:
    """The change that a request and the captions of both pictures tell."""
    words = perception.prompt("pipeline_caption").render(instruction=instruction, before=before, after=after)
    return Question(words=words, form=Structured(SaidCaption))


def _both(item: Item) -> tuple[LabeledImage, LabeledImage]:
    return LabeledImage("Before the change:", item.source), LabeledImage("After the change:", item.as_made)


Frame = tuple[int, int, int, int]
"""left, top, right, bottom in pixels; right and bottom are no longer inside."""
Nouns = Sequence[frozenset[str]]
"""The nouns of a text, each with the words that mean the same."""
MARGIN = 0.1
"""What the closest look leaves around the mask, as a share of its sides."""
SMALLEST = 32
"""Pixels of a side under which a captioner sees nothing."""
TEMPLATE = "a photo of a {}"
"""How a detector for any phrase is asked."""
WIDE = 0.5
"""A region of more than this share of the picture tells no place: a generative editor redraws nearly everything."""
WINDOW = 1 / 3
"""The sides of the window around the strongest change within such a region, as a share of the picture's."""
Captioning = Callable[["Pixels"], Awaitable[str]]
NO_NOUN = re.compile(
    r"a|an|the|of|in|on|at|to|into|onto|with|without|by|for|from|and|or|is|are|be|was|were|it|its|there|let|have|has|had|"
    r"make|put|add|remove|change|replace|turn|can|could|should|would|we|you|i|want|what|if|as|out|up|down|over|under|"
    r"next|more|one|two|three|some|this|that|these|those|front|back|left|right|top|side"
)
"""Words of instructions that WordNet also has as nouns, and that say nothing about things."""


async def pipeline_caption(
    item: Item, perception: JudgingPerception, judge: str, caption: Captioning
) -> tuple[SaidCaption, str]:
    """A difference caption with its metadata, and the place it is about; raises `UnscorableError` where nothing changed.

    Args:
        item: the two pictures and the instruction
        perception: what may be asked
        judge: who writes the caption
        caption: who says what a part of a picture shows
    """
    place = await edited_place(item, perception)
    pictures = item.source, item.edited
    before, after = await gather(*(_grounded(picture, place.mask, item, caption) for picture in pictures))
    answer = await perception.ask(changes_from_captions(item.edit.instruction, before, after, perception), role=judge)
    return answer.value, place.how


@dataclass(frozen=True, slots=True, eq=False)
class EditedPlace:
    """A part of the picture, and how it was chosen."""

    mask: BoolMask
    how: str


async def edited_place(item: Item, perception: JudgingPerception) -> EditedPlace:
    """Where to look; raises `UnscorableError` where there is no mask, no named object is seen and nothing differs."""
    if item.mask is not None:
        if not item.mask.any():
            raise UnscorableError("not_detected", "the edit's mask is empty")
        return EditedPlace(item.mask, "the edit's mask")
    return await _named_object(item, perception) or _strongest_change(item)


async def _named_object(item: Item, perception: JudgingPerception) -> EditedPlace | None:
    """The boxes of what the edit names, in both pictures together; None where no detector sees any of it."""
    mask = np.zeros(item.source.shape[:2], np.bool_)
    seen: list[str] = []
    for on, name in _names(item.edit):
        try:
            objects = await detect(perception, item, on, name, TEMPLATE)
        except UnscorableError:  # no detector, or one that does not know the word: the pictures themselves tell then
            continue
        if objects.found:
            left, top, right, bottom = objects.box
            mask[max(0, int(top)) : int(np.ceil(bottom)), max(0, int(left)) : int(np.ceil(right))] = True
            seen.append(f"{name} in the {'source' if on == 'source' else 'edited image'}")
    return EditedPlace(mask, f"the box of {' and of '.join(seen)}") if mask.any() else None


def _names(edit: Edit) -> Iterator[tuple[Side, str]]:
    """What the edit names, in the picture where it should be seen."""
    kind = EDIT_TYPES[edit.type]
    before = edit.from_ if kind.value == "thing" and edit.from_ else edit.subject
    if before and kind.effect != "adds":
        yield "source", before
    after = edit.to if kind.value == "thing" else edit.subject
    if after and kind.effect != "removes":
        yield "edited", after


def _strongest_change(item: Item) -> EditedPlace:
    changes = find_changes(item.source, item.edited)
    if not changes.regions:
        raise UnscorableError("not_detected", "the edit has no mask, and the pictures do not differ anywhere")
    strongest = max(changes.regions, key=lambda region: region.strength * region.share)
    if strongest.share <= WIDE:
        return EditedPlace(strongest.mask, "the strongest change")
    height, width = strongest.mask.shape
    size = max(1, round(width * WINDOW)), max(1, round(height * WINDOW))
    around = cv2.boxFilter(np.where(strongest.mask, changes.difference, 0).astype(np.float32), -1, size)
    row, column = np.unravel_index(int(np.argmax(around)), around.shape)
    left = int(np.clip(int(column) - size[0] // 2, 0, width - size[0]))
    top = int(np.clip(int(row) - size[1] // 2, 0, height - size[1]))
    mask = np.zeros((height, width), np.bool_)
    mask[top : top + size[1], left : left + size[0]] = True
    return EditedPlace(mask, f"where most changed: {strongest.share:.0%} of the picture did")


def nouns(text: str, wordnet: WordNet) -> list[frozenset[str]]:
    """The nouns of a text in the singular, each with its synonyms in the most frequent sense."""
    names = []
    for word in re.findall(r"[a-z]+", text.lower()):
        form = next((each for each in (*singulars(word), word) if wordnet.senses(each)), None)
        if form and not NO_NOUN.fullmatch(word):
            names.append(frozenset({form, *(name.casefold() for name in wordnet.names(wordnet.senses(form)[0]))}))
    return names


async def _grounded(picture: Pixels, mask: BoolMask, item: Item, caption: Captioning) -> str:
    wordnet = needed_wordnet("the pipeline compares nouns by")
    captions = await gather(*(caption(crop(picture, frame)) for frame in zoom_frames(mask)))
    return closest_to(nouns(item.edit.instruction, wordnet), captions, lambda text: nouns(text, wordnet))


def zoom_frames(mask: BoolMask) -> tuple[Frame, Frame, Frame]:
    """The whole picture, halfway, and close to the mask; each lies within the one before.

    The paper says "three zoom levels around the edit area" and not which: halfway is the middle of the other two.

    >>> mask = np.zeros((100, 200), bool); mask[40:80, 100:140] = True
    >>> zoom_frames(mask)
    ((0, 0, 200, 100), (48, 18, 172, 92), (96, 36, 144, 84))
    """
    rows, columns = np.nonzero(mask.any(axis=1))[0], np.nonzero(mask.any(axis=0))[0]
    if not len(rows):
        raise ValueError("an empty mask has no place to look at")
    height, width = mask.shape
    left, right = _grown(int(columns[0]), int(columns[-1]) + 1, width)
    top, bottom = _grown(int(rows[0]), int(rows[-1]) + 1, height)
    halfway = left // 2, top // 2, (right + width + 1) // 2, (bottom + height + 1) // 2
    return (0, 0, width, height), halfway, (left, top, right, bottom)


def closest_to(instruction: Nouns, captions: Sequence[str], nouns: Callable[[str], Nouns]) -> str:
    """The caption that shares most nouns with an instruction; of several, the closest look, which comes last.

    >>> split = lambda text: [frozenset([word]) for word in text.split()]
    >>> closest_to(split("dog"), ["a park", "a dog in a park", "a dog"], split)
    'a dog'
    """

    def shared(caption: str) -> int:
        said = frozenset[str]().union(*nouns(caption))
        return sum(bool(noun & said) for noun in instruction)

    return max(reversed(captions), key=shared)


def _grown(start: int, end: int, size: int) -> tuple[int, int]:
    length = max((end - start) * (1 + 2 * MARGIN), SMALLEST)
    first = max(0, min(int(np.floor((start + end - length) / 2)), int(size - length)))
    return first, min(size, int(np.ceil(first + length)))


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
