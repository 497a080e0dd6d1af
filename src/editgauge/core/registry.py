"""Names to lazy import paths: a name costs nothing until it is asked for.

Each room keeps one index of its own (`BUILT_IN`). Third parties add to it by entry points of the group
`editgauge.<kind>s`, in the same form: `psnr = "their_package.module:attribute"`.
"""

from __future__ import annotations

from functools import cached_property
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from editgauge.core.errors import EditGaugeError, UnknownName

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Thing = TypeVar("Thing")


class Registry(Generic[Thing]):
    """All metrics, or all benchmarks, … by name."""

    def __init__(self, kind: str, built_in: Mapping[str, str]) -> None:
        self.kind = kind
        self.built_in = built_in

    @cached_property
    def _from_others(self) -> dict[str, EntryPoint]:
        return {point.name: point for point in entry_points(group=f"editgauge.{self.kind}s")}

    def __iter__(self) -> Iterator[str]:
        return iter(sorted({*self.built_in, *self._from_others}))

    def __contains__(self, name: object) -> bool:
        return name in self.built_in or name in self._from_others

    def origin(self, name: str) -> str:
        """Who brings it: `editgauge`, or the distribution that added it."""
        if name in self.built_in:
            return "editgauge"
        distribution = self._from_others[name].dist
        return distribution.name if distribution else "unknown"

    def get(self, name: str) -> Thing:
        """The thing itself, imported now. A built-in name cannot be taken over by a plug-in."""
        if name in self.built_in:
            return self._load(name, self.built_in[name])
        if name in self._from_others:
            return self._load(name, self._from_others[name].value)
        raise UnknownName(self.kind, name, self, f"editgauge list {self.kind}s")

    def _load(self, name: str, path: str) -> Thing:
        module, _, attribute = path.partition(":")
        try:
            thing: Any = getattr(import_module(module), attribute)
        except (ImportError, AttributeError) as error:
            raise EditGaugeError(
                f"The {self.kind} '{name}' from {self.origin(name)} could not be imported ({path}): {error}. "
                "Install what it needs, or remove the package that brings it."
            ) from error
        loaded: Thing = thing
        return loaded
