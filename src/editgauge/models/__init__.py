"""Perception: what neural networks see, behind small interfaces. Protocols know the interfaces, never a model."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from editgauge._util.registry import Registry
from editgauge.models.catalog import import_paths

if TYPE_CHECKING:
    from editgauge.models.roles import Model

BUILT_IN: dict[str, str] = import_paths()

models: Registry[Callable[[], Model]] = Registry("model", BUILT_IN)

_VERBS = frozenset({"info", "list_weights", "path", "pull", "verify"})
_WEIGHTS = frozenset({"available", "weights_of"})


def __getattr__(name: str) -> Any:
    """Load the functions of `editgauge models` on first use."""
    if name not in _VERBS | _WEIGHTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from editgauge.models import weights
    from editgauge.models.weights import _verbs

    return getattr(_verbs if name in _VERBS else weights, name)
