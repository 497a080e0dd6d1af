"""Methods: what edits images, and the outcomes they left on disk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from editgauge.core.registry import Registry

if TYPE_CHECKING:
    from editgauge.core.images import Pixels
    from editgauge.core.types import Edit


class Method(Protocol):
    """Something that edits images."""

    name: str
    about: str

    def edit(self, edit: Edit, source: Pixels, seed: int) -> Pixels:
        """The edited image, the same for the same seed; raises `CannotEdit` when there is none."""
        ...


BUILT_IN = {
    "identity": "editgauge.methods.reference.editors:identity",
    "classical": "editgauge.methods.reference.editors:classical",
    "overdone": "editgauge.methods.reference.editors:overdone",
    "careless": "editgauge.methods.reference.editors:careless",
}

methods: Registry[Method] = Registry("method", BUILT_IN)
