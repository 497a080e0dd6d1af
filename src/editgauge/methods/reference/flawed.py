"""The right outcome with one artifact at what was edited, as severe as asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from editgauge._util.masks import Union
from editgauge.errors import BadInputError, CannotEditError, UnknownNameError
from editgauge.methods import Method
from editgauge.methods.options import combine_options, number, read_options, text
from editgauge.methods.reference.apply import apply_recipe, recipe_mask, target_region
from editgauge.methods.reference.artifacts import ARTIFACTS, ArtifactSite, add_artifact
from editgauge.methods.reference.editors import make_rng, recipe_of
from editgauge.recipes import Background, Move, Recipe, Remove, Replace, Resize, Restyle

if TYPE_CHECKING:
    from editgauge._util.images import Pixels
    from editgauge._util.masks import BoolMask
    from editgauge.types import Edit

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
    """Where in the recipe's right outcome an artifact would be."""
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
