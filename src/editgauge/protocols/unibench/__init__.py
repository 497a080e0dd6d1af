"""UniBench: is the target what and where it should be, and did target and background stay?"""

from __future__ import annotations

from asyncio import gather
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import TYPE_CHECKING

from editgauge.errors import BadInputError
from editgauge.protocols import Protocol, SetPart, format_variant
from editgauge.protocols._rules import attempt
from editgauge.protocols.unibench import _rules
from editgauge.protocols.unibench._rules import (
    CONSISTENCY,
    DEFAULT_READING,
    FIDELITY,
    READING_DESCRIPTIONS,
    READINGS,
    ClipSimilarity,
    Reading,
    Task,
    as_part,
    locate_anchor,
    locate_target,
    set_scores,
    set_specs,
)
from editgauge.types import Item, Score, Scores, ScoreSpec, Unscored

if TYPE_CHECKING:
    from editgauge.protocols import JudgingPerception

PAPER = "Ryu et al., UniBench: Fully Automated Evaluation of Image Editing Models"
RULES = {
    "target_fidelity": _rules.target_fidelity,
    "position_fidelity": _rules.position_fidelity,
    "target_consistency": _rules.target_consistency,
    "background_consistency": _rules.background_consistency,
}
PART_DESCRIPTIONS = {
    "target_fidelity": "CLIP similarity of the target, cut out, with its class or color and class.",
    "position_fidelity": "CLIP similarity of the crop of target and anchor with the words for both.",
    "target_consistency": "Change color: 1 - LPIPS of the gray cut-outs. Move: CLIP similarity of the cut-outs.",
    "background_consistency": "1 - LPIPS of the backgrounds.",
}
DEVIATIONS = (
    "The paper does not say which CLIP similarity it takes: this is {}. Of three readings only the softmax can reach "
    "all values of table 1; none is known to be the paper's.",
    "An object is cut out by its mask on the picture's mean color; target and anchor together are a plain crop.",
    "Background is what lies outside the target as it was and as it is, filled with its mean color; anchors are part "
    "of it. 1 - LPIPS is cut at 0.",
    "Objects are detected in the edited image's own size; cut-outs, crops and LPIPS use the source's size, as they "
    "compare both images.",
    "Gray cut-outs are compared at the size of the original one, with at least 64 pixels on the shorter side.",
    "Of several objects of the target's class, the one over the original's place is taken; for move and generate the "
    "most confident that is not another annotated object.",
    "A moved object that is not detected has fidelity 0 and no target consistency: the paper has no rule for it.",
)


class UniBench(Protocol):
    """Four sub-scores, two averages, and both totals of a set."""

    about = "Is the target what and where it should be, and was the rest kept? By instances, CLIP and LPIPS."
    paper = PAPER
    version = "4"
    needs = ("detector", "segmenter")
    uses = ("joint_embedder", "perceptual_distance")
    sets = set_specs("fidelity", "consistency")

    def __init__(self, reading: Reading = DEFAULT_READING, options: Mapping[str, str] | None = None) -> None:
        self._reading = reading
        self.name = format_variant("unibench", options or {})
        self.deviations = (DEVIATIONS[0].format(READING_DESCRIPTIONS[reading]), *DEVIATIONS[1:])
        span = (-1.0, 1.0) if reading == "cosine" else (0.0, 1.0)
        ranges = {"target_fidelity": span, "position_fidelity": span, "target_consistency": span}
        self.scores: tuple[ScoreSpec, ...] = (
            ScoreSpec(
                "fidelity", True, span, "Mean of target and position fidelity, as far as the task has them.", "done"
            ),
            ScoreSpec("consistency", True, span, "Mean of target and background consistency, as above.", "kept"),
            *(ScoreSpec(name, True, ranges.get(name, (0.0, 1.0)), about) for name, about in PART_DESCRIPTIONS.items()),
        )

    def variant(self, options: Mapping[str, str]) -> UniBench:
        """Return `unibench[cosine]`, `unibench[rescaled]` or `unibench[softmax]`."""
        selected = next((reading for reading in READINGS if dict(options) == {reading: ""}), None)
        if selected is None:
            raise BadInputError(
                f"'{format_variant('unibench', options)}' cannot be understood. unibench takes one of "
                f"{', '.join(READINGS)}, as in unibench[softmax]."
            )
        return UniBench(selected, options)

    async def score(self, item: Item, perception: JudgingPerception) -> Scores:
        """Return the task's sub-scores and their averages."""
        task = Task(item)
        likeness = ClipSimilarity(self._reading, perception)
        has_anchor = task.kind in {"move", "generate"}
        target, anchor = await gather(
            locate_target(item, task, perception), locate_anchor(item, task, perception) if has_anchor else _no_anchor()
        )
        scene = _rules.UniBenchScene(item, task, target, anchor, perception, likeness)
        names = [*FIDELITY[task.kind], *CONSISTENCY[task.kind]]
        parts = dict(zip(names, await gather(*(attempt(RULES[name](scene)) for name in names)), strict=True))
        absent = Unscored("not_applicable", f"{task.kind.replace('_', ' ')} has no such score")
        return {
            "fidelity": mean_score(parts, FIDELITY[task.kind]),
            "consistency": mean_score(parts, CONSISTENCY[task.kind]),
            **{name: parts.get(name, absent) for name in RULES},
        }

    async def part(self, item: Item, perception: JudgingPerception) -> SetPart:
        """Return the sub-scores of one outcome, by task type."""
        return as_part(Task(item).kind, await self.score(item, perception))

    def score_set(self, parts: Sequence[SetPart]) -> Scores:
        """Return the totals: means per type and kind of score, then per type, then over types."""
        return set_scores(parts, {"fidelity": FIDELITY, "consistency": CONSISTENCY})


async def _no_anchor() -> None:
    return None


def mean_score(parts: Scores, names: Sequence[str]) -> Score | Unscored:
    """Return the mean of sub-scores; unscored for the first missing one's reason."""
    scores = [score_or_unscored for name in names if isinstance(score_or_unscored := parts[name], Score)]
    if len(scores) == len(names):
        return Score(
            fmean(score.value for score in scores), tuple(piece for score in scores for piece in score.evidence)
        )
    return next(score_or_unscored for name in names if isinstance(score_or_unscored := parts[name], Unscored))


unibench = UniBench()
