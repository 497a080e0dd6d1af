"""EditInspector's artifact detection: were objects around the edit damaged? By the confidence of a detector."""

from __future__ import annotations

from asyncio import gather
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from editgauge._vision.object_changes import HALF_SURE, BoxSides, PicturedThing
from editgauge.errors import BadInputError
from editgauge.evidence import Box, Evidence, Note, Region
from editgauge.protocols import Protocol, variant_name
from editgauge.protocols._changes import changes_of, operating_point, things_seen
from editgauge.protocols.artifacts.released import as_released
from editgauge.protocols.artifacts.rules import ArtifactOptions, Found, as_in_the_paper
from editgauge.protocols.artifacts.suffering import meets, reaches, suspects
from editgauge.protocols.artifacts.words import is_meant, words_of
from editgauge.types import Item, Score, Scores, ScoreSpec

if TYPE_CHECKING:
    from editgauge._util.masks import BoolMask
    from editgauge.models.interfaces import Perception

Rule = Callable[..., Found]

PAPER = (
    "Yosef et al. 2025, EditInspector: A Benchmark for Evaluation of Text-Guided Image Edits, arXiv 2506.09988, "
    "section 4.2"
)
COMMON = (
    "Any detector, at its own operating point; the paper uses Detic at 0.5 with the classes of LVIS.",
    "If the edit has no mask, the detected change is used.",
    "Without a segmenter, boxes are used instead of outlines.",
)
AS_IN_THE_PAPER = (
    *COMMON,
    "Boxes of one class with an overlap of 0.3 are the same object before and after; the paper does not specify this.",
    "The edited object, identified by the edit's words, is never an artifact.",
    "The largest drop is reported too; an object that is gone counts with all of its confidence.",
)
AS_RELEASED = (
    *COMMON,
    "Follows the authors' notebook: a rise of confidence counts like a drop; objects that cover 40% of the mask or "
    "more, hardly overlap it, or are inside it are ignored; touching boxes of one class are the same object.",
    "Lost objects count for additions only, and new ones for removals, if they touch no box of any class in the other "
    "picture; the box of the edited object is not used, because the notebook discards it.",
    "One size of the pictures instead of two, and the whole mask instead of each of its parts.",
)
SPECS = (
    ScoreSpec(
        "artifact", False, (0.0, 1.0), "Was an object around the edit damaged? 1 if `faded` or `gone` is.", "artifacts"
    ),
    ScoreSpec("artifact_score", False, (0.0, 1.0), "The largest loss of confidence of an object around the edit."),
    ScoreSpec("faded", False, (0.0, 1.0), "Did an object that overlaps the mask lose confidence? 1 or 0."),
    ScoreSpec("gone", False, (0.0, 1.0), "Did an object that overlapped the mask vanish without being edited? 1 or 0."),
)


class Artifacts(Protocol):
    """Both methods, whether either fires, and how much confidence was lost at most."""

    about = "Did the edit leave artifacts? Objects around it that lost detector confidence or vanished."
    paper = PAPER
    version = "2"
    needs = ("detector",)
    uses = ("segmenter",)
    scores = SPECS

    def __init__(self, name: str, rule: Rule, deviations: tuple[str, ...], options: ArtifactOptions) -> None:
        self.name = name
        self.deviations = deviations
        self._rule = rule
        self._options = options

    def variant(self, options: Mapping[str, str]) -> Artifacts:
        """`artifacts[drop=0.1]`: the smallest loss of confidence that counts as damage."""
        if set(options) != {"drop"}:
            raise BadInputError(
                f"The protocol '{self.name}' takes the option drop=CONFIDENCE, got [{', '.join(options)}]."
            )
        try:
            drop = float(options["drop"])
        except ValueError as error:
            raise BadInputError(f"{self.name}[drop=…] takes a number, got '{options['drop']}'.") from error
        if not 0 <= drop <= 1:
            raise BadInputError(f"{self.name}[drop=…] must be between 0 and 1, got {drop:g}.")
        return Artifacts(
            variant_name(self.name, options), self._rule, self.deviations, replace(self._options, drop=drop)
        )

    async def score(self, item: Item, perception: Perception) -> Scores:
        """The verdict of each method, of both, and the largest loss."""
        mask = item.mask if item.mask is not None else changes_of(item.source, item.edited).mask
        if not mask.any():
            nothing = Score(0.0, (Note("Nothing changed, so nothing was damaged."),))
            return {spec.name: nothing for spec in SPECS}
        words, point = words_of(item.edit), operating_point(perception)

        async def seen(outlined: set[BoxSides]) -> list[list[PicturedThing]]:
            def needs_outline(_: str, box: BoxSides, __: float) -> bool:
                return box in outlined

            return await gather(
                *(
                    things_seen(perception, picture, words.all, HALF_SURE * point, needs_outline=needs_outline)
                    for picture in (item.source, item.edited)
                )
            )

        async def found_with(outlined: set[BoxSides]) -> Found:
            before, after = await seen(outlined)
            return self._rule(item.edit, words.edited, before, after, mask, point, self._options)

        before, after = await seen(set())
        unclear, slight = self._unclear(words.edited, before, after, mask, point)
        artifacts = await found_with(unclear)
        if slight and artifacts.largest <= self._options.drop:
            artifacts = await found_with(unclear | slight)
        return {
            "artifact": Score(float(bool(artifacts.faded or artifacts.gone)), _evidence(artifacts, mask)),
            "artifact_score": Score(artifacts.largest),
            "faded": Score(float(bool(artifacts.faded))),
            "gone": Score(float(bool(artifacts.gone))),
        }

    def _unclear(
        self,
        edited: tuple[str, ...],
        before: Sequence[PicturedThing],
        after: Sequence[PicturedThing],
        mask: BoolMask,
        point: float,
    ) -> tuple[set[BoxSides], set[BoxSides]]:
        """The boxes of things of which only an outline says whether they meet the mask, or how far; and those of which
        it matters only where nothing suffered.

        By the paper's rule a thing that the detector is as sure of as before is no artifact wherever it is, one inside
        the mask meets it, and a slight loss matters only where there is no greater one.
        """
        if self._rule is not as_in_the_paper:
            return {thing.box for thing in (*before, *after) if thing.confidence >= point and meets(thing, mask)}, set()
        sure = [thing for thing in before if thing.confidence >= point and not is_meant(thing.word, edited)]
        lost = [one for one in suspects(sure, after, np.ones_like(mask)) if one.drop > 0]
        gone = [one.before for one in lost if one.after is None]
        meant = [thing for thing in (*before, *after) if is_meant(thing.word, edited)]
        beside = [thing for thing in meant if any(reaches(each, thing.box) for each in gone)]
        clearly = [one.before for one in lost if one.after is None or one.drop > self._options.drop]
        slightly = [one.before for one in lost if one.after is not None and one.drop <= self._options.drop]
        first, second = (
            {thing.box for thing in things if meets(thing, mask) and not mask[thing.mask].all()}
            for things in ((*clearly, *beside), slightly)
        )
        return first, second


def _evidence(artifacts: Found, mask: BoolMask) -> tuple[Evidence, ...]:
    pieces: list[Evidence] = [Region("source", mask, "the edit")]
    for one in artifacts.faded:
        pieces += [Box("source", *one.before.box, f"{one.before.word}: before", one.before.confidence)]
        if one.after is not None:
            pieces += [Box("edited", *one.after.box, f"{one.before.word}: after", one.after.confidence)]
            sure = f"from {one.before.confidence:.2f} to {one.after.confidence:.2f}"
            pieces += [Note(f"The detector's confidence in the {one.before.word} went {sure}.")]
    for thing, side in artifacts.gone:
        pieces += [Box(side, *thing.box, f"{thing.word}: {'gone' if side == 'source' else 'new'}", thing.confidence)]
        pieces += [Note(f"The {thing.word} {'is gone' if side == 'source' else 'is new'}, which was not requested.")]
    return tuple(pieces) if len(pieces) > 1 else (*pieces, Note("No object around the edit was damaged."))


artifacts = Artifacts("artifacts", as_in_the_paper, AS_IN_THE_PAPER, ArtifactOptions())
artifacts_as_released = Artifacts("artifacts@released", as_released, AS_RELEASED, ArtifactOptions())
