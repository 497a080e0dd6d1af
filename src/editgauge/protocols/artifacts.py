"""The words of an edit that a detector may be asked, and those that name the edited object itself."""

from __future__ import annotations

from asyncio import gather
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from editgauge._util.masks import BoolMask
from editgauge._util.phrases import without_article
from editgauge._vision.geometry import box_overlap
from editgauge._vision.object_changes import HALF_SURE, BoxSides, DetectedObject
from editgauge.edit_types import EDIT_TYPES
from editgauge.errors import BadInputError
from editgauge.evidence import Box, Evidence, Note, Region, Side
from editgauge.protocols import Protocol, variant_name
from editgauge.protocols._changes import changes_of
from editgauge.protocols._objects import detect_objects, operating_point, outline_objects
from editgauge.protocols.difference._triplets import things
from editgauge.types import Edit, Item, Score, Scores, ScoreSpec

if TYPE_CHECKING:
    from editgauge._util.images import Pixels
    from editgauge.models.interfaces import Perception


@dataclass(frozen=True, slots=True)
class ArtifactWords:
    """What to look for."""

    all: tuple[str, ...]
    edited: tuple[str, ...]
    """Those that name the object which the edit itself changes."""


def words_of(edit: Edit) -> ArtifactWords:
    """The words of the edit; an addition changes the new object, any other edit its subject and what that becomes."""
    kind = EDIT_TYPES[edit.type]
    objects = () if kind.value in {"attribute", "place"} else (edit.from_, edit.to)
    changed = (edit.to,) if kind.effect == "adds" else (edit.subject, *objects)
    edited = _plain(changed)
    names = [name for caption in (edit.source_caption, edit.target_caption) if caption for name in things(caption)]
    further = _plain((edit.subject, *edit.objects, *names))
    return ArtifactWords(tuple(dict.fromkeys([*edited, *further])), edited)


def is_meant(word: str | None, edited: tuple[str, ...]) -> bool:
    """Does a detector's word name the edited object? `bear` is meant by 'the teddy bear', and the other way round."""
    if word is None:
        return False
    parts = set(word.lower().split())
    return any(parts <= set(name.split()) or set(name.split()) <= parts for name in edited)


def _plain(words: tuple[str | None, ...]) -> tuple[str, ...]:
    return tuple(without_article(word).lower() for word in words if word and word.strip())


SAME_PLACE = 0.3
"""Overlap from which two boxes of one word are the same thing before and after."""


@dataclass(frozen=True, slots=True, eq=False)
class Suspect:
    """A thing that meets the edit's mask, and what the edit made of it."""

    before: DetectedObject
    after: DetectedObject | None
    """None when it is gone."""

    @property
    def drop(self) -> float:
        """How much less sure the detector is of it; all of its confidence when it is gone."""
        return self.before.confidence - (self.after.confidence if self.after else 0.0)


def meets(thing: DetectedObject, mask: BoolMask) -> bool:
    """Does the thing reach into the mask?"""
    return bool((thing.mask & mask).any())


def suspects(before: Sequence[DetectedObject], after: Sequence[DetectedObject], mask: BoolMask) -> list[Suspect]:
    """The things of the source that meet the mask, each with its like in the edited picture.

    Args:
        before: what is seen in the source
        after: what is seen in the edited picture, also what is hardly seen
        mask: where the edit was made
    """
    listed: list[Suspect] = []
    free = list(after)
    for thing in sorted(before, key=lambda each: -each.confidence):
        likes = [other for other in free if other.label == thing.label and _overlap(thing, other) >= SAME_PLACE]
        like = max(likes, key=lambda other: _overlap(thing, other), default=None)
        # A thing outside the mask keeps its like, too: it must not be taken for another's.
        free = [other for other in free if other is not like]
        if meets(thing, mask):
            listed.append(Suspect(thing, like))
    return listed


def reaches(thing: DetectedObject, box: BoxSides) -> bool:
    """Do the boxes overlap at all?"""
    return _overlap(thing, DetectedObject(None, box, thing.mask)) > 0


def _overlap(one: DetectedObject, other: DetectedObject) -> float:
    return box_overlap(one.box, other.box)


@dataclass(frozen=True, slots=True)
class ArtifactOptions:
    """What a variant may change."""

    drop: float = 0.04
    """The loss of confidence over which a thing suffered."""


@dataclass(frozen=True, slots=True)
class Found:
    """What suffered."""

    faded: tuple[Suspect, ...]
    """Method 1: things that the detector is less sure of."""
    gone: tuple[tuple[DetectedObject, Side], ...]
    """Method 2: things that are only in one of the pictures, and in which."""
    largest: float
    """Of the losses of confidence, 0 when none was lost."""


def as_in_the_paper(
    edit: Edit,
    edited: tuple[str, ...],
    before: Sequence[DetectedObject],
    after: Sequence[DetectedObject],
    mask: BoolMask,
    point: float,
    options: ArtifactOptions,
) -> Found:
    """Things that meet the mask and lost confidence, and those that are gone next to the edited object.

    Args:
        edit: the request
        edited: words for the object that the edit itself changes
        before: what is seen in the source, from half the operating point on
        after: what is seen in the edited picture, the same
        mask: where the edit was made
        point: minimum confidence at which something counts as seen
        options: the threshold
    """
    del edit  # the paper's rule is the same for every edit type
    own = [thing.box for thing in (*before, *after) if is_meant(thing.label, edited) and meets(thing, mask)]
    sure = [thing for thing in before if thing.confidence >= point and not is_meant(thing.label, edited)]
    candidates = suspects(sure, after, mask)
    faded = [one for one in candidates if one.after is not None and one.drop > options.drop]
    gone = [one for one in candidates if one.after is None and not any(reaches(one.before, box) for box in own)]
    losses = [one.drop for one in candidates if one.after is not None or one in gone]
    return Found(tuple(faded), tuple((one.before, "source") for one in gone), max(0.0, *losses, 0.0))


LARGEST = 0.4
"""Of the mask: a thing that covers this much of it is what was edited."""
SMALL = 0.024
"""Of the mask, and of the thing: less cannot be seen."""
INSIDE = 0.97
"""Of the thing: such a thing is in the mask, and was edited with it."""


def as_released(
    edit: Edit,
    edited: tuple[str, ...],
    before: Sequence[DetectedObject],
    after: Sequence[DetectedObject],
    mask: BoolMask,
    point: float,
    options: ArtifactOptions,
) -> Found:
    """Things of one word whose confidence differs either way, with filters of size; and things that came or went."""
    seen, seen_after = ([thing for thing in things if thing.confidence >= point] for things in (before, after))
    pairs = [
        Suspect(one, other)
        for one in _partly_in(seen, mask)
        for other in _partly_in(seen_after, mask)
        if one.label == other.label and reaches(one, other.box)
    ]
    candidates = [pair for pair in pairs if not _hardly_met(pair, mask) and not _inside(pair, mask)]
    faded = [pair for pair in candidates if abs(pair.drop) >= options.drop]
    gone: list[tuple[DetectedObject, Side]] = []
    effect = EDIT_TYPES[edit.type].effect
    if effect == "adds":
        gone = [(thing, "source") for thing in _alone(seen, seen_after, mask, edited)]
    elif effect == "removes":
        gone = [(thing, "edited") for thing in _alone(seen_after, seen, mask, edited)]
    losses = [*(abs(pair.drop) for pair in candidates), *(thing.confidence for thing, _ in gone)]
    return Found(tuple(faded), tuple(gone), max(0.0, *losses, 0.0))


def _alone(
    things: Sequence[DetectedObject], others: Sequence[DetectedObject], mask: BoolMask, edited: tuple[str, ...]
) -> list[DetectedObject]:
    """Things that meet the mask and touch nothing at all in the other picture; not the edited object."""
    return [
        thing
        for thing in things
        if meets(thing, mask)
        and not is_meant(thing.label, edited)
        and not any(reaches(thing, other.box) for other in others)
    ]


def _partly_in(things: Sequence[DetectedObject], mask: BoolMask) -> list[DetectedObject]:
    return [thing for thing in things if 0 < _of_mask(thing, mask) < LARGEST]


def _hardly_met(pair: Suspect, mask: BoolMask) -> bool:
    both = _both(pair)
    return all(_of_mask(thing, mask) <= SMALL for thing in both) and any(
        _of_thing(thing, mask) < SMALL for thing in both
    )


def _inside(pair: Suspect, mask: BoolMask) -> bool:
    return all(_of_thing(thing, mask) >= INSIDE for thing in _both(pair))


def _both(pair: Suspect) -> list[DetectedObject]:
    return [thing for thing in (pair.before, pair.after) if thing is not None]


def _of_mask(thing: DetectedObject, mask: BoolMask) -> float:
    return float((thing.mask & mask).sum() / mask.sum())


def _of_thing(thing: DetectedObject, mask: BoolMask) -> float:
    return float((thing.mask & mask).sum() / max(1, thing.mask.sum()))


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
        words, point, images = words_of(item.edit), operating_point(perception), (item.source, item.edited)

        async def objects(outlined: set[BoxSides]) -> list[list[DetectedObject]]:
            return await gather(*(_detect(perception, image, words, point, outlined) for image in images))

        async def found_with(outlined: set[BoxSides]) -> Found:
            before, after = await objects(outlined)
            return self._rule(item.edit, words.edited, before, after, mask, point, self._options)

        before, after = await objects(set())
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
        before: Sequence[DetectedObject],
        after: Sequence[DetectedObject],
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
        sure = [thing for thing in before if thing.confidence >= point and not is_meant(thing.label, edited)]
        lost = [one for one in suspects(sure, after, np.ones_like(mask)) if one.drop > 0]
        gone = [one.before for one in lost if one.after is None]
        meant = [thing for thing in (*before, *after) if is_meant(thing.label, edited)]
        beside = [thing for thing in meant if any(reaches(each, thing.box) for each in gone)]
        clearly = [one.before for one in lost if one.after is None or one.drop > self._options.drop]
        slightly = [one.before for one in lost if one.after is not None and one.drop <= self._options.drop]
        first, second = (
            {thing.box for thing in things if meets(thing, mask) and not mask[thing.mask].all()}
            for things in ((*clearly, *beside), slightly)
        )
        return first, second


async def _detect(
    perception: Perception, image: Pixels, words: ArtifactWords, point: float, outlined: set[BoxSides]
) -> list[DetectedObject]:
    """Detect everything from half the operating point on, with outlines for some of the boxes."""
    objects = await detect_objects(perception, image, words.all, HALF_SURE * point)
    return await outline_objects(perception, image, objects, lambda detected: detected.box in outlined)


def _evidence(artifacts: Found, mask: BoolMask) -> tuple[Evidence, ...]:
    pieces: list[Evidence] = [Region("source", mask, "the edit")]
    for one in artifacts.faded:
        pieces += [Box("source", *one.before.box, f"{one.before.label}: before", one.before.confidence)]
        if one.after is not None:
            pieces += [Box("edited", *one.after.box, f"{one.before.label}: after", one.after.confidence)]
            sure = f"from {one.before.confidence:.2f} to {one.after.confidence:.2f}"
            pieces += [Note(f"The detector's confidence in the {one.before.label} went {sure}.")]
    for thing, side in artifacts.gone:
        pieces += [Box(side, *thing.box, f"{thing.label}: {'gone' if side == 'source' else 'new'}", thing.confidence)]
        pieces += [Note(f"The {thing.label} {'is gone' if side == 'source' else 'is new'}, which was not requested.")]
    return tuple(pieces) if len(pieces) > 1 else (*pieces, Note("No object around the edit was damaged."))


artifacts = Artifacts("artifacts", as_in_the_paper, AS_IN_THE_PAPER, ArtifactOptions())
artifacts_as_released = Artifacts("artifacts@released", as_released, AS_RELEASED, ArtifactOptions())
