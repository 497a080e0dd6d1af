"""Recipes for making the correct outcome of an edit from the photograph itself, without a generative model.

A benchmark may give an edit a recipe; the reference editors follow it, or depart from it in a known way. So the truth
about their outcomes is known. `footprint` is the region a right outcome may change.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from editgauge._util.masks import Dilated, Mask, MayOverhang, Outside, Polygons, Union

if TYPE_CHECKING:
    from editgauge._util.images import ImageFile

MARGIN = 6
"""Pixels around an object that a right outcome may touch: feathered edges and inpainting need a little room."""


@dataclass(frozen=True, slots=True)
class Cutout:
    """An object of another photograph, to be pasted."""

    picture: ImageFile
    outline: Polygons


@dataclass(frozen=True, slots=True)
class _ChangeInPlace:
    outline: Polygons

    def footprint(self) -> Mask | None:
        """Return the object with a margin."""
        return Dilated(self.outline, MARGIN)


@dataclass(frozen=True, slots=True)
class Recolor(_ChangeInPlace):
    """The object gets another color and keeps its shading."""

    color: str


@dataclass(frozen=True, slots=True)
class Texture(_ChangeInPlace):
    """The object gets another surface and keeps its shading."""

    material: str


@dataclass(frozen=True, slots=True)
class Remove(_ChangeInPlace):
    """The object is removed and the hole is filled."""


@dataclass(frozen=True, slots=True)
class Move:
    """The object moves; `center` is the new center of its bounding box."""

    outline: Polygons
    center: tuple[float, float]

    def placed(self) -> Polygons:
        """Return the outline of the object afterwards."""
        left, top, right, bottom = self.outline.box()
        half_width, half_height = (right - left) / 2, (bottom - top) / 2
        x, y = self.center
        return self.outline.fitted(x - half_width, y - half_height, x + half_width, y + half_height)

    def footprint(self) -> Mask | None:
        """Return the old and the new position with a margin."""
        return Dilated(Union((self.outline, MayOverhang(self.placed()))), MARGIN)


@dataclass(frozen=True, slots=True)
class Resize:
    """The object becomes larger or smaller in the same position."""

    outline: Polygons
    factor: float

    def placed(self) -> Polygons:
        """Return the outline of the object afterwards, scaled about the middle of its lower edge."""
        left, top, right, bottom = self.outline.box()
        x, half_width, height = (left + right) / 2, (right - left) / 2 * self.factor, (bottom - top) * self.factor
        return self.outline.fitted(x - half_width, bottom - height, x + half_width, bottom)

    def footprint(self) -> Mask | None:
        """Return the object before and after, with a margin."""
        return Dilated(Union((self.outline, MayOverhang(self.placed()))), MARGIN)


@dataclass(frozen=True, slots=True)
class Paste:
    """A new object stands with the middle of its lower edge at `foot`, that many pixels high."""

    cutout: Cutout
    foot: tuple[float, float]
    height: float

    def placed(self) -> Polygons:
        """Return the outline of the new object."""
        left, top, right, bottom = self.cutout.outline.box()
        half_width = (right - left) / 2 * self.height / (bottom - top)
        x, y = self.foot
        return self.cutout.outline.fitted(x - half_width, y - self.height, x + half_width, y)

    def footprint(self) -> Mask | None:
        """Return the new object with a margin."""
        return Dilated(MayOverhang(self.placed()), MARGIN)


@dataclass(frozen=True, slots=True)
class Replace:
    """Another object of the same height replaces the object."""

    outline: Polygons
    cutout: Cutout

    def pasted(self) -> Paste:
        """Return the paste of the new object in the position of the old one."""
        left, top, right, bottom = self.outline.box()
        return Paste(self.cutout, ((left + right) / 2, bottom), bottom - top)

    def footprint(self) -> Mask | None:
        """Return the old and the new object with a margin."""
        return Dilated(Union((self.outline, MayOverhang(self.pasted().placed()))), MARGIN)


@dataclass(frozen=True, slots=True)
class Restyle:
    """The image gets another style."""

    style: str

    def footprint(self) -> Mask | None:
        """Return None: everything may change."""
        return None


@dataclass(frozen=True, slots=True)
class Background:
    """Everything except some objects changes: blurred, one color, a material, or another photograph."""

    objects: tuple[Polygons, ...]
    scene: str | ImageFile

    def footprint(self) -> Mask | None:
        """Return everything outside the preserved objects, and their edges."""
        return Dilated(Outside(Union(self.objects)), MARGIN)


Recipe = Recolor | Texture | Remove | Move | Resize | Paste | Replace | Restyle | Background
COLORS = ("red", "orange", "yellow", "green", "blue", "purple", "pink", "brown", "black", "white", "gray", "golden")
MATERIALS = ("brick", "grass", "gravel", "stripes", "dots", "wood")
STYLES = ("sketch", "grayscale", "sepia", "cartoon", "negative", "oil")
SCENES = ("blur", "white", "black", "brick", "grass")
