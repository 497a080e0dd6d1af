"""Protocols: one paper's way to score outcomes each. They ask perception and compute with metrics."""

from __future__ import annotations

import typing
from typing import TYPE_CHECKING

from editgauge.core.registry import Registry

if TYPE_CHECKING:
    from editgauge.core.types import Item, Scores, ScoreSpec
    from editgauge.perception.interfaces import Perception


class Protocol(typing.Protocol):
    """A way to score outcomes. Changing what a score means asks for another `version`."""

    name: str
    about: str
    paper: str
    version: str
    deviations: tuple[str, ...]
    scores: tuple[ScoreSpec, ...]

    async def score(self, item: Item, see: Perception) -> Scores:
        """A score, or the reason why there is none, for every name in `scores`."""
        ...


BUILT_IN = {
    "preservation": "editgauge.protocols.preservation:preservation",
}

protocols: Registry[Protocol] = Registry("protocol", BUILT_IN)
