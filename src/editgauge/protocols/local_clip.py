"""The protocol `local-clip`: does the edited place show what was asked for, whatever the rest of the picture shows?"""

from __future__ import annotations

from asyncio import gather
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from editgauge.errors import UnscorableError
from editgauge.evidence import Box, Note
from editgauge.protocols import Protocol, named_after
from editgauge.protocols._objects import cropped
from editgauge.protocols._rules import attempt
from editgauge.protocols._text_image import cosine, edit_text
from editgauge.types import Edit, Item, Score, Scores, ScoreSpec, Unscored

if TYPE_CHECKING:
    from editgauge._util.images import Pixels
    from editgauge._util.masks import BoolMask
    from editgauge.models.interfaces import Perception

CAPTION = "caption"
"""Where CompBench keeps the words for what the edited region should show, among the extras of an edit."""
ABOUT = {
    "clip_t_inside": "Does the edited picture, black outside the mask, show the target text? Cosine of embeddings.",
    "local_clip_t": "Does the box around the mask show the words for it (CompBench's LC-T)? Cosine of embeddings.",
    "local_clip_i": "How alike are outcome and ground truth in the box around the mask (CompBench's LC-I)? Cosine.",
}
NO_MASK = Unscored("not_applicable", "the edit has no mask, so nothing says where to look")
EMPTY = Unscored("not_applicable", "the edit's mask is empty, or too small for a picture of its own")


class LocalClip(Protocol):
    """Every score carries the encoder's name: the same formula means another number with another CLIP."""

    name = "local-clip"
    about = "Does the edited place show what was asked for? CLIP inside the mask, with words and with the ground truth."
    paper = "Ju et al. 2024, PnPInversion (PIE-Bench), arXiv 2310.01506; Jia et al. 2025, CompBench, arXiv 2505.12200"
    version = "1"
    deviations: tuple[str, ...] = (
        "Cosines; PIE-Bench and CompBench print 100 times the cosine with a text, and 0 for one below 0.",
        "Both use CLIP ViT-L/14 (`--model joint_embedder=clip-l14`); a score carries the name of its encoder.",
        "CompBench scales all pictures to 512 x 512 first; here they keep the source's size.",
        "CompBench counts 0 where a mask is empty; here there is no score.",
        "Where a benchmark has no words for the region, the target text is used; the evidence says which.",
    )
    needs = ("joint_embedder",)

    def __init__(self, encoder: str = "") -> None:
        self._rules: dict[str, Callable[[Item, BoolMask, Perception], Awaitable[Score]]] = {
            "clip_t_inside": _inside,
            "local_clip_t": _region_and_words,
            "local_clip_i": _region_and_truth,
        }
        self.scores = tuple(
            ScoreSpec(named_after(rule, encoder), True, (-1.0, 1.0), ABOUT[rule]) for rule in self._rules
        )

    def with_models(self, models: Mapping[str, str]) -> LocalClip:
        """With the encoder's name in the name of every score."""
        return LocalClip(models.get("joint_embedder", ""))

    async def score(self, item: Item, perception: Perception) -> Scores:
        """Every rule on its own: what one cannot tell leaves the others alone."""
        mask = item.mask
        if mask is None or not mask.any():
            return {spec.name: NO_MASK if mask is None else EMPTY for spec in self.scores}
        scores = await gather(*(attempt(rule(item, mask, perception)) for rule in self._rules.values()))
        return {spec.name: score for spec, score in zip(self.scores, scores, strict=True)}


async def _inside(item: Item, mask: BoolMask, perception: Perception) -> Score:
    text = edit_text(item.edit, "target")
    picture, words = await gather(
        perception.joint_image(blackened(item.edited, mask)), perception.joint_text(text.words)
    )
    return Score(cosine(picture, words), (Note(text.source_note),))


async def _region_and_words(item: Item, mask: BoolMask, perception: Perception) -> Score:
    words, note = _local_words(item.edit)
    box = _box(mask)
    picture, text = await gather(perception.joint_image(cropped(item.edited, box)), perception.joint_text(words))
    return Score(cosine(picture, text), (note, Box("edited", *box, "looked at")))


async def _region_and_truth(item: Item, mask: BoolMask, perception: Perception) -> Score:
    if item.reference is None:
        raise UnscorableError("not_applicable", "the benchmark has no ground-truth image for this edit")
    box = _box(mask)
    outcome, truth = await gather(
        *(perception.joint_image(cropped(each, box)) for each in (item.edited, item.reference))
    )
    return Score(cosine(outcome, truth), (Box("edited", *box, "compared with the ground truth"),))


def blackened(image: Pixels, mask: BoolMask) -> Pixels:
    """The picture with everything outside the mask black."""
    return np.where(mask[..., np.newaxis], image, np.uint8(0))


def _box(mask: BoolMask) -> tuple[int, int, int, int]:
    """The box around the mask without its last row and column, which CompBench's code leaves out."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    left, top, right, bottom = int(columns[0]), int(rows[0]), int(columns[-1]), int(rows[-1])
    if right <= left or bottom <= top:
        raise UnscorableError(EMPTY.reason, EMPTY.detail)
    return left, top, right, bottom


def _local_words(edit: Edit) -> tuple[str, Note]:
    caption = edit.extras.get(CAPTION)
    if isinstance(caption, str) and caption.strip():
        return caption, Note(f'Words for the region, by the benchmark: "{caption}".')
    text = edit_text(edit, "target")
    return text.words, Note(text.source_note)


local_clip = LocalClip()
