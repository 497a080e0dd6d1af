"""PixLens: did the edit happen, is the subject the same, did the background stay; by outlines of objects."""

from __future__ import annotations

from asyncio import gather
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import sqrt
from typing import TYPE_CHECKING

from editgauge.metrics.ssim import ssim
from editgauge.protocols import Protocol
from editgauge.protocols._rules import STEPS_DONE, attempt, attempt_all, no_rule, score_steps
from editgauge.protocols.pixlens import _released
from editgauge.protocols.pixlens import _rules as rules
from editgauge.protocols.pixlens._preservation import SUBJECT, background, objects_of_both, subject_scores
from editgauge.protocols.pixlens._rules import PixLensScene
from editgauge.types import Item, Scores, ScoreSpec

if TYPE_CHECKING:
    from editgauge.models.perception import Perception
    from editgauge.protocols.pixlens._preservation import Masks, Similarity
    from editgauge.protocols.pixlens._rules import Rule

PAPER = (
    "Stefanache et al. 2024, PixLens: A Novel Framework for Disentangled Evaluation in Diffusion-Based Image Editing"
)
COMMON_DEVIATIONS = (
    "Each image is processed at its own size; detections in the edited one are mapped to the source's size.",
    "The threshold is the detector's own operating point, unless another is set.",
    "The target color's histogram is computed exactly; the released code draws it at random from a generator that "
    "remembers earlier draws.",
    "Key points are matched exhaustively; the released code searches an approximate index.",
    "More color names are known than in the released code; with an unknown one the edit is unscored.",
    "The subject is compared for the four types of table 5: color, size, position replacement, object addition.",
)
PAPER_DEVIATIONS = (
    *COMMON_DEVIATIONS,
    "Boxes of one name that overlap by more than a half are one object, the most confident.",
    "Names match as whole phrases: the released code finds 'apple' in 'pineapple'.",
    "SSIM uses the Gaussian window of its own paper.",
    "Algorithm 3's absolute value and algorithm 4's inverted test are corrected, as their text requires.",
    "Background: outside the objects of both images; a moved object's new place does not count.",
    "If a target caption names no old object, the new one must be detected in the edited image and not in the source.",
    "A number in the instruction counts: fewer than asked for is not done, and of a removal more is half done; the "
    "paper has no rule for it.",
    "An instruction of several steps is done if each step is; `steps_done` is the share of completed steps.",
)
RELEASED_DEVIATIONS = (
    *COMMON_DEVIATIONS,
    "All names of a picture are asked in one question; boxes that overlap by more than a half are one object, whatever "
    "their names, and a name matches every phrase that contains it.",
    "SSIM uses scikit-image's uniform window of 7 x 7 pixels.",
    "A resized object that moved gets a half, and half of a positional addition's score is that the category is still "
    "there.",
    "Where a moved object was is what the edit says; a move to the center from neither side is unscored, because the "
    "released code fails there.",
    "Background: outside the added object in the edited image, or outside the category in the source image alone.",
)
SUBJECT_DESCRIPTIONS = {
    "subject_sift": "Share of the subject's key points that are found again.",
    "subject_iou": "Overlap of the subject's outlines, moved onto each other.",
    "subject_ssim": "Structural similarity of the subject alone.",
    "subject_color": "Correlation of the subject's color histograms.",
    "subject_position": "How far the subject's center moved, as a share of height and width.",
}
SUBJECT_RANGES = {"subject_ssim": (-1.0, 1.0), "subject_color": (-1.0, 1.0), "subject_position": (0.0, sqrt(2))}


@dataclass(frozen=True, slots=True)
class PixLensReading:
    """How a variant detects objects, its rules, its background masks and its SSIM."""

    scene: type[PixLensScene]
    rules: Mapping[str, Rule]
    masks: Masks
    similarity: Similarity


class PixLens(Protocol):
    """Nine rules by edit type, five scores of the subject and one of the background."""

    about = "Did the edit happen, is the subject the same, did the background stay? By segmented objects."
    paper = f"{PAPER}, arXiv 2410.05710"
    version = "4"
    needs = ("detector", "segmenter")
    scores: tuple[ScoreSpec, ...] = (
        ScoreSpec("edit", True, (0.0, 1.0), "Did the edit happen as requested?", "done"),
        STEPS_DONE,
        *(
            ScoreSpec(
                name, name != "subject_position", SUBJECT_RANGES.get(name, (0.0, 1.0)), SUBJECT_DESCRIPTIONS[name]
            )
            for name in SUBJECT
        ),
        ScoreSpec("background", True, (0.0, 1.0), "Did everything but the objects of the edit stay?", "kept"),
    )

    def __init__(self, name: str, reading: PixLensReading, deviations: tuple[str, ...]) -> None:
        self.name = name
        self.deviations = deviations
        self._reading = reading
        self._by_step = reading is not RELEASED_READING
        if not self._by_step:
            self.scores = tuple(spec for spec in self.scores if spec is not STEPS_DONE)

    async def score(self, item: Item, perception: Perception) -> Scores:
        """Score the edit, the subject and the background."""

        async def score_step(step: Item) -> Scores:
            return await self._score_step(step, perception)

        uncounted = replace(item, edit=replace(item.edit, count=None))
        return await (score_steps(item, score_step) if self._by_step else score_step(uncounted))

    async def _score_step(self, item: Item, perception: Perception) -> Scores:
        scene = self._reading.scene(item, perception)
        rule = self._reading.rules.get(item.edit.type)
        if rule is None:
            return {spec.name: no_rule(item.edit) for spec in self.scores if spec is not STEPS_DONE}
        edit, subject, background_result = await gather(
            attempt(rule(scene)),
            attempt_all(subject_scores(scene, self._reading.similarity), SUBJECT),
            attempt(background(scene, self._reading.masks)),
        )
        return {"edit": edit, **subject, "background": background_result}


PAPER_READING = PixLensReading(PixLensScene, rules.RULES, objects_of_both, ssim)
RELEASED_READING = PixLensReading(
    _released.ReleasedScene, _released.RULES, _released.background_masks, _released.similarity
)
pixlens = PixLens("pixlens", PAPER_READING, PAPER_DEVIATIONS)
pixlens_as_released = PixLens("pixlens@released", RELEASED_READING, RELEASED_DEVIATIONS)
