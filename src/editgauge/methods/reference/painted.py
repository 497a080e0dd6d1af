"""The right outcome, with a neural network painting what comes into view."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any, cast

from editgauge.errors import CannotEditError, UnscorableError
from editgauge.methods import Method
from editgauge.methods.options import combine_options, read_options, text
from editgauge.methods.reference.apply import apply_recipe
from editgauge.methods.reference.editors import recipe_of

if TYPE_CHECKING:
    from editgauge._util.images import Pixels
    from editgauge._util.masks import BoolMask
    from editgauge.models.interfaces import Inpainter
    from editgauge.types import Edit

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
        return apply_recipe(recipe_of(edit, source), source, self._filled)

    def settings(self) -> dict[str, Any]:
        """Return the model that fills holes."""
        from editgauge.models._factory import describe

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
        from editgauge.models._factory import make_models

        return cast("Inpainter", make_models({"inpainter": self._inpainter})["inpainter"])


painted = Painted()
