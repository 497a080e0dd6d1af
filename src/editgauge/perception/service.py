"""Answers what protocols ask, with the models chosen for a run."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from editgauge.core.errors import BadInput, CannotTell, EditGaugeError, UnknownName
from editgauge.perception import models
from editgauge.perception.interfaces import ROLES, ImageEmbedder, Model, Vector

if TYPE_CHECKING:
    from collections.abc import Mapping

    from editgauge.core.images import Pixels


class Service:
    """The models of a run, one per role."""

    def __init__(self, chosen: Mapping[str, str]) -> None:
        self._models = {role: _load(role, name) for role, name in chosen.items()}
        self._thread = ThreadPoolExecutor(1)  # most models must not be asked by two threads at once

    async def embed_image(self, image: Pixels) -> Vector:
        """The picture as a unit vector."""
        embedder = self._model("image_embedder")
        assert isinstance(embedder, ImageEmbedder)  # noqa: S101 - checked when it was loaded
        loop = asyncio.get_running_loop()
        vector: Vector = (await loop.run_in_executor(self._thread, embedder.embed, [image]))[0]
        return vector

    def _model(self, role: str) -> Model:
        if role not in self._models:
            raise CannotTell("no_model", f"no model plays the role '{role}'; choose one with --model {role}=NAME")
        return self._models[role]


def _load(role: str, name: str) -> Model:
    if role not in ROLES:
        raise UnknownName("role", role, ROLES, "editgauge list models")
    make = models.get(name)
    try:
        model = make()
    except EditGaugeError:
        raise
    except Exception as error:
        raise BadInput(f"The model '{name}' from {models.origin(name)} cannot be used: {error}") from error
    if not isinstance(model, ROLES[role]):
        made_for = getattr(model, "role", "no role")
        raise BadInput(f"The model '{name}' cannot play the role '{role}'; it is made for '{made_for}'.")
    return model


def describe(chosen: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """What the manifest keeps of each model: name, id, revision and licence by role."""
    told = {}
    for role, name in chosen.items():
        model = _load(role, name)
        told[role] = {"name": name, "id": model.id, "revision": model.revision, "licence": model.licence}
    return told
