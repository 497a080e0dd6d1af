"""PixLens: did the edit happen, is the subject the same, did the background stay; by outlines of objects."""

from __future__ import annotations

from asyncio import gather
from collections.abc import Mapping
from math import sqrt
from typing import TYPE_CHECKING

from editgauge.core.errors import CannotTell
from editgauge.core.types import Item, Score, Scores, ScoreSpec, Unscored
from editgauge.protocols import Protocol
from editgauge.protocols._shared.looking import attempt
from editgauge.protocols._shared.rule_set import NO_RULE
from editgauge.protocols.pixlens import released, rules
from editgauge.protocols.pixlens.preservation import SUBJECT, as_released, background, in_both_pictures, subject_scores
from editgauge.protocols.pixlens.scene import Scene

if TYPE_CHECKING:
    from editgauge.models.interfaces import Perception
    from editgauge.protocols.pixlens.preservation import Masks
    from editgauge.protocols.pixlens.rules import Rule

PAPER = (
    "Stefanache et al. 2024, PixLens: A Novel Framework for Disentangled Evaluation in Diffusion-Based Image Editing"
)
COMMON = (
    "The edited image is resized by Lanczos to the source's size before anything is seen in it.",
    "What counts as seen is the detector's own operating point; 0.1 belongs to GroundingDINO and OWL-ViT.",
    "Boxes of one name that overlap by more than a half are one object, the surest.",
    "Names match as whole phrases: the released code finds 'apple' in 'pineapple'.",
    "The target colour's histogram is computed exactly; the released code draws it at random from a generator that "
    "remembers earlier draws.",
    "SSIM has the Gaussian window of its own paper.",
)
AS_IN_THE_PAPER = (
    *COMMON,
    "Algorithm 3's absolute value and algorithm 4's inverted test are mended, as their text wants it.",
    "Background: outside the objects of both images; a moved object's new place is no background.",
)
AS_RELEASED = (
    *COMMON,
    "A resized object that moved gets a half, and half of a positional addition's score is that the category is still "
    "there.",
    "Background: outside the added object in the edited image, or outside the category in the source image alone.",
)
ABOUT_SUBJECT = {
    "subject_sift": "Share of the subject's key points that are found again.",
    "subject_iou": "Overlap of the subject's outlines, moved onto each other.",
    "subject_ssim": "Structural similarity of the subject alone.",
    "subject_color": "Correlation of the subject's colour histograms.",
    "subject_position": "How far the subject's centre moved, as a share of height and width.",
}
RANGES = {"subject_ssim": (-1.0, 1.0), "subject_color": (-1.0, 1.0), "subject_position": (0.0, sqrt(2))}


class PixLens(Protocol):
    """One rule per edit type, nine types; five scores of the subject; one of the background."""

    about = "Did the edit happen, is the subject the same, did the background stay? By outlines of objects."
    paper = f"{PAPER}, arXiv 2410.05710"
    version = "1"
    needs = ("detector", "segmenter")
    scores = (
        ScoreSpec("edit", True, (0.0, 1.0), "Did the edit happen as asked?"),
        *(
            ScoreSpec(name, name != "subject_position", RANGES.get(name, (0.0, 1.0)), ABOUT_SUBJECT[name])
            for name in SUBJECT
        ),
        ScoreSpec("background", True, (0.0, 1.0), "Did everything but the objects of the edit stay?"),
    )

    def __init__(self, name: str, rule_set: Mapping[str, Rule], masks: Masks, deviations: tuple[str, ...]) -> None:
        self.name = name
        self.deviations = deviations
        self._rules = rule_set
        self._masks = masks

    async def score(self, item: Item, see: Perception) -> Scores:
        """The verdict on the edit, then what stayed."""
        scene = Scene(item, see)
        rule = self._rules.get(item.edit.type)
        if rule is None:
            return {spec.name: NO_RULE for spec in self.scores}
        edit, subject, rest = await gather(
            attempt(rule(scene)), _subject(scene), attempt(background(scene, self._masks))
        )
        return {"edit": edit, **subject, "background": rest}


async def _subject(scene: Scene) -> dict[str, Score | Unscored]:
    try:
        return await subject_scores(scene)
    except CannotTell as unable:
        return dict.fromkeys(SUBJECT, Unscored(unable.reason, unable.detail))


pixlens = PixLens("pixlens", rules.RULES, in_both_pictures, AS_IN_THE_PAPER)
pixlens_as_released = PixLens("pixlens@released", released.RULES, as_released, AS_RELEASED)
