"""EditInspector's caption pipeline (section 4.1): captions of the place at three zooms, the best of them, one call.

captions at three zooms ─► those that share most nouns with the instruction ─► one judge call ─► caption, metadata
"""

from __future__ import annotations

import re
from asyncio import gather
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from editgauge.core.errors import CannotTell
from editgauge.models.vocabulary import wordnet_here
from editgauge.models.vocabulary.phrases import singulars
from editgauge.models.vocabulary.resolve import PULL
from editgauge.protocols.difference.edited_place import edited_place
from editgauge.protocols.difference.questions import SaidCaption, changes_from_captions
from editgauge.protocols.difference.zooms import closest_to, cropped, zoom_frames

if TYPE_CHECKING:
    from editgauge.core.images import Pixels
    from editgauge.core.masks import BoolMask
    from editgauge.core.types import Item
    from editgauge.models.vocabulary import WordNet
    from editgauge.protocols import Sight

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
    wordnet = wordnet_here()
    if wordnet is None:
        raise CannotTell("no_model", f"the pipeline compares nouns by WordNet, which is not on this machine; {PULL}")
    captions = await gather(*(caption(cropped(picture, frame)) for frame in zoom_frames(mask)))
    return closest_to(nouns(item.edit.instruction, wordnet), captions, lambda text: nouns(text, wordnet))
