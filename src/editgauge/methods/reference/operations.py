"""Pixel operations of recipes, and the application of a recipe to an image."""

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
"""Height x width: opacity of the upper image, from 0 to 1."""

Fill = Callable[[Pixels, BoolMask], Pixels]
"""Function that fills the masked hole of an image."""

MIN_CONTRAST = 0.4
"""Smallest factor that recoloring applies to the contrast of an object's shading."""
MIN_LIGHTNESS, MAX_LIGHTNESS = 3.0, 98.0
"""CIELAB lightness range into which a recolored object's shading is fitted."""


@dataclass(frozen=True, slots=True)
class Piece:
    """An object cut out of an image."""

    pixels: Pixels
    alpha: Alpha


def feather(mask: BoolMask) -> Alpha:
    """Soften the mask's edge by a few pixels to both sides."""
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
    lightness, target_lightness = lab[..., 0], target[0]
    low, median, high = np.percentile(lightness[mask], (5, 50, 95))
    ratio = target_lightness / max(median, 1)
    shadow_contrast = min(ratio, (target_lightness - MIN_LIGHTNESS) / max(median - low, 1))
    highlight_contrast = min(ratio, (MAX_LIGHTNESS - target_lightness) / max(high - median, 1))
    contrast = np.where(
        lightness < median, np.clip(shadow_contrast, MIN_CONTRAST, 1), np.clip(highlight_contrast, MIN_CONTRAST, 1)
    )
    result = np.empty_like(lab)
    result[..., 0] = target_lightness + contrast * (lightness - median)
    result[..., 1:] = target[1:] + 0.15 * (lab[..., 1:] - lab[mask][:, 1:].mean(axis=0))
    return blend(source, lab_to_rgb(result), feather(mask))


def retexture(source: Pixels, mask: BoolMask, material: str) -> Pixels:
    """Replace the object's material under the same light."""
    left, top, right, bottom = bounding_box(mask)
    textured = source.copy()
    textured[top:bottom, left:right] = render_material(material, right - left, bottom - top)
    brightness = cv2.GaussianBlur(cv2.cvtColor(source, cv2.COLOR_RGB2GRAY).astype(np.float32), (0, 0), 1)
    shading = np.clip((brightness + 8) / (np.median(brightness[mask]) + 8), 0.25, 1.6)
    return blend(source, to_pixels(textured * shading[..., None]), feather(mask) * mask)


def remove_object(source: Pixels, mask: BoolMask, fill: Fill) -> Pixels:
    """Remove the object with a margin around it, which contains its blurred edge."""
    hole = dilate_mask(mask, MARGIN - 2)
    return blend(source, fill(source, hole), feather(hole))


def cut_out(source: Pixels, mask: BoolMask) -> Piece:
    """Cut the object out of the image."""
    left, top, right, bottom = bounding_box(mask)
    return Piece(source[top:bottom, left:right], inset_feather(mask)[top:bottom, left:right])


def scale_piece(piece: Piece, width: int, height: int) -> Piece:
    """Resize the piece."""
    if piece.alpha.shape == (height, width):
        return piece
    is_smaller = height < piece.alpha.shape[0]
    pixel_mode = cv2.INTER_AREA if is_smaller else cv2.INTER_LANCZOS4
    alpha_mode = cv2.INTER_AREA if is_smaller else cv2.INTER_LINEAR
    pixels = cv2.resize(piece.pixels, (width, height), interpolation=pixel_mode)
    alpha = cv2.resize(piece.alpha, (width, height), interpolation=alpha_mode)
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
    sigma = max(source.shape[:2]) / 60
    weight = (~dilate_mask(foreground, 2)).astype(np.float32) + 1e-4
    colors = cv2.GaussianBlur(source * weight[..., None], (0, 0), sigma)
    weights = cv2.GaussianBlur(weight, (0, 0), sigma)
    return to_pixels(colors / weights[..., None])


def backdrop(scene: str, width: int, height: int) -> Pixels:
    """Render a plain background of one color or material."""
    if scene in MATERIALS:
        return render_material(scene, width, height)
    return np.full((height, width, 3), rgb_of(scene), dtype=np.uint8)


def cover_crop(image: Pixels, width: int, height: int) -> Pixels:
    """Scale and center-crop an image to the given size."""
    scale = max(width / image.shape[1], height / image.shape[0])
    size = max(width, round(image.shape[1] * scale)), max(height, round(image.shape[0] * scale))
    resized = cv2.resize(image, size, interpolation=cv2.INTER_AREA if scale < 1 else cv2.INTER_CUBIC)
    left, top = (size[0] - width) // 2, (size[1] - height) // 2
    return np.asarray(resized[top : top + height, left : left + width])


def apply_recipe(recipe: Recipe, source: Pixels, fill: Fill = fill_hole) -> Pixels:
    """Apply the recipe; pixels outside its footprint stay unchanged.

    Args:
        recipe: The edit to apply.
        source: The source image.
        fill: Fills the hole that a removed object leaves.

    """
    result = _execute(recipe, source, fill)
    mask = recipe_mask(recipe, source)
    return np.where(mask[..., None], result, source)


def recipe_mask(recipe: Recipe, source: Pixels) -> BoolMask:
    """Return the recipe's footprint in this image."""
    footprint = recipe.footprint()
    return np.ones(source.shape[:2], dtype=np.bool_) if footprint is None else _render(footprint, source)


def target_region(recipe: Recipe, source: Pixels) -> BoolMask:
    """Return the region that shows the requested change; empty for removals and styles."""
    match recipe:
        case Recolor(outline) | Texture(outline):
            return _render(outline, source)
        case Move() | Resize() | Paste():
            return _render(recipe.placed(), source)
        case Replace():
            return _render(recipe.pasted().placed(), source)
        case Background(objects):
            return ~_render(Union(objects), source)
        case Remove() | Restyle():
            return np.zeros(source.shape[:2], dtype=np.bool_)


def clamp_to_image(recipe: Recipe, source: Pixels) -> Recipe:
    """Shift the target of a `Move` so that the object stays inside the image; return other recipes unchanged."""
    if not isinstance(recipe, Move):
        return recipe
    height, width = source.shape[:2]
    left, top, right, bottom = recipe.outline.box()
    x = _clamp_center(recipe.center[0], right - left, width)
    y = _clamp_center(recipe.center[1], bottom - top, height)
    return replace(recipe, center=(x, y))


def _clamp_center(center: float, size: float, length: int) -> float:
    """Clamp the center of an object along one axis of the image; center an object that does not fit."""
    if size > length - 1:
        return (length - 1) / 2
    return min(max(center, size / 2), length - 1 - size / 2)


def _execute(recipe: Recipe, source: Pixels, fill: Fill) -> Pixels:
    """Return the result of the recipe, without restoring pixels outside its footprint."""
    match recipe:
        case Recolor(outline, color):
            return recolor(source, rasterize_outline(outline, source), color)
        case Texture(outline, material):
            return retexture(source, rasterize_outline(outline, source), material)
        case Remove(outline):
            return remove_object(source, rasterize_outline(outline, source), fill)
        case Move(outline) | Resize(outline):
            background = remove_object(source, rasterize_outline(outline, source), fill)
            return _paste_object(background, source, outline, recipe.placed())
        case Paste(cutout):
            return _paste_object(source, _read_recipe_image(cutout.picture), cutout.outline, recipe.placed())
        case Replace(outline, cutout):
            background = remove_object(source, rasterize_outline(outline, source), fill)
            return _paste_object(
                background, _read_recipe_image(cutout.picture), cutout.outline, recipe.pasted().placed()
            )
        case Restyle(style):
            return apply_style(source, style)
        case Background(objects, scene):
            return _change_scene(source, _render(Union(objects), source), scene)


def _paste_object(background: Pixels, image: Pixels, outline: Polygons, target: Polygons) -> Pixels:
    """Paste the outlined object of `image` onto the background, scaled and moved to the target outline."""
    mask = rasterize_outline(outline, image)
    left, top, right, bottom = bounding_box(mask)
    old_left, old_top, old_right, old_bottom = outline.box()
    new_left, new_top, new_right, new_bottom = target.box()
    scale_x = (new_right - new_left) / max(old_right - old_left, 1)
    scale_y = (new_bottom - new_top) / max(old_bottom - old_top, 1)
    width, height = max(1, round((right - left) * scale_x)), max(1, round((bottom - top) * scale_y))
    x, y = round(new_left + (left - old_left) * scale_x), round(new_top + (top - old_top) * scale_y)
    return paste_piece(background, scale_piece(cut_out(image, mask), width, height), x, y)


def _change_scene(source: Pixels, foreground: BoolMask, scene: str | ImageFile) -> Pixels:
    """Put the foreground before an image, a blurred background, or a color or material."""
    height, width = source.shape[:2]
    if isinstance(scene, ImageFile):
        background = cover_crop(_read_recipe_image(scene), width, height)
    elif scene == "blur":
        background = blur_background(source, foreground)
    else:
        background = backdrop(scene, width, height)
    return replace_background(source, foreground, background)


def rasterize_outline(outline: Polygons, source: Pixels) -> BoolMask:
    """Rasterize the outline; raise `CannotEditError` when it is outside the image."""
    mask = _render(outline, source)
    if not mask.any():
        height, width = source.shape[:2]
        raise CannotEditError(f"The outline {outline.box()} is outside the picture of {width} x {height} pixels.")
    return mask


def _render(mask: Mask, source: Pixels) -> BoolMask:
    height, width = source.shape[:2]
    return mask.render(width, height)


def _read_recipe_image(file: ImageFile) -> Pixels:
    try:
        return read_image(file.path)
    except BadImageError as error:
        raise CannotEditError(f"The recipe needs the picture '{file.name}': {error}") from error
