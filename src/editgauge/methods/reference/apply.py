"""From a recipe to the outcome it describes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from editgauge._util.images import ImageFile, read_image
from editgauge._util.masks import Union, bounding_box
from editgauge.errors import BadImageError, CannotEditError
from editgauge.methods.reference import operations
from editgauge.methods.reference._appearance import apply_style
from editgauge.methods.reference.fill import fill_hole
from editgauge.recipes import Background, Move, Paste, Recipe, Recolor, Remove, Replace, Resize, Restyle, Texture

if TYPE_CHECKING:
    from editgauge._util.images import Pixels
    from editgauge._util.masks import BoolMask, Mask, Polygons
    from editgauge.methods.reference.operations import Fill


def apply_recipe(recipe: Recipe, source: Pixels, fill: Fill = fill_hole) -> Pixels:
    """Apply the recipe with the given fill function; pixels outside its footprint stay."""
    result = _carried_out(recipe, source, fill)
    mask = recipe_mask(recipe, source)
    return np.where(mask[..., None], result, source)


def recipe_mask(recipe: Recipe, source: Pixels) -> BoolMask:
    """Return the recipe's footprint in this image."""
    footprint = recipe.footprint()
    return np.ones(source.shape[:2], dtype=np.bool_) if footprint is None else _rendered(footprint, source)


def target_region(recipe: Recipe, source: Pixels) -> BoolMask:
    """Where the requested thing is seen: nowhere after a removal, and a style has no place of its own."""
    match recipe:
        case Recolor(outline) | Texture(outline):
            return _rendered(outline, source)
        case Move() | Resize() | Paste():
            return _rendered(recipe.placed(), source)
        case Replace():
            return _rendered(recipe.pasted().placed(), source)
        case Background(kept):
            return ~_rendered(Union(kept), source)
        case Remove() | Restyle():
            return np.zeros(source.shape[:2], dtype=np.bool_)


def clamp_to_image(recipe: Recipe, source: Pixels) -> Recipe:
    """Move a recipe's target position so that the object stays inside the image."""
    if not isinstance(recipe, Move):
        return recipe
    height, width = source.shape[:2]
    left, top, right, bottom = recipe.outline.box()
    return replace(
        recipe,
        center=(
            _drawn_back(recipe.center[0], (right - left) / 2, width),
            _drawn_back(recipe.center[1], (bottom - top) / 2, height),
        ),
    )


def _drawn_back(middle: float, half: float, length: int) -> float:
    """Clamp a center so that half the object fits on both sides; a larger object is centered."""
    if 2 * half > length - 1:
        return (length - 1) / 2
    return min(max(middle, half), length - 1 - half)


def _carried_out(recipe: Recipe, source: Pixels, fill: Fill) -> Pixels:
    match recipe:
        case Recolor(outline, color):
            return operations.recolor(source, rasterize_outline(outline, source), color)
        case Texture(outline, material):
            return operations.retexture(source, rasterize_outline(outline, source), material)
        case Remove(outline):
            return operations.remove_object(source, rasterize_outline(outline, source), fill)
        case Move(outline) | Resize(outline):
            emptied = operations.remove_object(source, rasterize_outline(outline, source), fill)
            return _laid(emptied, source, outline, recipe.placed())
        case Paste(cutout):
            return _laid(source, _read(cutout.picture), cutout.outline, recipe.placed())
        case Replace(outline, cutout):
            emptied = operations.remove_object(source, rasterize_outline(outline, source), fill)
            return _laid(emptied, _read(cutout.picture), cutout.outline, recipe.pasted().placed())
        case Restyle(style):
            return apply_style(source, style)
        case Background(objects, scene):
            return _before(scene, source, _rendered(Union(objects), source))


def _laid(under: Pixels, picture: Pixels, outline: Polygons, target: Polygons) -> Pixels:
    """Paste the outlined object onto an image at the target outline."""
    mask = rasterize_outline(outline, picture)
    left, top, right, bottom = bounding_box(mask)
    old_left, old_top, old_right, old_bottom = outline.box()
    new_left, new_top, new_right, new_bottom = target.box()
    across = (new_right - new_left) / max(old_right - old_left, 1)
    down = (new_bottom - new_top) / max(old_bottom - old_top, 1)
    size = max(1, round((right - left) * across)), max(1, round((bottom - top) * down))
    piece = operations.scale_piece(operations.cut_out(picture, mask), *size)
    return operations.paste_piece(
        under, piece, round(new_left + (left - old_left) * across), round(new_top + (top - old_top) * down)
    )


def _before(scene: str | ImageFile, source: Pixels, foreground: BoolMask) -> Pixels:
    height, width = source.shape[:2]
    if isinstance(scene, ImageFile):
        behind = operations.cover_crop(_read(scene), width, height)
    elif scene == "blur":
        behind = operations.blur_background(source, foreground)
    else:
        behind = operations.backdrop(scene, width, height)
    return operations.replace_background(source, foreground, behind)


def rasterize_outline(outline: Polygons, source: Pixels) -> BoolMask:
    """Rasterize the outline; raise an error when it is empty."""
    mask = _rendered(outline, source)
    if not mask.any():
        height, width = source.shape[:2]
        raise CannotEditError(f"The outline {outline.box()} is outside the picture of {width} x {height} pixels.")
    return mask


def _rendered(mask: Mask, source: Pixels) -> BoolMask:
    height, width = source.shape[:2]
    return mask.render(width, height)


def _read(picture: ImageFile) -> Pixels:
    try:
        return read_image(picture.path)
    except BadImageError as error:
        raise CannotEditError(f"The recipe needs the picture '{picture.name}': {error}") from error
