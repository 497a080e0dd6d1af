"""EditInspector's caption pipeline (section 4.1): captions of the place at three zooms, the best of them, one call.

captions at three zooms ─► those that share most nouns with the instruction ─► one judge call ─► caption, metadata
"""

from __future__ import annotations

import re
from asyncio import gather
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from editgauge.models.vocabulary import needed_wordnet
from editgauge.models.vocabulary.phrases import singulars
from editgauge.protocols._shared.looking import cropped
from editgauge.protocols.difference.edited_place import edited_place
from editgauge.protocols.difference.questions import SaidCaption, changes_from_captions

if TYPE_CHECKING:
    from editgauge.core.images import Pixels
    from editgauge.core.masks import BoolMask
    from editgauge.core.types import Item
    from editgauge.models.vocabulary.wordnet import WordNet
    from editgauge.protocols import Sight

Frame = tuple[int, int, int, int]
"""left, top, right, bottom in pixels; right and bottom are no longer inside."""
Nouns = Sequence[frozenset[str]]
"""The nouns of a text, each with the words that mean the same."""
MARGIN = 0.1
"""What the closest look leaves around the mask, as a share of its sides."""
SMALLEST = 32
"""Pixels of a side under which a captioner sees nothing."""
Captioning = Callable[["Pixels"], Awaitable[str]]
NO_NOUN = re.compile(
    r"a|an|the|of|in|on|at|to|into|onto|with|without|by|for|from|and|or|is|are|be|was|were|it|its|there|let|have|has|had|"
    r"make|put|add|remove|change|replace|turn|can|could|should|would|we|you|i|want|what|if|as|out|up|down|over|under|"
    r"next|more|one|two|three|some|this|that|these|those|front|back|left|right|top|side"
)
"""Words of instructions that WordNet also has as nouns, and that say nothing about things."""


async def pipeline_caption(item: Item, see: Sight, judge: str, caption: Captioning) -> tuple[SaidCaption, str]:
    """A difference caption with its metadata, and the place it is about; raises `CannotTell` where nothing changed.

    Args:
        item: the two pictures and the instruction
        see: what may be asked
        judge: who writes the caption
        caption: who says what a part of a picture shows
    """
    place = await edited_place(item, see)
    pictures = item.source, item.edited
    before, after = await gather(*(_grounded(picture, place.mask, item, caption) for picture in pictures))
    answer = await see.ask(changes_from_captions(item.edit.instruction, before, after, see), role=judge)
    return answer.value, place.how


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
