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

    def __init__(self, photo: Photograph, others: Sequence[Photograph], seed: int, kind: str) -> None:
        self.photo = photo
        self.chance = np.random.default_rng([seed, zlib.crc32(f"{photo.picture.name} {kind}".encode())])
        self._others = [other for other in others if other.picture.name != photo.picture.name]

    def one(self, candidates: Sequence[T]) -> T | None:
        """One of them, or None when there is none."""
        return candidates[int(self.chance.integers(len(candidates)))] if candidates else None

    def shuffled(self, candidates: Sequence[T]) -> list[T]:
        """All of them in an order of chance."""
        return [candidates[place] for place in self.chance.permutation(len(candidates))]

    def cutouts(self) -> list[tuple[CutThing, Cutout]]:
        """Things of other photographs that are not in this one, whole and large enough to be pasted."""
        candidates = [(thing, other.picture) for other in self._others for thing in other.things]
        fit = [
            candidate
            for candidate in candidates
            if _can_be_cut(candidate[0]) and not self.photo.names[candidate[0].name]
        ]
        return self.shuffled([(thing, Cutout(picture, thing.outline)) for thing, picture in fit])


Proposal = Callable[[Drawing], Draft | None]
PROPOSALS: dict[str, Proposal] = {}
"""By edit type."""


def proposes(edit_type: str) -> Callable[[Proposal], Proposal]:
    """Decorator for the function that drafts an edit of a type."""

    def register(function: Proposal) -> Proposal:
        PROPOSALS[edit_type] = function
        return function

    return register


@proposes("object_removal")
def _removal(drawing: Drawing) -> Draft | None:
    thing = drawing.one([thing for thing in drawing.photo.unique() if _can_go(thing)])
    return Draft(Remove(thing.outline), thing.name) if thing else None


@proposes("single_instance_removal")
def _single_removal(drawing: Drawing) -> Draft | None:
    photo = drawing.photo
    several = [thing for thing in photo.things if _can_go(thing) and photo.names[thing.name] > 1]
    sides = [(thing, side) for thing in several if (side := places.outermost(thing, photo)) is not None]
    chosen = drawing.one(sides)
    return Draft(Remove(chosen[0].outline), chosen[0].name, which=chosen[1]) if chosen else None


@proposes("position_replacement")
def _move(drawing: Drawing) -> Draft | None:
    photo = drawing.photo
    targets = [(thing, to, center) for thing in _free_standing(photo) for to, center in places.elsewhere(thing, photo)]
    chosen = drawing.one(targets)
    if chosen is None:
        return None
    thing, to, center = chosen
    return Draft(Move(thing.outline, center), thing.name, places.third(thing, photo), to)


@proposes("size")
def _resize(drawing: Drawing) -> Draft | None:
    photo = drawing.photo
    variants = [(thing, to, Resize(thing.outline, by)) for thing in _free_standing(photo) for to, by in SIZES.items()]
    fitting = [variant for variant in variants if places.is_free(variant[2].placed().box(), photo, besides=variant[0])]
    chosen = drawing.one(fitting)
    return Draft(chosen[2], chosen[0].name, to=chosen[1]) if chosen else None


@proposes("color")
def _recolor(drawing: Drawing) -> Draft | None:
    photo = drawing.photo
    thing = drawing.one(_paintable(photo))
    if thing is None:
        return None
    own, far = words.colors(photo.pixels, thing.outline.render(*photo.size))
    color = str(drawing.chance.choice(far))
    return Draft(Recolor(thing.outline, color), thing.name, own, color)


@proposes("texture")
def _texture(drawing: Drawing) -> Draft | None:
    thing = drawing.one(_paintable(drawing.photo))
    if thing is None:
        return None
    material = str(drawing.chance.choice(MATERIALS))
    return Draft(Texture(thing.outline, material), thing.name, to=material)


@proposes("object_replacement")
def _replacement(drawing: Drawing) -> Draft | None:
    for thing in drawing.shuffled(_free_standing(drawing.photo)):
        width, height = thing.size
        for new, cutout in drawing.cutouts():
            new_width, new_height = new.size
            ratio = (new_width / new_height) / (width / height)
            recipe = Replace(thing.outline, cutout)
            fits = 1 / LIKE_IN_SHAPE <= ratio <= LIKE_IN_SHAPE and height <= places.LARGEST_SCALE * new_height
            if fits and places.is_free(recipe.pasted().placed().box(), drawing.photo, besides=thing):
                return Draft(recipe, thing.name, thing.name, new.name)
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
    things = drawing.photo.things
    return Draft(Restyle(style), things[0].name if things else None, to=words.STYLES[style])


@proposes("background")
def _background(drawing: Drawing) -> Draft | None:
    photo = drawing.photo
    kept = tuple(thing.outline for thing in photo.things)
    clear = [sight for sight in photo.sights if sight.confidence >= CLEARLY]
    if not kept or len(kept) != len(clear) or Union(kept).render(*photo.size).mean() < FOREGROUND:
        return None
    scene = str(drawing.chance.choice(SCENES))
    return Draft(Background(kept, scene), photo.things[0].name, to=words.SCENES[scene])


def _free_standing(photo: Photograph) -> list[CutThing]:
    return [thing for thing in photo.unique() if thing.whole and _can_go(thing)]


def _can_go(thing: CutThing) -> bool:
    return thing.alone and thing.share <= LARGEST_HOLE


def _paintable(photo: Photograph) -> list[CutThing]:
    return [thing for thing in photo.unique() if thing.alone and thing.name not in UNPAINTED]


def _can_be_cut(thing: CutThing) -> bool:
    return thing.whole and thing.alone and thing.size[1] >= LEAST_CUTOUT
