"""AugCLIP: how close is an outcome to the ideal edit, which changes only what must change?"""

from __future__ import annotations

from asyncio import gather
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from editgauge.benchmarks.attributes import Attributes, of_edit
from editgauge.errors import UnscorableError
from editgauge.metrics.embeddings import Floats
from editgauge.protocols import Protocol, SetPart, format_variant
from editgauge.protocols._rules import require
from editgauge.protocols.augclip import _attributes as rule_attributes
from editgauge.protocols.augclip._attributes import PROMPTS, ask_attributes, written_by
from editgauge.protocols.augclip._ideal import (
    AugClipOptions,
    EmbeddedOutcome,
    FittedEdit,
    PaperReading,
    augclip_evidence,
    fit_ideal_edit,
    read_options,
)
from editgauge.types import Edit, Item, Score, Scores, ScoreSpec, Unscored

if TYPE_CHECKING:
    from editgauge.protocols import JudgingPerception

PAPER = (
    "Kim et al. 2024, Preserve or Modify? Context-Aware Evaluation for Balancing Preservation and Modification in "
    "Text-Guided Image Editing, arXiv 2410.11374"
)
CLIPPED_DEVIATION = (
    "Weights that are not positive are clipped at 0.001; if a whole set is, all attributes have equal weight, and "
    "the evidence says so."
)
DROPPED_DEVIATION = (
    "Attributes without a positive weight are left out, as scikit-learn does; where none of a set is left, the edit "
    "is unscored."
)
COMMON_DEVIATIONS = (
    "The paper does not state C of eq. 7: the default is scikit-learn's 1; `c=NUMBER` sets another.",
    "LDA uses Ledoit-Wolf shrinkage in the span of the points, without weights.",
    "Naive weights are cosines with the direction from source to target text, reversed for source attributes.",
    "`short` means under five words, `long` over five: other attributes are ignored; `number` uses the first ones.",
)
MEAN_WEIGHTS_DEVIATION = (
    "Weights are mean cosines, scaled to the mean 1; the formulas print sums, which turn a whole set negative."
)
SUM_WEIGHTS_DEVIATION = "Weights are the sums of eq. 4 and 5, unscaled."
CLAMPED_DEVIATION = "A source image on the target side needs no change: v = 0, where eq. 10 would lead backwards."
UNCLAMPED_DEVIATION = "v may lead backwards, as eq. 10 prints it."
PICTURES_DEVIATION = "Both pictures are among the points; v may lead backwards."
ALREADY_THERE = "How often the source image was on the target side before any edit, so that v {}."


def deviations_of(reading: PaperReading) -> tuple[str, ...]:
    """Return how a reading deviates from the paper, or what it follows to the letter."""
    moved = UNCLAMPED_DEVIATION if reading.unclamped else CLAMPED_DEVIATION
    return (
        SUM_WEIGHTS_DEVIATION if reading.sums else MEAN_WEIGHTS_DEVIATION,
        PICTURES_DEVIATION if reading.pictures else moved,
        DROPPED_DEVIATION if reading.dropped else CLIPPED_DEVIATION,
        *COMMON_DEVIATIONS,
    )


class AugClip(Protocol):
    """The cosine of an outcome with the ideal edit."""

    about = "How similar is the outcome to the ideal edit? By attributes of source and target, in CLIP space."
    paper = PAPER
    version = "2"
    scores = (ScoreSpec("augclip", True, (-1.0, 1.0), "Cosine of the edited image with the ideal edit (eq. 3)."),)

    def __init__(self, name: str, reading: PaperReading, options: Mapping[str, str] | None = None) -> None:
        self._base = name
        self._option_texts = dict(options or {})
        self._options: AugClipOptions = read_options(name, self._option_texts)
        self._base_reading = reading
        self._reading = reading.with_options(self._option_texts)
        self.name = format_variant(name, self._option_texts)
        self.deviations = deviations_of(self._reading)
        self.judge = self._options.judge or None
        self.needs = ("joint_embedder", "judge") if self._options.origin == "judge" else ("joint_embedder",)
        already_there = ALREADY_THERE.format(
            "leads backwards" if self._reading.leads_backwards else "is 0 and both pictures are compared"
        )
        self.sets = (
            ScoreSpec("misclassified", False, (0.0, 1.0), "Mean share of points on the wrong side (table 11)."),
            ScoreSpec("already_there", False, (0.0, 1.0), already_there),
        )

    def variant(self, options: Mapping[str, str]) -> AugClip:
        """Return a variant, such as `augclip[lda]`, `augclip[sum,unclamped]` or `augclip[judge=gpt-4o,number=10]`."""
        return AugClip(self._base, self._base_reading, options)

    def with_models(self, models: Mapping[str, str]) -> AugClip:
        """Return the protocol with the judge's name, if a judge writes the attributes."""
        if self._options.origin != "judge" or self._options.judge or "judge" not in models:
            return self
        return AugClip(self._base, self._base_reading, {**self._option_texts, "judge": models["judge"]})

    async def score(self, item: Item, perception: JudgingPerception) -> Scores:
        """Score an outcome by its cosine with the ideal edit."""
        attributes, embedded, result = await self._fit(item, perception)
        return {
            "augclip": Score(result.score, augclip_evidence(self.name, attributes, embedded, result, self._reading))
        }

    async def part(self, item: Item, perception: JudgingPerception) -> SetPart:
        """Return how well the hyperplane separates the attributes, and whether the source was a target already."""
        _, _, result = await self._fit(item, perception)
        return (np.array([result.misclassified, float(result.already_there)]),)

    def score_set(self, parts: Sequence[SetPart]) -> Scores:
        """Return the means of both."""
        if not parts:
            unscored = Unscored("not_applicable", "no outcome of this set could be scored")
            return {spec.name: unscored for spec in self.sets}
        means = np.mean([part[0] for part in parts], axis=0)
        return {spec.name: Score(float(mean)) for spec, mean in zip(self.sets, means, strict=True)}

    def questions_at_most(self, edit: Edit, outcomes: int) -> Mapping[str, int]:
        """Return the number of questions; outcomes of a first turn share them."""
        judge = self._options.judge if self._options.origin == "judge" else None
        return {judge: len(PROMPTS) * (outcomes if edit.follows else 1)} if judge else {}

    async def _fit(self, item: Item, perception: JudgingPerception) -> tuple[Attributes, EmbeddedOutcome, FittedEdit]:
        attributes = self._select_attributes(await self._attributes(item, perception))
        phrases = (*attributes.source, *attributes.target)
        image_vectors, text_vectors, direction = await gather(
            gather(perception.joint_image(item.source), perception.joint_image(item.edited)),
            gather(*(perception.joint_text(phrase) for phrase in phrases)),
            self._direction(item.edit, perception),
        )
        source, target = np.split(np.stack(text_vectors), [len(attributes.source)])
        embedded = EmbeddedOutcome(*image_vectors, source, target, direction)
        return attributes, embedded, fit_ideal_edit(embedded, self._options, self._reading)

    async def _attributes(self, item: Item, perception: JudgingPerception) -> Attributes:
        if self._options.origin == "rules":
            return rule_attributes.extract(item.edit)
        if self._options.origin == "edit":
            return of_edit(item.edit)
        role, requested = self._options.judge or "judge", self._options.requested
        by = written_by(role, perception.prompt, requested)
        return await ask_attributes(
            item.edit,
            item.source,
            lambda question: perception.ask(question, role=role),
            perception.prompt,
            by,
            requested,
        )

    def _select_attributes(self, attributes: Attributes) -> Attributes:
        """Return the attributes of the requested length and number."""
        requested = self._options.requested
        source, target = requested.of(attributes.source), requested.of(attributes.target)
        if not source or not target:
            side = "target" if source else "source"
            raise UnscorableError(
                "not_applicable", f"no {side} attribute is {requested.length}; leave out '{requested.length}'"
            )
        return replace(attributes, source=source, target=target)

    async def _direction(self, edit: Edit, perception: JudgingPerception) -> Floats | None:
        """Return the vector from source text to target text, for naive weights only."""
        if self._options.weighting != "naive":
            return None
        captions = require(edit.source_caption, "a source caption"), require(edit.target_caption, "a target caption")
        before, after = await gather(*(perception.joint_text(caption) for caption in captions))
        if np.array_equal(before, after):
            raise UnscorableError(
                "not_applicable", "both captions are the same to this embedder: no direction to weigh by"
            )
        return np.asarray(after, dtype=np.float64) - before


augclip = AugClip("augclip", PaperReading())
augclip_by_sums = AugClip("augclip@sum", PaperReading(sums=True))
augclip_as_in_the_appendix = AugClip("augclip@appendix", PaperReading(pictures=True))
augclip_literal = AugClip("augclip@literal", PaperReading(sums=True, pictures=True, unclamped=True, dropped=True))
