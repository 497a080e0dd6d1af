"""Perception: what neural networks see, behind small interfaces. Protocols know the interfaces, never a model."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from editgauge.core.registry import Registry

if TYPE_CHECKING:
    from editgauge.perception.interfaces import Model

BUILT_IN: dict[str, str] = {}

models: Registry[Callable[[], Model]] = Registry("model", BUILT_IN)
