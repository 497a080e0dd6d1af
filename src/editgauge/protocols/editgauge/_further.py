"""Evidence of models that `lite` does not include: a joint embedder such as CLIP or SigLIP, and a judge.

Both are asked about the words of the edit, so they also answer where detector and classifier do not know a word. A role
without a model, and a judge that gives no answer, leave a reason instead of a value.
"""

from __future__ import annotations

from asyncio import gather
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from editgauge.errors import UnscorableError
from editgauge.judges import LabeledImage, Question
from editgauge.judges._questions import Scale
from editgauge.protocols.editgauge._roles import roles_of

if TYPE_CHECKING:
    from editgauge.models.perception import Perception
    from editgauge.protocols import JudgingPerception
    from editgauge.types import Edit, Item

WORDS, JUDGED = "words_nearer", "judged"
FULL_GAIN = 0.05
"""Gain of the cosine between image and words that counts in full; CLIP's and SigLIP's lie within a few hundredths."""
MAX_RATING = 10
"""End of the judge's scale."""


@dataclass(frozen=True, slots=True)
class FurtherEvidence:
    """Values from -1 to 1 by feature, and why one is missing, by role."""

    values: Mapping[str, float] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)

    def with_also(self, other: FurtherEvidence) -> FurtherEvidence:
        """Return both combined."""
        return FurtherEvidence({**self.values, **other.values}, {**self.missing, **other.missing})


async def joint_evidence(item: Item, perception: Perception) -> FurtherEvidence:
    """Measure how much nearer the image came to what should be in it, and how far from what should not."""
    target, original = _texts(item.edit)
    if not target and not original:
        return FurtherEvidence(missing={"joint_embedder": "the edit names nothing that should come or go"})
    try:
        before, after = await gather(perception.joint_image(item.source), perception.joint_image(item.edited))
        moved = np.asarray(after, np.float64) - np.asarray(before, np.float64)
        gains = [
            sign * float(moved @ await perception.joint_text(text))
            for sign, text in ((1, target), (-1, original))
            if text
        ]
    except UnscorableError as error:
        return FurtherEvidence(missing={"joint_embedder": error.detail})
    return FurtherEvidence({WORDS: float(np.clip(np.mean(gains) / FULL_GAIN, -1, 1))})


def _texts(edit: Edit) -> tuple[str | None, str | None]:
    """Return texts for the edited image and for the source: both captions, or the objects that come and go."""
    if edit.source_caption and edit.target_caption:
        return edit.target_caption, edit.source_caption
    roles = roles_of(edit)
    target = roles.comes or (f"{edit.to} {roles.stays}" if edit.to and roles.stays else edit.to)
    return tuple(f"a photo of {text}" if text else None for text in (target, roles.goes))  # type: ignore[return-value]


async def judge_evidence(item: Item, perception: JudgingPerception, judge: str) -> FurtherEvidence:
    """Ask the judge how well the instruction was carried out without changing anything else."""
    words = perception.prompt("edit_done").render(instruction=item.edit.instruction)
    images = (LabeledImage("Before:", item.source), LabeledImage("After:", item.as_made))
    try:
        answer = await perception.ask(Question(words=words, form=Scale(0, MAX_RATING), images=images), role=judge)
    except UnscorableError as error:
        return FurtherEvidence(missing={"judge": error.detail})
    return FurtherEvidence({JUDGED: judged_value(answer.value / MAX_RATING)})


def judged_value(share: float) -> float:
    """Map a judge's number from 0 to 1 to the feature: -1 not at all, 1 fully done.

    >>> judged_value(0.0), judged_value(0.5), judged_value(1.0)
    (-1.0, 0.0, 1.0)
    """
    return 2 * share - 1
