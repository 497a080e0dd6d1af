"""Names to lazy import paths: a name costs nothing until it is asked for.

Each room keeps one index of its own (`BUILT_IN`). Third parties add to it by entry points of the group
`editgauge.<kind>s`, in the same form: `psnr = "their_package.module:attribute"`.
"""

from __future__ import annotations

from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Generic, TypeVar

from editgauge.errors import EditGaugeError, UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Thing = TypeVar("Thing")


class Registry(Generic[Thing]):
    """All metrics, or all benchmarks, … by name."""

    def __init__(self, kind: str, built_in: Mapping[str, str]) -> None:
        self.kind = kind
        self.built_in = built_in

    @property
    def _group(self) -> str:
        return f"editgauge.{self.kind}s"

    @cached_property
    def _from_others(self) -> dict[str, EntryPoint]:
        return {point.name: point for point in entry_points(group=self._group)}

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
            point = EntryPoint(name, self.built_in[name], self._group)
        elif name in self._from_others:
            point = self._from_others[name]
        else:
            raise UnknownNameError(self.kind, name, self, f"editgauge list {self.kind}s")
        try:
            thing: Thing = point.load()
        except Exception as error:  # importing runs a stranger's code, and that can fail in any way
            raise EditGaugeError(
                f"The {self.kind} '{name}' from {self.origin(name)} could not be imported ({point.value}): {error}. "
                "Install what it needs, or remove the package that brings it."
            ) from error
        return thing
