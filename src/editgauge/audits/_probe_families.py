"""Make the outcomes of one edit with known quality.

One family redraws the whole image, as generative editors do when they pass it through an autoencoder and resample it:
fine detail is lost and invented, tones differ everywhere, and objects are slightly displaced. A score that relies on
untouched pixels fails there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import cv2
import numpy as np
from numpy.typing import NDArray

from editgauge._util.images import Pixels
from editgauge.audits._probe_set import RIGHT
from editgauge.errors import CannotEditError
from editgauge.methods.reference.artifacts import ARTIFACTS, FLAWS, add_artifact, add_flaw, compress_jpeg
from editgauge.methods.reference.editors import artifact_site, make_rng, recipe_of
from editgauge.methods.reference.operations import apply_recipe, target_region
from editgauge.methods.reference.wrong_edits import wrong_recipe
from editgauge.recipes import Recipe, Recolor, Remove, Replace, Resize, Restyle, Texture

if TYPE_CHECKING:
    from editgauge.types import Edit

Floats = NDArray[np.float32]

LATENT = 3.0
"""By how much the sides are divided where an autoencoder keeps the picture."""
COLORS = 2.0
"""By how much more those of the colors are: they are kept more coarsely than light."""
SHARPENED = 0.8
"""How much of the lost contrast is put back at edges, beyond what was there."""
MOVED = 0.008
"""How far things move at most, of the longer side."""
WIDE = 0.1
"""Of the longer side: what is nearer than this moves together."""
GRAIN = 5.0
"""Standard deviation of the invented texture, in levels of 255."""
TONES = 0.12
"""How far the exponent of the tone curve may lie from 1."""


def redrawn(picture: Pixels, seed: int) -> Pixels:
    """Redraw an image: the same objects and positions, other texture, tones and pixels."""
    chance = np.random.default_rng(seed)
    drawn = _through_a_latent(_laid_out_anew(picture, chance))
    toned = 255 * (drawn / 255) ** (1 + chance.uniform(-TONES, TONES))
    return np.asarray(np.clip(toned + _texture(picture, chance), 0, 255), np.uint8)


def _laid_out_anew(picture: Pixels, chance: np.random.Generator) -> Pixels:
    """Everything a few pixels aside, neighbors together."""
    height, width = picture.shape[:2]
    side = max(height, width)
    fields = [_smooth(chance.normal(size=(height, width)), WIDE * side) for _ in range(2)]
    across, down = (MOVED * side * field / np.abs(field).max() for field in fields)
    columns, rows = np.meshgrid(np.arange(width, dtype=np.float32), np.arange(height, dtype=np.float32))
    moved = cv2.remap(picture, columns + across, rows + down, cv2.INTER_CUBIC, borderMode=cv2.BORDER_REFLECT)
    return np.asarray(moved, np.uint8)


def _through_a_latent(picture: Pixels) -> Floats:
    """Light and colors kept in fewer numbers, and drawn again with harder edges."""
    parts = cv2.cvtColor(picture, cv2.COLOR_RGB2YCrCb).astype(np.float32)
    light, *colors = (parts[..., channel] for channel in range(3))
    light = _resampled(light, LATENT)
    light = light + SHARPENED * (light - cv2.GaussianBlur(light, (0, 0), LATENT / 2))
    parts = np.stack([light, *(_resampled(color, LATENT * COLORS) for color in colors)], axis=2)
    return cv2.cvtColor(np.clip(parts, 0, 255).astype(np.uint8), cv2.COLOR_YCrCb2RGB).astype(np.float32)


def _resampled(channel: Floats, factor: float) -> Floats:
    height, width = channel.shape
    small = cv2.resize(
        channel, (max(1, round(width / factor)), max(1, round(height / factor))), interpolation=cv2.INTER_AREA
    )
    return np.asarray(cv2.resize(small, (width, height), interpolation=cv2.INTER_CUBIC), np.float32)


def _texture(picture: Pixels, chance: np.random.Generator) -> Floats:
    """Invented detail: grain of about two pixels, stronger where the picture has structure."""
    light = cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY).astype(np.float32)
    structure = _smooth(np.abs(light - cv2.GaussianBlur(light, (0, 0), 3)), 4)
    grain = _smooth(np.asarray(chance.normal(size=light.shape)), 1.2)
    strength = GRAIN * (0.4 + np.minimum(1.0, structure / 10))
    return np.asarray(strength * grain / grain.std(), np.float32)[..., None]


def _smooth(values: NDArray[np.floating], reach: float) -> Floats:
    return np.asarray(cv2.GaussianBlur(np.asarray(values, np.float32), (0, 0), reach), np.float32)


SEVERITIES = (0.25, 0.5, 0.75, 1.0)
DISTURBANCES = tuple(flaw for flaw in FLAWS if flaw != "recompression")
"""What may happen to the rest of the picture; JPEG is a family of its own."""
KEEP_A_STYLE = ("drift", "underexposure", "noise", "blur")
"""Disturbances that do not undo a gray or sepia style."""
QUALITIES = (95, 90, 75, 50, 30)
SHIFTS = (1, 2, 4, 8)
DIRECTIONS = ((1, 0), (0, 1), (-1, 0), (0, -1))
SMALLER = 0.75
HARMLESS = ("jpeg-95", "jpeg-90", "shift-1", "resized", "mirrored")
"""These do not make an edit better or worse."""
ARGUABLE = ("ghost", "duplicated")
"""Artifacts under which people may say that the edit was not carried out."""


@dataclass(frozen=True, slots=True, eq=False)
class NewProbe:
    """A probe before it has a place on disk."""

    kind: str
    edited: Pixels
    done: bool | None
    family: str = ""
    severity: float | None = None
    source: Pixels | None = None
    """Another source image than the edit's own."""
    words: Edit | None = None
    """Another edit that is asked for instead."""
    mirrored: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class ProbeMaterial:
    """What else there is to make wrong outcomes of."""

    another: Pixels
    """Another photograph in the same size."""
    otherwise: Edit | None
    """Another edit of the same photograph, which the right outcome does not fulfill."""
    turn: int
    """Which of the flaws and artifacts it is this edit's turn to show."""
    seed: int = 0


def probes_of(edit: Edit, source: Pixels, around: ProbeMaterial) -> Iterator[NewProbe]:
    """All probes of an edit; raises `CannotEditError` when its recipe cannot be followed."""
    recipe = recipe_of(edit, source)
    right = apply_recipe(recipe, source)
    yield NewProbe(RIGHT, right, done=True, severity=0.0)
    yield from _wrong(edit, recipe, source, right, around)
    yield from _disturbed(edit, recipe, source, right, around)
    yield from _flawed(edit, recipe, source, right, around)
    yield from _transformed(edit, source, right, around)
    yield from _redrawn(edit, source, right, around)


def _wrong(edit: Edit, recipe: Recipe, source: Pixels, right: Pixels, around: ProbeMaterial) -> Iterator[NewProbe]:
    yield NewProbe("nothing", source, done=False)
    for kind, wrong in _blunders(edit, recipe, source, around.seed).items():
        yield NewProbe(kind, apply_recipe(wrong, source), done=False)
    yield NewProbe("another_photograph", around.another, done=False)
    yield NewProbe("black", np.zeros_like(source), done=False)
    yield NewProbe("swapped", source, done=False, source=right)
    if around.otherwise is not None:
        yield NewProbe("another_instruction", right, done=False, words=around.otherwise)


def _blunders(edit: Edit, recipe: Recipe, source: Pixels, seed: int) -> dict[str, Recipe]:
    """Return recipes for the right change to the wrong object and the wrong change to the right one."""
    wrong = wrong_recipe(edit, recipe, source, make_rng(edit, seed))
    if not isinstance(recipe, Recolor | Texture | Remove | Resize | Replace):
        return {"wrong_value": wrong}
    alone = wrong_recipe(replace(edit, objects={}), recipe, source, make_rng(edit, seed))
    elsewhere = isinstance(wrong, type(recipe)) and wrong.outline != recipe.outline
    return {"wrong_value": alone} | ({"wrong_object": wrong} if elsewhere else {})


def _disturbed(edit: Edit, recipe: Recipe, source: Pixels, right: Pixels, around: ProbeMaterial) -> Iterator[NewProbe]:
    flaws = KEEP_A_STYLE if isinstance(recipe, Restyle) else DISTURBANCES
    flaw = flaws[around.turn % len(flaws)]
    spared, seed = target_region(recipe, source), int(make_rng(edit, around.seed).integers(2**32))
    for severity in SEVERITIES:
        pixels = add_flaw(right, flaw, severity, seed, spared)
        yield NewProbe(f"{flaw}-{round(100 * severity)}", pixels, True, f"rest/{flaw}", severity)


def _flawed(edit: Edit, recipe: Recipe, source: Pixels, right: Pixels, around: ProbeMaterial) -> Iterator[NewProbe]:
    """One artifact by degrees: the next in turn that can be seen on this picture."""
    work = artifact_site(recipe, source, right, make_rng(edit, around.seed))
    names = [name for name in ARTIFACTS if not (name == "duplicated" and isinstance(recipe, Remove))]
    for step in range(len(names)):
        artifact = names[(around.turn + step) % len(names)]
        try:
            graded = [add_artifact(work, artifact, severity) for severity in SEVERITIES]
        except CannotEditError:
            continue
        done = None if artifact in ARGUABLE else True
        for severity, pixels in zip(SEVERITIES, graded, strict=True):
            yield NewProbe(f"{artifact}-{round(100 * severity)}", pixels, done, f"artifact/{artifact}", severity)
        return


def _transformed(edit: Edit, source: Pixels, right: Pixels, around: ProbeMaterial) -> Iterator[NewProbe]:
    """Yield the right outcome with harmless changes and with decreasing quality."""
    across, down = DIRECTIONS[int(make_rng(edit, around.seed).integers(len(DIRECTIONS)))]
    for quality in QUALITIES:
        if around.turn % 2 or f"jpeg-{quality}" in HARMLESS:
            pixels = compress_jpeg(right, quality)
            yield NewProbe(f"jpeg-{quality}", pixels, True, "sent/jpeg", round(1 - quality / 100, 2))
    for far in SHIFTS:
        if not around.turn % 2 or f"shift-{far}" in HARMLESS:
            pixels = shifted(right, far * across, far * down)
            yield NewProbe(f"shift-{far}", pixels, True, "sent/shift", float(far))
    yield NewProbe("resized", resized_down(right), done=True)
    yield NewProbe("mirrored", flipped(right), done=True, source=flipped(source), mirrored=True)


def _redrawn(edit: Edit, source: Pixels, right: Pixels, around: ProbeMaterial) -> Iterator[NewProbe]:
    """Yield the right outcome and the source, both redrawn as a whole."""
    seed = int(make_rng(edit, around.seed).integers(2**32))
    yield NewProbe("redrawn", redrawn(right, seed), done=True)
    yield NewProbe("redrawn_nothing", redrawn(source, seed + 1), done=False)


def shifted(pixels: Pixels, across: int, down: int) -> Pixels:
    """Shift an image by whole pixels, repeating the border."""
    matrix = np.array([[1, 0, across], [0, 1, down]], np.float32)
    moved = cv2.warpAffine(
        pixels, matrix, pixels.shape[1::-1], flags=cv2.INTER_NEAREST, borderMode=cv2.BORDER_REPLICATE
    )
    return np.asarray(moved, np.uint8)


def resized_down(pixels: Pixels) -> Pixels:
    """Downscale an image to three quarters."""
    size = round(pixels.shape[1] * SMALLER), round(pixels.shape[0] * SMALLER)
    return np.asarray(cv2.resize(pixels, size, interpolation=cv2.INTER_AREA), np.uint8)


def flipped(pixels: Pixels) -> Pixels:
    """Mirror an image."""
    return np.ascontiguousarray(pixels[:, ::-1])
