"""What each type of edit could be on a photograph, drawn by chance."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, TypeVar

import numpy as np

from editgauge._util.masks import Union
from editgauge.audits.proposals import places, words
from editgauge.audits.proposals.scene import CLEARLY, CutThing, Photograph
from editgauge.recipes import (
    MATERIALS,
    STYLES,
    Background,
    Cutout,
    Move,
    Recipe,
    Recolor,
    Remove,
    Replace,
    Resize,
    Restyle,
    Texture,
)
from editgauge.types import Position

T = TypeVar("T")
UNPAINTED = {"person"}
"""An edit that gives a person another material is not proposed."""
SIDES: tuple[Literal["left", "right"], ...] = ("left", "right")
SIZES = MappingProxyType({"small": 0.6, "large": 1.35})
LARGEST_HOLE = 0.1
"""Of the picture: what is left behind by something larger can hardly be painted by anyone."""
LEAST_CUTOUT = 60
"""Pixels in height of a thing worth pasting elsewhere."""
LIKE_IN_SHAPE = 1.7
"""How many times wider, at the same height, a replacement may be than what it replaces, or narrower."""
SCENES = ("brick", "grass", "blur", "white")
FOREGROUND = 0.04
"""Of the picture, that what is kept before another background covers."""


@dataclass(frozen=True, slots=True)
class Draft:
    """What makes an edit of a type, before it is put into words."""

    recipe: Recipe
    subject: str | None = None
    from_: str | None = None
    to: str | None = None
    position: Position | None = None
    which: str | None = None
    """Which of several: leftmost, rightmost."""


class Drawing:
    """Chance for one type of edit on one photograph, and the things of other photographs."""

    def __init__(self, photo: Photograph, other_photos: Sequence[Photograph], seed: int, kind: str) -> None:
        self.photo = photo
        self.chance = np.random.default_rng([seed, zlib.crc32(f"{photo.picture.name} {kind}".encode())])
        self._others = [other for other in other_photos if other.picture.name != photo.picture.name]

    def one(self, candidates: Sequence[T]) -> T | None:
        """One of them, or None when there is none."""
        return candidates[int(self.chance.integers(len(candidates)))] if candidates else None

    def shuffled(self, candidates: Sequence[T]) -> list[T]:
        """All of them in an order of chance."""
        return [candidates[index] for index in self.chance.permutation(len(candidates))]

    def cutouts(self) -> list[tuple[CutThing, Cutout]]:
        """Things of other photographs that are not in this one, whole and large enough to be pasted."""
        candidates = [(cutout, other.picture) for other in self._others for cutout in other.things]
        fit = [
            candidate
            for candidate in candidates
            if _can_be_cut(candidate[0]) and not self.photo.names[candidate[0].name]
        ]
        return self.shuffled([(cutout, Cutout(picture, cutout.outline)) for cutout, picture in fit])


Proposal = Callable[[Drawing], Draft | None]
PROPOSALS: dict[str, Proposal] = {}
"""By edit type."""


def proposes(edit_type: str) -> Callable[[Proposal], Proposal]:
    """Register a function that drafts an edit of a type."""

    def register(function: Proposal) -> Proposal:
        PROPOSALS[edit_type] = function
        return function

    return register


@proposes("object_removal")
def _removal(drawing: Drawing) -> Draft | None:
    cutout = drawing.one([cutout for cutout in drawing.photo.unique() if _can_go(cutout)])
    return Draft(Remove(cutout.outline), cutout.name) if cutout else None


@proposes("single_instance_removal")
def _single_removal(drawing: Drawing) -> Draft | None:
    photo = drawing.photo
    several = [cutout for cutout in photo.things if _can_go(cutout) and photo.names[cutout.name] > 1]
    sides = [(cutout, side) for cutout in several if (side := places.outermost(cutout, photo)) is not None]
    choice = drawing.one(sides)
    return Draft(Remove(choice[0].outline), choice[0].name, which=choice[1]) if choice else None


@proposes("position_replacement")
def _move(drawing: Drawing) -> Draft | None:
    photo = drawing.photo
    targets = [
        (cutout, to, center) for cutout in _free_standing(photo) for to, center in places.elsewhere(cutout, photo)
    ]
    choice = drawing.one(targets)
    if choice is None:
        return None
    cutout, to, center = choice
    return Draft(Move(cutout.outline, center), cutout.name, places.third(cutout, photo), to)


@proposes("size")
def _resize(drawing: Drawing) -> Draft | None:
    photo = drawing.photo
    variants = [
        (cutout, to, Resize(cutout.outline, by)) for cutout in _free_standing(photo) for to, by in SIZES.items()
    ]
    fitting = [variant for variant in variants if places.is_free(variant[2].placed().box(), photo, excluded=variant[0])]
    choice = drawing.one(fitting)
    return Draft(choice[2], choice[0].name, to=choice[1]) if choice else None


@proposes("color")
def _recolor(drawing: Drawing) -> Draft | None:
    photo = drawing.photo
    cutout = drawing.one(_paintable(photo))
    if cutout is None:
        return None
    current, far = words.colors(photo.pixels, cutout.outline.render(*photo.size))
    color = str(drawing.chance.choice(far))
    return Draft(Recolor(cutout.outline, color), cutout.name, current, color)


@proposes("texture")
def _texture(drawing: Drawing) -> Draft | None:
    cutout = drawing.one(_paintable(drawing.photo))
    if cutout is None:
        return None
    material = str(drawing.chance.choice(MATERIALS))
    return Draft(Texture(cutout.outline, material), cutout.name, to=material)


@proposes("object_replacement")
def _replacement(drawing: Drawing) -> Draft | None:
    for old in drawing.shuffled(_free_standing(drawing.photo)):
        width, height = old.size
        for new, cutout in drawing.cutouts():
            new_width, new_height = new.size
            ratio = (new_width / new_height) / (width / height)
            recipe = Replace(old.outline, cutout)
            fits = 1 / LIKE_IN_SHAPE <= ratio <= LIKE_IN_SHAPE and height <= places.LARGEST_SCALE * new_height
            if fits and places.is_free(recipe.pasted().placed().box(), drawing.photo, excluded=old):
                return Draft(recipe, old.name, old.name, new.name)
    return None


@proposes("object_addition")
def _addition(drawing: Drawing) -> Draft | None:
    for new, cutout in drawing.cutouts():
        paste = places.anywhere(new, cutout, drawing.photo, drawing.chance)
        if paste is not None:
            subject = drawing.photo.things[0].name if drawing.photo.things else None
            return Draft(paste, subject, to=new.name)
    return None


@proposes("positional_addition")
def _positional_addition(drawing: Drawing) -> Draft | None:
    for anchor in drawing.shuffled(drawing.photo.unique()):
        for new, cutout in drawing.cutouts():
            for relation in drawing.shuffled(SIDES):
                paste = places.beside(new, cutout, anchor, relation, drawing.photo)
                if paste is not None:
                    return Draft(paste, anchor.name, to=new.name, position=Position(relation, anchor.name))
    return None


@proposes("style")
def _restyle(drawing: Drawing) -> Draft | None:
    style = str(drawing.chance.choice(STYLES))
    cutouts = drawing.photo.things
    return Draft(Restyle(style), cutouts[0].name if cutouts else None, to=words.STYLES[style])


@proposes("background")
def _background(drawing: Drawing) -> Draft | None:
    photo = drawing.photo
    outlines = tuple(cutout.outline for cutout in photo.things)
    clear = [sight for sight in photo.sights if sight.confidence >= CLEARLY]
    if not outlines or len(outlines) != len(clear) or Union(outlines).render(*photo.size).mean() < FOREGROUND:
        return None
    scene = str(drawing.chance.choice(SCENES))
    return Draft(Background(outlines, scene), photo.things[0].name, to=words.SCENES[scene])


def _free_standing(photo: Photograph) -> list[CutThing]:
    return [cutout for cutout in photo.unique() if cutout.whole and _can_go(cutout)]


def _can_go(cutout: CutThing) -> bool:
    return cutout.alone and cutout.share <= LARGEST_HOLE


def _paintable(photo: Photograph) -> list[CutThing]:
    return [cutout for cutout in photo.unique() if cutout.alone and cutout.name not in UNPAINTED]


def _can_be_cut(cutout: CutThing) -> bool:
    return cutout.whole and cutout.alone and cutout.size[1] >= LEAST_CUTOUT
