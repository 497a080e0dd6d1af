"""The rules of EditInspector's section 4.2."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from editgauge._util.masks import BoolMask
from editgauge._vision.object_changes import PicturedThing
from editgauge.evidence import Side
from editgauge.protocols.artifacts.suffering import Suspect, meets, reaches, suspects
from editgauge.protocols.artifacts.words import is_meant
from editgauge.types import Edit


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
    gone: tuple[tuple[PicturedThing, Side], ...]
    """Method 2: things that are only in one of the pictures, and in which."""
    largest: float
    """Of the losses of confidence, 0 when none was lost."""


def as_in_the_paper(
    edit: Edit,
    edited: tuple[str, ...],
    before: Sequence[PicturedThing],
    after: Sequence[PicturedThing],
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
    own = [thing.box for thing in (*before, *after) if is_meant(thing.word, edited) and meets(thing, mask)]
    sure = [thing for thing in before if thing.confidence >= point and not is_meant(thing.word, edited)]
    candidates = suspects(sure, after, mask)
    faded = [one for one in candidates if one.after is not None and one.drop > options.drop]
    gone = [one for one in candidates if one.after is None and not any(reaches(one.before, box) for box in own)]
    losses = [one.drop for one in candidates if one.after is not None or one in gone]
    return Found(tuple(faded), tuple((one.before, "source") for one in gone), max(0.0, *losses, 0.0))
