"""Reference editors with known truth: correct edits, no edits, overdone, wrong, flawed and inpainted ones."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any, cast

import cv2
import numpy as np

from editgauge._util.masks import Union
from editgauge.errors import BadInputError, CannotEditError, UnknownNameError, UnscorableError
from editgauge.methods import Method
from editgauge.methods.options import combine_options, number, read_options, text
from editgauge.methods.reference._appearance import to_pixels
from editgauge.methods.reference.artifacts import ARTIFACTS, ArtifactSite, add_artifact, add_flaw, recompression
from editgauge.methods.reference.operations import apply_recipe, clamp_to_image, recipe_mask, target_region
from editgauge.methods.reference.wrong_edits import wrong_recipe
from editgauge.recipes import Background, Move, Recipe, Remove, Replace, Resize, Restyle

if TYPE_CHECKING:
    from editgauge._util.images import Pixels
    from editgauge._util.masks import BoolMask
    from editgauge.models.roles import Inpainter
    from editgauge.types import Edit

OVERDONE_FLAWS = {"color_cast": 0.4, "blur": 0.25, "noise": 0.2}
"""Flaws that `overdone` lays over all but what was asked for, and how severe they are."""
OVERDONE_STYLE_FLAWS = {"drift": 1.0, "underexposure": 0.6, "noise": 0.2}
"""Flaws over a restyled picture: no color cast, for that would undo a gray or sepia style."""

MAX_CROP_FRACTION = 0.005
"""At most this share of a side is cut off, on both sides together; what is left is drawn out to the old size."""
MAX_BRIGHTNESS_CHANGE = 0.02
"""Light is multiplied by at most this much more or less than one."""
JPEG_SEVERITY = 0.05
"""At most this severe; the quality is then 90."""


class Identity(Method):
    """Does nothing: the edit is missing, and everything else is kept."""

    name = "identity"
    about = "Returns the source image. The edit did not happen; everything else stayed."

    def edit(self, edit: Edit, source: Pixels, seed: int) -> Pixels:
        """Return the source."""
        del edit, seed
        return source.copy()


class Classical(Method):
    """Does what was asked, by classical means, and nothing else."""

    name = "classical"
    about = "Follows the edit's recipe with OpenCV. The edit happened; outside its footprint every pixel stayed."

    def edit(self, edit: Edit, source: Pixels, seed: int) -> Pixels:
        """Return the correct outcome, deterministically."""
        del seed
        return apply_recipe(recipe_of(edit, source), source)


class Overdone(Method):
    """Does what was asked, and disturbs the rest."""

    name = "overdone"
    about = "Follows the edit's recipe and spoils the rest: color cast, blur and noise where everything should stay."

    def edit(self, edit: Edit, source: Pixels, seed: int) -> Pixels:
        """Return the correct outcome with flaws around the object."""
        recipe, chance = recipe_of(edit, source), make_rng(edit, seed)
        result = apply_recipe(recipe, source)
        for flaw, severity in (OVERDONE_STYLE_FLAWS if isinstance(recipe, Restyle) else OVERDONE_FLAWS).items():
            result = add_flaw(result, flaw, severity, int(chance.integers(2**32)), target_region(recipe, source))
        return result


class Careless(Method):
    """Does something else than what was asked."""

    name = "careless"
    about = "Departs from the edit's recipe: the wrong object, side, color or operation. The edit did not happen."

    def edit(self, edit: Edit, source: Pixels, seed: int) -> Pixels:
        """Return a wrong outcome, made as well as the correct one."""
        recipe = recipe_of(edit, source)
        return apply_recipe(wrong_recipe(edit, recipe, source, make_rng(edit, seed)), source)


class Negligible(Method):
    """Changes the source image imperceptibly, as an editor does that keeps everything and does not edit.

    AugCLIP, section 5.2, calls such outcomes excessively preserved and does not say how they are made; ours are a
    slight crop, a slight change of brightness, and one generation of JPEG, as when a picture is merely sent on.
    """

    name = "negligible"
    about = "A slight crop, change of brightness and JPEG of the source. The edit did not happen; nearly all stayed."

    def edit(self, edit: Edit, source: Pixels, seed: int) -> Pixels:
        """Return the source, almost unchanged."""
        return perturb_slightly(source, make_rng(edit, seed))

    def settings(self) -> dict[str, Any]:
        """Return the limits of the changes."""
        return {"crop": MAX_CROP_FRACTION, "brightness": MAX_BRIGHTNESS_CHANGE, "jpeg": JPEG_SEVERITY}


identity, classical, overdone, careless = Identity(), Classical(), Overdone(), Careless()
negligible = Negligible()


def recipe_of(edit: Edit, source: Pixels) -> Recipe:
    """Return the edit's recipe, adapted to this image; raise `CannotEditError` when it has none."""
    if edit.recipe is None:
        raise CannotEditError(
            f"The edit '{edit.id}' has no recipe, and reference editors follow recipes; "
            "give it one in the benchmark, or use a method that reads instructions."
        )
    return clamp_to_image(edit.recipe, source)


def make_rng(edit: Edit, seed: int) -> np.random.Generator:
    """Random numbers that differ between edits and seeds, and are the same on every machine."""
    return np.random.default_rng([seed, zlib.crc32(edit.id.encode())])


def perturb_slightly(source: Pixels, chance: np.random.Generator) -> Pixels:
    """Crop slightly, change brightness slightly, and compress once as JPEG; the size stays."""
    height, width = source.shape[:2]
    remaining = 1 - MAX_CROP_FRACTION * chance.uniform(0.25, 1)
    tall, wide = max(1, round(height * remaining)), max(1, round(width * remaining))
    top, left = chance.integers(height - tall + 1), chance.integers(width - wide + 1)
    cut = source[top : top + tall, left : left + wide]
    drawn = cv2.resize(cut, (width, height), interpolation=cv2.INTER_CUBIC).astype(np.float64)
    lit = to_pixels(drawn * (1 + chance.uniform(-MAX_BRIGHTNESS_CHANGE, MAX_BRIGHTNESS_CHANGE)))
    return recompression(lit, chance.uniform(0, JPEG_SEVERITY), chance)


FLAW, SEVERITY = "halo", 0.5


class Flawed(Method):
    """Does what was asked, as `classical` does, and leaves an artifact.

    Args:
        flaw: one of `ARTIFACTS`
        severity: from 0, where the outcome is the right one, to 1

    """

    name = "flawed"
    about = (
        f"Follows the edit's recipe and leaves one artifact at what was edited: {', '.join(ARTIFACTS)}. "
        "The edit happened; how plain the artifact is to see is an option."
    )
    option_specs = combine_options(
        flaw=text(FLAW, "the artifact", *ARTIFACTS),
        severity=number(SEVERITY, "how plain it is to see; at 0 the outcome is the right one", maximum=1),
    )

    def __init__(self, flaw: str = FLAW, severity: float = SEVERITY) -> None:
        if flaw not in ARTIFACTS:
            raise UnknownNameError("flaw", flaw, ARTIFACTS)
        if not 0 <= severity <= 1:
            raise BadInputError(f"The severity of a flaw must be between 0 and 1, got {severity:g}.")
        self._flaw, self._severity = flaw, severity

    def edit(self, edit: Edit, source: Pixels, seed: int) -> Pixels:
        """Return the correct outcome with the artifact; the seed sets its direction, if it has one."""
        recipe = recipe_of(edit, source)
        if isinstance(recipe, Remove) and self._flaw == "duplicated":
            raise CannotEditError("After a removal there is no object that could be seen twice.")
        right = apply_recipe(recipe, source)
        return add_artifact(artifact_site(recipe, source, right, make_rng(edit, seed)), self._flaw, self._severity)

    def settings(self) -> dict[str, Any]:
        """Return the flaw and its severity."""
        return {"flaw": self._flaw, "severity": self._severity}

    def variant(self, options: Mapping[str, str]) -> Flawed:
        """Return the method with another `flaw` or `severity`."""
        return Flawed(**read_options(self.name, self.settings(), options))


def artifact_site(recipe: Recipe, source: Pixels, right: Pixels, chance: np.random.Generator) -> ArtifactSite:
    """Return where an artifact would be in the recipe's correct outcome."""
    height, width = source.shape[:2]
    nothing = np.zeros((height, width), np.bool_)
    left = recipe.outline.render(width, height) if isinstance(recipe, Remove | Move | Resize | Replace) else nothing
    match recipe:
        case Remove():
            subject = left
        case Background(kept):
            subject = Union(kept).render(width, height)
        case Restyle():
            subject = _middle(width, height)
        case _:
            subject = target_region(recipe, source)
    return ArtifactSite(source, right, subject, left & ~subject, recipe_mask(recipe, source), chance.random())


def _middle(width: int, height: int) -> BoolMask:
    """Return an ellipse in the center of the image, where a style edit, which has no object, shows an artifact."""
    down, across = np.mgrid[0:height, 0:width]
    return np.asarray((2 * across / width - 1) ** 2 + (2 * down / height - 1) ** 2 < 0.25)


flawed = Flawed()


INPAINTER = "migan"


class Painted(Method):
    """Does what was asked, as `classical` does, but an inpainting network fills the holes.

    Args:
        inpainter: a model that plays this role

    """

    name = "painted"
    about = "Follows the edit's recipe; a network (MI-GAN) paints what comes into view behind a removed object."

    option_specs = combine_options(inpainter=text(INPAINTER, "the model that fills holes, of `editgauge list models`"))

    def __init__(self, inpainter: str = INPAINTER) -> None:
        self._inpainter = inpainter
        self._one_at_a_time = Lock()

    def edit(self, edit: Edit, source: Pixels, seed: int) -> Pixels:
        """Return the correct outcome, deterministically."""
        del seed
        return apply_recipe(recipe_of(edit, source), source, self._filled)

    def settings(self) -> dict[str, Any]:
        """Return the model that fills holes."""
        from editgauge.models.profiles import describe

        return describe({"inpainter": self._inpainter})

    def variant(self, options: Mapping[str, str]) -> Painted:
        """Return the method with another `inpainter`."""
        return Painted(**read_options(self.name, {"inpainter": INPAINTER}, options))

    def _filled(self, source: Pixels, hole: BoolMask) -> Pixels:
        try:
            with self._one_at_a_time:
                return self._model.fill([(source, hole)])[0]
        except UnscorableError as reason:
            raise CannotEditError(f"The hole cannot be filled: {reason.detail}.") from reason

    @cached_property
    def _model(self) -> Inpainter:
        from editgauge.models.profiles import make_models

        return cast("Inpainter", make_models({"inpainter": self._inpainter})["inpainter"])


painted = Painted()
