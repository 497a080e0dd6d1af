"""EditVal: did the edit happen, by detected objects, and is the context preserved?"""

from __future__ import annotations

from asyncio import gather
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from editgauge.errors import BadInputError
from editgauge.protocols import Protocol, SetPart, format_variant, named_after
from editgauge.protocols._comparison import compare_by_role, fid_part, score_set_distances, set_distance_specs
from editgauge.protocols._rules import STEPS_DONE, attempt, no_rule, score_steps
from editgauge.protocols.editval import _appendix, _rules
from editgauge.protocols.editval._released import AutoEval, EvaluateEdits
from editgauge.protocols.editval._rules import EditValOptions, EditValScene, Rule
from editgauge.types import Item, Scores, ScoreSpec

if TYPE_CHECKING:
    from editgauge.models.perception import Perception

PAPER = "Basu et al. 2023, EditVal: Benchmarking Diffusion Based Text-Guided Image Editing Methods, arXiv 2310.02426"
COMMON_DEVIATIONS = (
    "Each image is processed at its own size; detections in the edited one are mapped to the source's size.",
    "A closed-vocabulary detector is queried with the plain word, not 'a photo of …'; a word it does not know is "
    "unscored.",
    "The threshold is the detector's own operating point; the paper's 0.1 is for OWL-ViT.",
)
PAPER_DEVIATIONS = (
    *COMMON_DEVIATIONS,
    "Of several boxes the most confident is used; the paper does not specify this.",
    "For an addition without a named class, only the new object must be detected.",
    "Boxes are compared by their centers and true areas, in the source's frame.",
    "Above and below, and moving to the center, are judged by the same geometry; the paper states left and right.",
    "If an object is not detected in the source image, the edit is unscored; the paper gives 0.",
    "Size has no minimum change: the paper does not state its delta.",
    "If a target caption names no old object, the new one must be detected in the edited image and not in the source.",
    "Counts matter: fewer objects than requested is not done; the paper has no rule for it.",
    "An instruction of several steps is done if each step is; `steps_done` is the share of completed steps.",
)
APPENDIX_K_DEVIATION = (
    "Viewpoint, color, action, texture, shape and style are judged by whether the object is seen as asked for, in one "
    "phrase; appendix K does not say how it asked."
)
GRID_DEVIATION = (
    "If a detector has no fixed order of boxes, the last one is determined by its center on a grid of 24 x 24."
)
RELEASED_DEVIATIONS = (
    *COMMON_DEVIATIONS,
    "Follows the authors' script: object and class compete for each box, corners are read as center and size, the last "
    "box counts instead of the best, above and below are swapped, only the first word of an object to be placed is "
    "asked, 0 for whatever is not found.",
    GRID_DEVIATION,
)
EVALUATE_EDITS_DEVIATIONS = (
    *COMMON_DEVIATIONS,
    "Follows the script `evaluate_edits.py`, which reads boxes like `auto_eval.py` and differs from it in four points: "
    "a moved object must go left and up, or right and down, by any distance; the words of an object to be placed are "
    "joined to one; the first word of a part ('add') is left out; a class is asked with its underscore.",
    GRID_DEVIATION,
)
APPENDIX_DEVIATIONS = (
    *COMMON_DEVIATIONS,
    "Follows appendix C as printed: an object that is not detected gives 0, positions are compared by left edges of "
    "boxes, and other directions than left and right fail.",
    "Of several boxes the most confident is used; size has no minimum change. The paper specifies neither.",
)


CONTEXT_DESCRIPTION = "Is it still the same picture? Cosine of both pictures' embeddings (EditVal, section 4.3)."


@dataclass(frozen=True, slots=True)
class EditValReading:
    """One reading of EditVal: its rules by edit type, and how it deviates from the paper."""

    rules: Mapping[str, Rule]
    deviations: tuple[str, ...]
    by_step: bool = False
    """Whether an instruction of several steps is scored step by step."""


class EditVal(Protocol):
    """EditVal's rules for six of its thirteen edit types."""

    about = "Did the edit happen? One rule per edit type on detected objects. Was the context kept?"
    paper = PAPER
    version = "4"
    needs = ("detector",)
    uses = ("image_embedder", "fid_features")

    def __init__(
        self,
        name: str,
        reading: EditValReading,
        options: EditValOptions = EditValOptions(),  # noqa: B008 - frozen
        models: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.name = name
        self.deviations = reading.deviations
        self._reading = reading
        self._options = options
        embedder = models.get("image_embedder")
        self._context = named_after("context", embedder) if embedder else None
        self.scores: tuple[ScoreSpec, ...] = (
            ScoreSpec("edit", True, (0.0, 1.0), "Did the edit happen as requested? 1 or 0.", "done"),
            *([STEPS_DONE] if self._reading.by_step else []),
            *([ScoreSpec(self._context, True, (-1.0, 1.0), CONTEXT_DESCRIPTION)] if self._context else []),
        )
        self.sets = set_distance_specs(models["fid_features"]) if "fid_features" in models else ()

    def variant(self, options: Mapping[str, str]) -> EditVal:
        """Return a variant: `delta=200`, `algorithm1` (an added object alone counts) or `other_types` (appendix K)."""
        if self._reading is not PAPER_READING or not set(options) <= {"delta", "algorithm1", "other_types"}:
            raise BadInputError(
                f"The protocol '{self.name}' has no options [{', '.join(options)}]; editval takes delta=PIXELS "
                "(or a share of the width below 1), algorithm1 and other_types."
            )
        try:
            selected = replace(self._options, needs_class="algorithm1" not in options)
            if "delta" in options:
                selected = replace(selected, delta=float(options["delta"]))
        except ValueError as error:
            raise BadInputError(f"editval[delta=…] takes a number, got '{options['delta']}'.") from error
        name = format_variant(self.name, options)
        return EditVal(name, APPENDIX_K_READING if "other_types" in options else self._reading, selected)

    def with_models(self, models: Mapping[str, str]) -> EditVal:
        """Return the protocol with context preservation by the image embedder, and FID and KID of all outcomes."""
        return EditVal(self.name, self._reading, self._options, models)

    async def score(self, item: Item, perception: Perception) -> Scores:
        """Score the edit by its type's rule, and the preservation of context."""
        if not self._context:
            return await self._edit_scores(item, perception)
        similarity = compare_by_role("image_embedder", item.source, item.edited, perception)
        edit_scores, context = await gather(self._edit_scores(item, perception), attempt(similarity))
        return {**edit_scores, self._context: context}

    async def _edit_scores(self, item: Item, perception: Perception) -> Scores:
        """Score the edit by its type's rule, step by step except in released variants."""

        async def score_step(step: Item) -> Scores:
            rule = self._reading.rules.get(step.edit.type)
            scene = EditValScene(step, perception, self._options)
            return {"edit": await attempt(rule(scene)) if rule else no_rule(step.edit)}

        return await (score_steps(item, score_step) if self._reading.by_step else score_step(item))

    async def part(self, item: Item, perception: Perception) -> SetPart:
        """Return the features of both images for FID and KID."""
        return await fid_part(item, perception)

    def score_set(self, parts: Sequence[SetPart]) -> Scores:
        """Return the distances between edited images and source images."""
        return score_set_distances(parts, [spec.name for spec in self.sets])


PAPER_READING = EditValReading(_rules.RULES, PAPER_DEVIATIONS, by_step=True)
APPENDIX_K_READING = EditValReading(_rules.WITH_OTHER_TYPES, (*PAPER_DEVIATIONS, APPENDIX_K_DEVIATION), by_step=True)
AUTO_EVAL_READING = EditValReading(AutoEval().rules, RELEASED_DEVIATIONS)
editval = EditVal("editval", PAPER_READING)
as_in_appendix = EditVal("editval@appendix", EditValReading(_appendix.RULES, APPENDIX_DEVIATIONS))
as_auto_eval = EditVal("editval@auto_eval", AUTO_EVAL_READING)
as_evaluate_edits = EditVal("editval@evaluate_edits", EditValReading(EvaluateEdits().rules, EVALUATE_EDITS_DEVIATIONS))
as_released = EditVal("editval@released", AUTO_EVAL_READING)
"""An alias of `editval@auto_eval`."""
