"""Score whether the edited region shows the requested content: the protocol `local-clip`."""

from __future__ import annotations

from asyncio import gather
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from editgauge.errors import UnscorableError
from editgauge.evidence import Box, Note
from editgauge.metrics.embeddings import cosine_similarity
from editgauge.protocols import Protocol, named_after
from editgauge.protocols._objects import crop
from editgauge.protocols._rules import attempt
from editgauge.protocols.clip_family import edit_text
from editgauge.types import Edit, Item, Score, Scores, ScoreSpec, Unscored

if TYPE_CHECKING:
    from editgauge._util.images import Pixels
    from editgauge._util.masks import BoolMask
    from editgauge.models.perception import Perception

CAPTION = "caption"
"""Key in an edit's extras with CompBench's text for the edited region."""
DESCRIPTIONS = {
    "clip_t_inside": "Does the edited picture, black outside the mask, show the target text? Cosine of embeddings.",
    "local_clip_t": "Does the box around the mask show the words for it (CompBench's LC-T)? Cosine of embeddings.",
    "local_clip_i": "How alike are outcome and ground truth in the box around the mask (CompBench's LC-I)? Cosine.",
}
NO_MASK = Unscored("not_applicable", "the edit has no mask, so nothing says where to look")
EMPTY_MASK = Unscored("not_applicable", "the edit's mask is empty, or too small for a picture of its own")


class LocalClip(Protocol):
    """CLIP scores of the masked region; their names carry the encoder's name."""

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
            "clip_t_inside": _inside_similarity,
            "local_clip_t": _region_text_similarity,
            "local_clip_i": _region_reference_similarity,
        }
        self.scores = tuple(
            ScoreSpec(named_after(rule, encoder), True, (-1.0, 1.0), DESCRIPTIONS[rule]) for rule in self._rules
        )

    def with_models(self, models: Mapping[str, str]) -> LocalClip:
        """Return the protocol with the encoder's name in its scores."""
        return LocalClip(models.get("joint_embedder", ""))

    async def score(self, item: Item, perception: Perception) -> Scores:
        """Score each rule independently."""
        mask = item.mask
        if mask is None or not mask.any():
            return {spec.name: NO_MASK if mask is None else EMPTY_MASK for spec in self.scores}
        scores = await gather(*(attempt(rule(item, mask, perception)) for rule in self._rules.values()))
        return {spec.name: score for spec, score in zip(self.scores, scores, strict=True)}


async def _inside_similarity(item: Item, mask: BoolMask, perception: Perception) -> Score:
    text = edit_text(item.edit, "target")
    image_vector, text_vector = await gather(
        perception.joint_image(_blacken_outside(item.edited, mask)), perception.joint_text(text.words)
    )
    return Score(cosine_similarity(image_vector, text_vector), (Note(text.source_note),))


async def _region_text_similarity(item: Item, mask: BoolMask, perception: Perception) -> Score:
    text, note = _region_text(item.edit)
    box = _mask_box(mask)
    image_vector, text_vector = await gather(
        perception.joint_image(crop(item.edited, box)), perception.joint_text(text)
    )
    return Score(cosine_similarity(image_vector, text_vector), (note, Box("edited", *box, "looked at")))


async def _region_reference_similarity(item: Item, mask: BoolMask, perception: Perception) -> Score:
    if item.reference is None:
        raise UnscorableError("not_applicable", "the benchmark has no ground-truth image for this edit")
    box = _mask_box(mask)
    edited_vector, reference_vector = await gather(
        *(perception.joint_image(crop(image, box)) for image in (item.edited, item.reference))
    )
    return Score(
        cosine_similarity(edited_vector, reference_vector), (Box("edited", *box, "compared with the ground truth"),)
    )


def _blacken_outside(image: Pixels, mask: BoolMask) -> Pixels:
    """Return a copy of the image that is black outside the mask."""
    return np.where(mask[..., np.newaxis], image, np.uint8(0))


def _mask_box(mask: BoolMask) -> tuple[int, int, int, int]:
    """Return the box around the mask without its last row and column, as in CompBench's code."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    left, top, right, bottom = int(columns[0]), int(rows[0]), int(columns[-1]), int(rows[-1])
    if right <= left or bottom <= top:
        raise UnscorableError(EMPTY_MASK.reason, EMPTY_MASK.detail)
    return left, top, right, bottom


def _region_text(edit: Edit) -> tuple[str, Note]:
    """Return the benchmark's text for the region, or else the target text, with a note that says which."""
    caption = edit.extras.get(CAPTION)
    if isinstance(caption, str) and caption.strip():
        return caption, Note(f'Words for the region, by the benchmark: "{caption}".')
    text = edit_text(edit, "target")
    return text.words, Note(text.source_note)


local_clip = LocalClip()
