"""Perception: what neural networks see, behind small interfaces. Protocols know the interfaces, never a model."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from editgauge._util.registry import Registry
from editgauge.models.catalog import import_paths

if TYPE_CHECKING:
    from editgauge.models.roles import Model

BUILT_IN: dict[str, str] = import_paths()

models: Registry[Callable[[], Model]] = Registry("model", BUILT_IN)

_LAZY = {
    **dict.fromkeys(("info", "list_weights", "path", "pull", "verify"), "weights._verbs"),
    **dict.fromkeys(("available", "weights_of"), "weights"),
    "selftest": "_selftest",
}
"""Public functions and the modules that hold them, imported on first use."""


def __getattr__(name: str) -> Any:
    """Load the functions of `editgauge models` on first use."""
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
