"""An edit on a smaller copy of its photograph: outlines, recipes and masks shrink with it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from editgauge.core.masks import Polygons
from editgauge.core.recipes import Background, Move, Paste, Recipe, Recolour, Remove, Replace, Resize, Restyle, Texture

if TYPE_CHECKING:
    from editgauge.core.images import Picture
    from editgauge.core.types import Edit


def smaller(edit: Edit, picture: Picture, factor: float) -> Edit:
    """The edit on a copy of its source whose sides are that many times as long; its mask is the recipe's footprint."""
    if edit.recipe is None:
        raise ValueError(f"the edit '{edit.id}' has no recipe")
    recipe = shrunk(edit.recipe, factor)
    outlines = {name: mask for name, mask in edit.objects.items() if isinstance(mask, Polygons)}
    return replace(
        edit,
        source=picture,
        recipe=recipe,
        mask=recipe.footprint(),
        objects={name: times(outline, factor) for name, outline in outlines.items()},
    )


def shrunk(recipe: Recipe, factor: float) -> Recipe:
    """The recipe for the smaller picture; what is cut out of another picture is cut there as before."""
    match recipe:
        case Recolour(outline) | Texture(outline) | Remove(outline) | Resize(outline) | Replace(outline):
            return replace(recipe, outline=times(outline, factor))
        case Move(outline, (x, y)):
            return Move(times(outline, factor), (factor * x, factor * y))
        case Paste(cutout, (x, y), height):
            return Paste(cutout, (factor * x, factor * y), factor * height)
        case Background(kept, scene):
            return Background(tuple(times(outline, factor) for outline in kept), scene)
        case Restyle():
            return recipe


def times(outline: Polygons, factor: float) -> Polygons:
    """The outline with every position multiplied.

    >>> times(Polygons(((0, 0, 4, 0, 4, 2),)), 0.5).rings
    ((0.0, 0.0, 2.0, 0.0, 2.0, 1.0),)
    """
    return Polygons(tuple(tuple(factor * value for value in ring) for ring in outline.rings))
