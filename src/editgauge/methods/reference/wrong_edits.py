"""Recipes gone wrong: the right operation on the wrong object or side, or a plainly wrong operation."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from editgauge._util.images import Pixels, as_lab
from editgauge._util.masks import Polygons, bounding_box
from editgauge.methods.reference._appearance import COLORS, lab_of
from editgauge.methods.reference.operations import clamp_to_image, rasterize_outline, recipe_mask
from editgauge.recipes import (
    MATERIALS,
    Background,
    Cutout,
    Move,
    Paste,
    Recipe,
    Recolor,
    Remove,
    Replace,
    Resize,
    Restyle,
    Texture,
)

if TYPE_CHECKING:
    from editgauge.types import Edit, Relation

Box = tuple[float, float, float, float]
OnAnObject = TypeVar("OnAnObject", Recolor, Texture, Remove, Resize, Replace)

DISSIMILAR_STYLES = {
    "sketch": ("negative", "sepia", "oil"),
    "grayscale": ("negative", "oil", "cartoon"),
    "sepia": ("negative", "sketch", "cartoon"),
    "cartoon": ("negative", "sepia", "grayscale"),
    "negative": ("sepia", "grayscale", "oil"),
    "oil": ("negative", "sketch", "grayscale"),
}
"""Styles unlike the requested one: a sketch is gray too, and an oil painting is flat like a cartoon."""
MIN_COLOR_DISTANCE = 45.0
"""CIELAB distance from which two colors have different names for everyone."""
MAX_OVERLAP = 0.2
"""The share of the right object that a blunder on another one may touch."""
OBJECT_SIZES = 0.001, 0.4
"""Shares of the picture that an object worth a blunder covers: neither a speck nor the sky."""


def wrong_recipe(edit: Edit, recipe: Recipe, source: Pixels, rng: np.random.Generator) -> Recipe:
    """Return what a careless editor does instead of the recipe; never accidentally the correct edit."""
    match recipe:
        case Recolor(outline, color):
            wrong_color = Recolor(outline, _clashing(source, outline, rng, color))
            return _on_another_object(edit, recipe, source, rng) or wrong_color
        case Texture(outline, material):
            wrong_material = Texture(outline, str(rng.choice([other for other in MATERIALS if other != material])))
            return _on_another_object(edit, recipe, source, rng) or wrong_material
        case Remove(outline):
            painted = Recolor(outline, _clashing(source, outline, rng))
            return _on_another_object(edit, recipe, source, rng) or painted
        case Resize(outline, factor):
            return _on_another_object(edit, recipe, source, rng) or Resize(outline, 1 / factor)
        case Replace(outline):
            return _on_another_object(edit, recipe, source, rng) or Remove(outline)
        case Move():
            return _moved_elsewhere(recipe, source)
        case Paste():
            return _wrong_side(edit, recipe, source) or _wrong_addition(edit, recipe, source, rng)
        case Restyle(style):
            return Restyle(str(rng.choice(DISSIMILAR_STYLES.get(style, ("negative",)))))
        case Background():
            return _altered_foreground(recipe, source, rng)


def _clashing(source: Pixels, outline: Polygons, rng: np.random.Generator, *requested: str) -> str:
    """Pick a color that is neither the object's nor the requested one."""
    current = np.median(as_lab(source)[rasterize_outline(outline, source)], axis=0)
    avoided = [current, *(lab_of(color) for color in requested)]
    far = [
        color
        for color in COLORS
        if all(np.linalg.norm(lab_of(color) - other) > MIN_COLOR_DISTANCE for other in avoided)
    ]
    return str(rng.choice(far))


def _on_another_object(edit: Edit, recipe: OnAnObject, source: Pixels, rng: np.random.Generator) -> OnAnObject | None:
    """Apply the operation to another annotated object that hardly overlaps the correct one."""
    right = rasterize_outline(recipe.outline, source)
    variants = [replace(recipe, outline=other) for _, other in _objects(edit, source)]
    wrong = [variant for variant in variants if recipe_mask(variant, source)[right].mean() <= MAX_OVERLAP]
    return wrong[rng.integers(len(wrong))] if wrong else None


def _objects(edit: Edit, source: Pixels) -> list[tuple[str, Polygons]]:
    """Annotated objects of a fair size."""
    height, width = source.shape[:2]
    least, most = OBJECT_SIZES
    outlines = [(name, mask) for name, mask in sorted(edit.objects.items()) if isinstance(mask, Polygons)]
    return [(name, outline) for name, outline in outlines if least <= outline.render(width, height).mean() <= most]


def _moved_elsewhere(recipe: Move, source: Pixels) -> Recipe:
    """Move the object the opposite way, sideways if there is no room, or remove it as a last resort."""
    left, top, right, bottom = recipe.outline.box()
    x, y = (left + right) / 2, (top + bottom) / 2
    across, down = recipe.center[0] - x, recipe.center[1] - y
    for turned in ((-across, -down), (down, -across), (-down, across)):
        wrong = clamp_to_image(replace(recipe, center=(x + turned[0], y + turned[1])), source)
        if isinstance(wrong, Move) and np.hypot(wrong.center[0] - x, wrong.center[1] - y) >= np.hypot(across, down) / 2:
            return wrong
    return Remove(recipe.outline)


def _wrong_side(edit: Edit, recipe: Paste, source: Pixels) -> Paste | None:
    """Paste the new object at a wrong position; None when the position does not matter or every one would do."""
    anchor = _anchor(edit, source)
    if edit.position is None or anchor is None:
        return None
    height, width = source.shape[:2]
    left, top, right, bottom = recipe.placed().box()
    (x, y), half, tall = recipe.foot, (right - left) / 2, bottom - top
    mirrored_x, mirrored_y = anchor[0] + anchor[2] - x, anchor[1] + anchor[3] - y + tall
    for foot in ((mirrored_x, y), (x, mirrored_y), (0, y), (width, y)):
        inside = min(max(foot[0], half), width - 1 - half), min(max(foot[1], tall), height - 1)
        wrong = replace(recipe, foot=inside)
        if not _satisfies(wrong.placed().box(), edit.position.relation, anchor):
            return wrong
    return None


def _anchor(edit: Edit, source: Pixels) -> Box | None:
    """Return the box that the new object's position refers to: an annotated object, or the whole image."""
    height, width = source.shape[:2]
    if edit.position is None or edit.position.anchor is None:
        return 0, 0, width, height
    mask = edit.objects.get(edit.position.anchor)
    return None if mask is None else bounding_box(mask.render(width, height))


def _satisfies(box: Box, relation: Relation, anchor: Box) -> bool:
    """Whether something in the box could be said to lie so relative to the anchor."""
    left, top, right, bottom = box
    x, y = (left + right) / 2, (top + bottom) / 2
    anchor_x, anchor_y = (anchor[0] + anchor[2]) / 2, (anchor[1] + anchor[3]) / 2
    match relation:
        case "left":
            return x <= anchor_x
        case "right":
            return x >= anchor_x
        case "above":
            return y <= anchor_y
        case "below":
            return y >= anchor_y
        case "next to":
            return True
        case "on" | "center" | "in" | "behind" | "in front of":
            return left < anchor[2] and right > anchor[0] and top < anchor[3] and bottom > anchor[1]


def _wrong_addition(edit: Edit, recipe: Paste, source: Pixels, rng: np.random.Generator) -> Recipe:
    """Another object of the picture doubled instead of the asked one added; without any, the place smeared over."""
    other_outlines = [
        outline for name, outline in _objects(edit, source) if not edit.to or edit.to.lower() not in name.lower()
    ]
    if not other_outlines:
        return Remove(recipe.placed())
    return Paste(Cutout(edit.source, other_outlines[rng.integers(len(other_outlines))]), recipe.foot, recipe.height)


def _altered_foreground(recipe: Background, source: Pixels, rng: np.random.Generator) -> Recipe:
    """Apply the background change to the foreground objects and leave the background."""
    foreground = Polygons(tuple(ring for outline in recipe.objects for ring in outline.rings))
    if not foreground.rings:
        return Restyle("negative")
    if isinstance(recipe.scene, str) and recipe.scene in MATERIALS:
        return Texture(foreground, recipe.scene)
    if isinstance(recipe.scene, str) and recipe.scene in COLORS:
        return Recolor(foreground, recipe.scene)
    return Recolor(foreground, _clashing(source, foreground, rng))
