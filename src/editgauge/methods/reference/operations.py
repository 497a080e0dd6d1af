"""Pixel operations of recipes, and the outcome that a recipe describes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import cv2
import numpy as np
from numpy.typing import NDArray

from editgauge._util.images import ImageFile, Pixels, as_lab, read_image
from editgauge._util.masks import BoolMask, Union, bounding_box, dilate_mask
from editgauge.errors import BadImageError, CannotEditError
from editgauge.methods.reference._appearance import (
    apply_style,
    lab_of,
    lab_to_rgb,
    render_material,
    rgb_of,
    to_pixels,
)
from editgauge.methods.reference.fill import fill_hole
from editgauge.recipes import (
    MARGIN,
    MATERIALS,
    Background,
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
    from editgauge._util.masks import Mask, Polygons

Alpha = NDArray[np.float32]
"""Height x width: 1 where the upper picture is seen, 0 where the lower one is."""

Fill = Callable[["Pixels", BoolMask], "Pixels"]
"""The picture with the hole filled."""

MIN_CONTRAST = 0.4
DARKEST, BRIGHTEST = 3.0, 98.0
"""Lightnesses between which a recolored object's shading is fitted."""


@dataclass(frozen=True, slots=True)
class Piece:
    """An object cut out of a picture."""

    pixels: Pixels
    alpha: Alpha


def feather(mask: BoolMask) -> Alpha:
    """Soften the mask's edge by a few pixels, half of them outside."""
    return np.asarray(cv2.GaussianBlur(mask.astype(np.float32), (0, 0), 1.2, borderType=cv2.BORDER_REPLICATE))


def inset_feather(mask: BoolMask) -> Alpha:
    """Soften the mask's edge inward, so that a cut-out object carries no rim of its old background."""
    soft = cv2.GaussianBlur(mask.astype(np.float32), (0, 0), 1.5, borderType=cv2.BORDER_REPLICATE)
    return np.asarray(np.clip((soft - 0.35) / 0.5, 0, 1) * mask, dtype=np.float32)


def blend(under: Pixels, over: Pixels, alpha: Alpha) -> Pixels:
    """Alpha-blend one image over another."""
    return to_pixels(under + (over.astype(np.float32) - under) * alpha[..., None])


def recolor(source: Pixels, mask: BoolMask, color: str) -> Pixels:
    """Recolor the object: keep its shading around the lightness of the new color."""
    lab, target = as_lab(source), lab_of(color)
    light = lab[..., 0]
    low, middle, high = np.percentile(light[mask], (5, 50, 95))
    reflected = target[0] / max(middle, 1)
    below = np.clip(min(reflected, (target[0] - DARKEST) / max(middle - low, 1)), MIN_CONTRAST, 1)
    above = np.clip(min(reflected, (BRIGHTEST - target[0]) / max(high - middle, 1)), MIN_CONTRAST, 1)
    painted = np.empty_like(lab)
    painted[..., 0] = target[0] + np.where(light < middle, below, above) * (light - middle)
    painted[..., 1:] = target[1:] + 0.15 * (lab[..., 1:] - lab[mask][:, 1:].mean(axis=0))
    return blend(source, lab_to_rgb(painted), feather(mask))


def retexture(source: Pixels, mask: BoolMask, material: str) -> Pixels:
    """Replace the object's material under the same light."""
    left, top, right, bottom = bounding_box(mask)
    covered = source.copy()
    covered[top:bottom, left:right] = render_material(material, right - left, bottom - top)
    light = cv2.GaussianBlur(cv2.cvtColor(source, cv2.COLOR_RGB2GRAY).astype(np.float32), (0, 0), 1)
    shade = np.clip((light + 8) / (np.median(light[mask]) + 8), 0.25, 1.6)
    lit = to_pixels(covered * shade[..., None])
    return blend(source, lit, feather(mask) * mask)


def remove_object(source: Pixels, mask: BoolMask, fill: Fill) -> Pixels:
    """Remove the object; its close surroundings are filled too because they hold its rim."""
    hole = dilate_mask(mask, MARGIN - 2)
    return blend(source, fill(source, hole), feather(hole))


def cut_out(source: Pixels, mask: BoolMask) -> Piece:
    """Cut out the object."""
    left, top, right, bottom = bounding_box(mask)
    return Piece(source[top:bottom, left:right], inset_feather(mask)[top:bottom, left:right])


def scale_piece(piece: Piece, width: int, height: int) -> Piece:
    """Resize the piece."""
    if piece.alpha.shape == (height, width):
        return piece
    shrinks = height < piece.alpha.shape[0]
    pixels = cv2.resize(piece.pixels, (width, height), interpolation=cv2.INTER_AREA if shrinks else cv2.INTER_LANCZOS4)
    alpha = cv2.resize(piece.alpha, (width, height), interpolation=cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR)
    return Piece(np.asarray(pixels), np.asarray(alpha))


def paste_piece(source: Pixels, piece: Piece, left: int, top: int) -> Pixels:
    """Paste the piece onto the image; parts outside are clipped."""
    height, width = source.shape[:2]
    rows, columns = piece.alpha.shape
    first_row, first_column = max(0, -top), max(0, -left)
    last_row, last_column = min(rows, height - top), min(columns, width - left)
    if first_row >= last_row or first_column >= last_column:
        return source
    image_window = slice(top + first_row, top + last_row), slice(left + first_column, left + last_column)
    piece_window = slice(first_row, last_row), slice(first_column, last_column)
    result = source.copy()
    result[image_window] = blend(source[image_window], piece.pixels[piece_window], piece.alpha[piece_window])
    return result


def replace_background(source: Pixels, foreground: BoolMask, scene: Pixels) -> Pixels:
    """Place the foreground in front of another scene."""
    return blend(scene, source, inset_feather(foreground))


def blur_background(source: Pixels, foreground: BoolMask) -> Pixels:
    """Blur the background without bleeding the foreground's colors into it."""
    spread = max(source.shape[:2]) / 60
    weight = (~dilate_mask(foreground, 2)).astype(np.float32) + 1e-4
    colors = cv2.GaussianBlur(source * weight[..., None], (0, 0), spread)
    weights = cv2.GaussianBlur(weight, (0, 0), spread)
    return to_pixels(colors / weights[..., None])


def backdrop(scene: str, width: int, height: int) -> Pixels:
    """Render a plain background of one color or material."""
    if scene in MATERIALS:
        return render_material(scene, width, height)
    return np.full((height, width, 3), rgb_of(scene), dtype=np.uint8)


def cover_crop(picture: Pixels, width: int, height: int) -> Pixels:
    """Scale and center-crop an image to that size."""
    scale = max(width / picture.shape[1], height / picture.shape[0])
    size = max(width, round(picture.shape[1] * scale)), max(height, round(picture.shape[0] * scale))
    large = cv2.resize(picture, size, interpolation=cv2.INTER_AREA if scale < 1 else cv2.INTER_CUBIC)
    left, top = (size[0] - width) // 2, (size[1] - height) // 2
    return np.asarray(large[top : top + height, left : left + width])


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
    """Return the region that shows the requested change; empty for removals and styles."""
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
            return recolor(source, rasterize_outline(outline, source), color)
        case Texture(outline, material):
            return retexture(source, rasterize_outline(outline, source), material)
        case Remove(outline):
            return remove_object(source, rasterize_outline(outline, source), fill)
        case Move(outline) | Resize(outline):
            emptied = remove_object(source, rasterize_outline(outline, source), fill)
            return _laid(emptied, source, outline, recipe.placed())
        case Paste(cutout):
            return _laid(source, _read(cutout.picture), cutout.outline, recipe.placed())
        case Replace(outline, cutout):
            emptied = remove_object(source, rasterize_outline(outline, source), fill)
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
    piece = scale_piece(cut_out(picture, mask), *size)
    return paste_piece(
        under, piece, round(new_left + (left - old_left) * across), round(new_top + (top - old_top) * down)
    )


def _before(scene: str | ImageFile, source: Pixels, foreground: BoolMask) -> Pixels:
    height, width = source.shape[:2]
    if isinstance(scene, ImageFile):
        behind = cover_crop(_read(scene), width, height)
    elif scene == "blur":
        behind = blur_background(source, foreground)
    else:
        behind = backdrop(scene, width, height)
    return replace_background(source, foreground, behind)


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
