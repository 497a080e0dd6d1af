"""EditInspector's caption pipeline (section 4.1): captions of the place at three zooms, the best of them, one call.

The place is the edit's own mask, else the object that it names, else where the pictures differ most.

captions at three zooms ─► those that share most nouns with the instruction ─► one judge call ─► caption, metadata
"""

from __future__ import annotations

import re
from asyncio import gather
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import cv2
import numpy as np

from editgauge._vision.changed_regions import find_changes
from editgauge.edit_types import EDIT_TYPES
from editgauge.errors import UnscorableError
from editgauge.models.vocabulary import needed_wordnet
from editgauge.models.vocabulary.phrases import singulars
from editgauge.protocols._objects import cropped, look_for
from editgauge.protocols.difference.questions import SaidCaption, changes_from_captions

if TYPE_CHECKING:
    from editgauge._util.images import Pixels
    from editgauge._util.masks import BoolMask
    from editgauge.evidence import Side
    from editgauge.models.vocabulary.wordnet import WordNet
    from editgauge.protocols import JudgingPerception
    from editgauge.types import Edit, Item

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
            sighting = await look_for(perception, item, on, name, TEMPLATE)
        except UnscorableError:  # no detector, or one that does not know the word: the pictures themselves tell then
            continue
        if sighting.found:
            left, top, right, bottom = sighting.box
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
    captions = await gather(*(caption(cropped(picture, frame)) for frame in zoom_frames(mask)))
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
