"""Differences that a model reports: questions to judges, the captioning pipeline, and people's captions."""

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
from editgauge.benchmarks.outcome_captions import EXTRA, caption_of
from editgauge.edit_types import EDIT_TYPES
from editgauge.errors import UnscorableError
from editgauge.judges import LabeledImage, Question
from editgauge.judges._questions import FreeText, Structured, YesNo
from editgauge.judges.prompts import Prompt
from editgauge.models.vocabulary import needed_wordnet
from editgauge.models.vocabulary._words import singulars
from editgauge.protocols._objects import crop, detect
from editgauge.protocols.difference._triplets import Action, Triplet

if TYPE_CHECKING:
    from editgauge._util.images import Pixels
    from editgauge._util.masks import BoolMask
    from editgauge.evidence import Side
    from editgauge.models.vocabulary._words import WordNet
    from editgauge.protocols import JudgingPerception
    from editgauge.types import Edit, Item, Outcome


COMMON_DIFFERENCE = Prompt(
    "common_difference",
    1,
    "Several people compared the same two pictures. Each wrote down what differs between them:\n\n{captions}\n\n"
    "Which single difference do all of them report as the most important one? Reply with one sentence about that "
    "difference, and nothing else.",
)


class _Answer(BaseModel):
    model_config = ConfigDict(extra="forbid")


class DifferencesAnswer(_Answer):
    """All differences, one sentence each."""

    differences: list[str]


class DifferenceAnswer(_Answer):
    """The main difference, or none."""

    difference: str | None


class TripletAnswer(_Answer):
    """One change in a caption."""

    source: str | None
    target: str | None
    action: Action


class TripletsAnswer(_Answer):
    """All changes in a caption."""

    triplets: list[TripletAnswer]


class CaptionAnswer(_Answer):
    """The pipeline's caption with its metadata."""

    caption: str
    action: Action
    source_object: str | None
    target_object: str | None
    source_attributes: list[str]
    target_attributes: list[str]

    @property
    def triplet(self) -> Triplet:
        """The change as a triplet."""
        return Triplet(self.source_object or None, self.target_object or None, self.action)


def ask_all_differences(item: Item, perception: JudgingPerception) -> Question[DifferencesAnswer]:
    """Return the question for all differences of the two images, the main one first."""
    words = perception.prompt("all_differences").render()
    return Question(words=words, form=Structured(DifferencesAnswer), images=_both(item))


def ask_main_difference(item: Item, perception: JudgingPerception) -> Question[DifferenceAnswer]:
    """Return the question for the main difference of the two images."""
    words = perception.prompt("main_difference").render()
    return Question(words=words, form=Structured(DifferenceAnswer), images=_both(item))


def ask_triplets(caption: str, perception: JudgingPerception) -> Question[TripletsAnswer]:
    """Return the question for the changes in a caption."""
    words = perception.prompt("difference_triplets").render(caption=caption)
    return Question(words=words, form=Structured(TripletsAnswer))


def ask_same_difference(first: str, second: str, perception: JudgingPerception) -> Question[bool]:
    """Return the question whether two sentences describe the same difference."""
    return Question(words=perception.prompt("main_difference_match").render(first=first, second=second), form=YesNo())


def ask_common_difference(captions: Sequence[str]) -> Question[str]:
    """Return the question for the main difference that all captions of one edit have in common."""
    return Question(words=COMMON_DIFFERENCE.render(captions="\n\n".join(captions)), form=FreeText())


def ask_caption(image: Pixels, perception: JudgingPerception) -> Question[str]:
    """Return the question for a one-sentence caption of a crop."""
    words = perception.prompt("zoom_caption").render()
    return Question(words=words, form=FreeText(), images=(LabeledImage("The picture:", image),))


def ask_change(instruction: str, before: str, after: str, perception: JudgingPerception) -> Question[CaptionAnswer]:
    """Return the question for the change, from the request and captions of both images."""
    words = perception.prompt("pipeline_caption").render(instruction=instruction, before=before, after=after)
    return Question(words=words, form=Structured(CaptionAnswer))


def _both(item: Item) -> tuple[LabeledImage, LabeledImage]:
    return LabeledImage("Before the change:", item.source), LabeledImage("After the change:", item.as_made)


Frame = tuple[int, int, int, int]
"""Left, top, right, bottom in pixels; right and bottom are exclusive."""
Nouns = Sequence[frozenset[str]]
"""Nouns of a text, each with its synonyms."""
FRAME_MARGIN = 0.1
"""Margin of the closest frame around the mask, as a fraction of its sides."""
MIN_FRAME_SIDE = 32
"""Captioners see nothing in smaller crops, in pixels."""
TEMPLATE = "a photo of a {}"
"""Query of open-vocabulary detectors."""
MAX_REGION_FRACTION = 0.5
"""Larger regions are not a position: a generative editor redraws nearly everything."""
WINDOW_FRACTION = 1 / 3
"""Sides of the window around the strongest change in such a region, as a fraction of the image's."""
Captioning = Callable[["Pixels"], Awaitable[str]]
STOP_WORDS = re.compile(
    r"a|an|the|of|in|on|at|to|into|onto|with|without|by|for|from|and|or|is|are|be|was|were|it|its|there|let|have|has|had|"
    r"make|put|add|remove|change|replace|turn|can|could|should|would|we|you|i|want|what|if|as|out|up|down|over|under|"
    r"next|more|one|two|three|some|this|that|these|those|front|back|left|right|top|side"
)
"""Words of instructions that WordNet lists as nouns, but that name no object."""


async def pipeline_caption(
    item: Item, perception: JudgingPerception, judge: str, caption: Captioning
) -> tuple[CaptionAnswer, str]:
    """Return a difference caption with metadata, and the region it is about.

    Args:
        item: both images and the instruction
        perception: models and judges
        judge: name of the judge that writes the caption
        caption: captions a crop

    Raises:
        UnscorableError: if nothing changed

    """
    region = await find_edited_region(item, perception)
    images = item.source, item.edited
    before, after = await gather(*(_grounded_caption(image, region.mask, item, caption) for image in images))
    answer = await perception.ask(ask_change(item.edit.instruction, before, after, perception), role=judge)
    return answer.value, region.origin


@dataclass(frozen=True, slots=True, eq=False)
class EditedRegion:
    """A region of the image, and how it was found."""

    mask: BoolMask
    origin: str


async def find_edited_region(item: Item, perception: JudgingPerception) -> EditedRegion:
    """Find the edited region by the mask, a named object or the strongest change; may raise `UnscorableError`."""
    if item.mask is not None:
        if not item.mask.any():
            raise UnscorableError("not_detected", "the edit's mask is empty")
        return EditedRegion(item.mask, "the edit's mask")
    return await _named_object(item, perception) or _strongest_change(item)


async def _named_object(item: Item, perception: JudgingPerception) -> EditedRegion | None:
    """Return the boxes of the named objects in both images; None if none is detected."""
    mask = np.zeros(item.source.shape[:2], np.bool_)
    labels: list[str] = []
    for side, name in _queried_objects(item.edit):
        try:
            objects = await detect(perception, item, side, name, TEMPLATE)
        except UnscorableError:  # no detector, or one that does not know the word: the pictures themselves tell then
            continue
        if objects.found:
            left, top, right, bottom = objects.box
            mask[max(0, int(top)) : int(np.ceil(bottom)), max(0, int(left)) : int(np.ceil(right))] = True
            labels.append(f"{name} in the {'source' if side == 'source' else 'edited image'}")
    return EditedRegion(mask, f"the box of {' and of '.join(labels)}") if mask.any() else None


def _queried_objects(edit: Edit) -> Iterator[tuple[Side, str]]:
    """Yield the named objects with the image in which each should be visible."""
    kind = EDIT_TYPES[edit.type]
    before = edit.from_ if kind.value == "thing" and edit.from_ else edit.subject
    if before and kind.effect != "adds":
        yield "source", before
    after = edit.to if kind.value == "thing" else edit.subject
    if after and kind.effect != "removes":
        yield "edited", after


def _strongest_change(item: Item) -> EditedRegion:
    changes = find_changes(item.source, item.edited)
    if not changes.regions:
        raise UnscorableError("not_detected", "the edit has no mask, and the pictures do not differ anywhere")
    strongest = max(changes.regions, key=lambda region: region.strength * region.share)
    if strongest.share <= MAX_REGION_FRACTION:
        return EditedRegion(strongest.mask, "the strongest change")
    height, width = strongest.mask.shape
    size = max(1, round(width * WINDOW_FRACTION)), max(1, round(height * WINDOW_FRACTION))
    around = cv2.boxFilter(np.where(strongest.mask, changes.difference, 0).astype(np.float32), -1, size)
    row, column = np.unravel_index(int(np.argmax(around)), around.shape)
    left = int(np.clip(int(column) - size[0] // 2, 0, width - size[0]))
    top = int(np.clip(int(row) - size[1] // 2, 0, height - size[1]))
    mask = np.zeros((height, width), np.bool_)
    mask[top : top + size[1], left : left + size[0]] = True
    return EditedRegion(mask, f"where most changed: {strongest.share:.0%} of the picture did")


def nouns(text: str, wordnet: WordNet) -> list[frozenset[str]]:
    """Return the nouns of a text in the singular, each with the synonyms of its most frequent sense."""
    names = []
    for word in re.findall(r"[a-z]+", text.lower()):
        singular = next((candidate for candidate in (*singulars(word), word) if wordnet.senses(candidate)), None)
        if singular and not STOP_WORDS.fullmatch(word):
            names.append(
                frozenset({singular, *(name.casefold() for name in wordnet.names(wordnet.senses(singular)[0]))})
            )
    return names


async def _grounded_caption(image: Pixels, mask: BoolMask, item: Item, caption: Captioning) -> str:
    wordnet = needed_wordnet("the pipeline compares nouns by")
    captions = await gather(*(caption(crop(image, frame)) for frame in zoom_frames(mask)))
    return closest_to(nouns(item.edit.instruction, wordnet), captions, lambda text: nouns(text, wordnet))


def zoom_frames(mask: BoolMask) -> tuple[Frame, Frame, Frame]:
    """Return three nested frames: the whole image, halfway, and close to the mask.

    The paper says "three zoom levels around the edit area" and not which: halfway is the middle of the other two.

    >>> mask = np.zeros((100, 200), bool); mask[40:80, 100:140] = True
    >>> zoom_frames(mask)
    ((0, 0, 200, 100), (48, 18, 172, 92), (96, 36, 144, 84))
    """
    rows, columns = np.nonzero(mask.any(axis=1))[0], np.nonzero(mask.any(axis=0))[0]
    if not len(rows):
        raise ValueError("an empty mask has no place to look at")
    height, width = mask.shape
    left, right = _grow(int(columns[0]), int(columns[-1]) + 1, width)
    top, bottom = _grow(int(rows[0]), int(rows[-1]) + 1, height)
    halfway = left // 2, top // 2, (right + width + 1) // 2, (bottom + height + 1) // 2
    return (0, 0, width, height), halfway, (left, top, right, bottom)


def closest_to(instruction: Nouns, captions: Sequence[str], nouns: Callable[[str], Nouns]) -> str:
    """Return the caption that shares most nouns with an instruction; of several, the closest frame's.

    >>> split = lambda text: [frozenset([word]) for word in text.split()]
    >>> closest_to(split("dog"), ["a park", "a dog in a park", "a dog"], split)
    'a dog'
    """

    def shared(caption: str) -> int:
        caption_nouns = frozenset[str]().union(*nouns(caption))
        return sum(bool(noun & caption_nouns) for noun in instruction)

    return max(reversed(captions), key=shared)


def _grow(start: int, end: int, size: int) -> tuple[int, int]:
    length = max((end - start) * (1 + 2 * FRAME_MARGIN), MIN_FRAME_SIDE)
    first = max(0, min(int(np.floor((start + end - length) / 2)), int(size - length)))
    return first, min(size, int(np.ceil(first + length)))


MAX_TRIPLETS = 24
"""Bounds how many objects a grader compares; no caption describes more differences."""


@dataclass(frozen=True, slots=True)
class ModelDifferences:
    """The differences that a model reported."""

    differences: tuple[str, ...]
    """One sentence each; empty if it saw none."""
    main: str | None
    triplet: Triplet | None = None
    """The change, if the model reported it as a triplet."""
    source_attributes: tuple[str, ...] = ()
    """Attributes of the object before the edit, if reported."""
    target_attributes: tuple[str, ...] = ()
    """Attributes after the edit."""
    region_origin: str = ""
    """How the captioned region was found."""

    @property
    def metadata(self) -> str:
        """Action, objects and attributes in one line; empty for a plain caption."""
        if self.triplet is None:
            return ""
        sides = (
            ("source", self.triplet.source, self.source_attributes),
            ("target", self.triplet.target, self.target_attributes),
        )
        words = [
            f"{side} {name or 'none'}" + (f" ({', '.join(attributes)})" if attributes else "")
            for side, name, attributes in sides
        ]
        return "; ".join([self.triplet.action, *words])

    @property
    def caption(self) -> str:
        """All differences in one text."""
        return " ".join(self.differences)


async def report_directly(item: Item, perception: JudgingPerception, judge: str) -> ModelDifferences:
    """Ask a judge that sees both images for all differences and for the main one."""
    differences, main = await gather(
        perception.ask(ask_all_differences(item, perception), role=judge),
        perception.ask(ask_main_difference(item, perception), role=judge),
    )
    sentences = tuple(sentence.strip() for sentence in differences.value.differences if sentence.strip())
    return ModelDifferences(sentences, (main.value.difference or "").strip() or None)


async def report_by_pipeline(item: Item, perception: JudgingPerception, judge: str) -> ModelDifferences:
    """Ask a judge without images for one difference, from captions of the region by a captioner."""
    return _single_difference(*await pipeline_caption(item, perception, judge, perception.caption))


async def report_by_judged_pipeline(item: Item, perception: JudgingPerception, judge: str) -> ModelDifferences:
    """Ask like `report_by_pipeline`, with captions by the judge, which sees one crop at a time."""

    async def caption(image: Pixels) -> str:
        return (await perception.ask(ask_caption(image, perception), role=judge)).value

    return _single_difference(*await pipeline_caption(item, perception, judge, caption))


def _single_difference(answer: CaptionAnswer, region_origin: str) -> ModelDifferences:
    attributes = tuple(answer.source_attributes), tuple(answer.target_attributes)
    return ModelDifferences((answer.caption,), answer.caption, answer.triplet, *attributes, region_origin)


async def triplets_by_judge(caption: str, perception: JudgingPerception, grader: str) -> tuple[Triplet, ...]:
    """Return the differences in a caption as parsed by a judge; none for an empty caption."""
    if not caption:
        return ()
    answer = await perception.ask(ask_triplets(caption, perception), role=grader)
    if len(answer.value.triplets) > MAX_TRIPLETS:
        reason = f"{grader} reads {len(answer.value.triplets)} differences in one caption, more than {MAX_TRIPLETS}"
        raise UnscorableError("unparsable", reason)
    return tuple(
        Triplet(triplet.source or None, triplet.target or None, triplet.action) for triplet in answer.value.triplets
    )


def find_human_captions(edit: Edit, outcome: Outcome | None = None) -> tuple[str, ...]:
    """Return people's difference captions of this outcome, or of the edit."""
    outcome_captions = caption_of(edit, outcome) if outcome is not None else None
    if outcome_captions is not None and outcome_captions.people:
        return outcome_captions.people
    listed = edit.extras.get("differences", ())
    return tuple(text.strip() for text in listed if isinstance(text, str) and text.strip())


def max_human_captions(edit: Edit) -> int:
    """Return the largest number of people's captions of one outcome of the edit."""
    counts = (len(entry["people"]) for entry in edit.extras.get(EXTRA, {}).values())
    return max([len(find_human_captions(edit)), *counts])


def human_captions(edit: Edit, outcome: Outcome | None = None) -> tuple[str, ...]:
    """Return people's difference captions; raise `UnscorableError` if there is none.

    They come with the outcome (`run --captions`) or from `extras["differences"]`; `extras["difference_caption"]` may be
    written by a machine and does not count.
    """
    captions = find_human_captions(edit, outcome)
    if not captions:
        raise UnscorableError("not_applicable", "no person wrote a difference caption for this edit")
    return captions
