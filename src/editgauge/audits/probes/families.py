"""The probes of one edit: the right outcome, wrong ones, flawed ones by degrees, and changes that should not matter."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import cv2
import numpy as np

from editgauge.audits.probes.probes import RIGHT
from editgauge.audits.probes.redrawn import redrawn
from editgauge.errors import CannotEditError
from editgauge.methods.reference.apply import apply_recipe, target_region
from editgauge.methods.reference.artifacts import ARTIFACTS, add_artifact
from editgauge.methods.reference.editors import make_rng, recipe_of
from editgauge.methods.reference.flawed import artifact_site
from editgauge.methods.reference.flaws import FLAWS, add_flaw, compress_jpeg
from editgauge.methods.reference.wrong_edits import wrong_recipe
from editgauge.recipes import Recipe, Recolor, Remove, Replace, Resize, Restyle, Texture

if TYPE_CHECKING:
    from editgauge._util.images import Pixels
    from editgauge.types import Edit

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
