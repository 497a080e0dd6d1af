"""Registries of names with lazy import paths.

Each package has its own table (`BUILT_IN`). Other distributions add to it by entry points of the group
`editgauge.<kind>s`, in the same form: `psnr = "their_package.module:attribute"`.
"""

from __future__ import annotations

from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Generic, TypeVar

from editgauge.errors import EditGaugeError, UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Entry = TypeVar("Entry")


class Registry(Generic[Entry]):
    """Objects of one kind (metrics, benchmarks, …) by name, imported on first use."""

    def __init__(self, kind: str, built_in: Mapping[str, str]) -> None:
        self.kind = kind
        self.built_in = built_in

    @property
    def _group(self) -> str:
        return f"editgauge.{self.kind}s"

    @cached_property
    def _plugins(self) -> dict[str, EntryPoint]:
        return {point.name: point for point in entry_points(group=self._group)}

    def __iter__(self) -> Iterator[str]:
        return iter(sorted({*self.built_in, *self._plugins}))

    def __contains__(self, name: object) -> bool:
        return name in self.built_in or name in self._plugins

    def origin(self, name: str) -> str:
        """Return `editgauge`, or the name of the distribution that added the entry."""
        if name in self.built_in:
            return "editgauge"
        distribution = self._plugins[name].dist
        return distribution.name if distribution else "unknown"

    def get(self, name: str) -> Entry:
        """Import and return an entry; a plug-in cannot replace a built-in name."""
        if name in self.built_in:
            point = EntryPoint(name, self.built_in[name], self._group)
        elif name in self._plugins:
            point = self._plugins[name]
        else:
            raise UnknownNameError(self.kind, name, self, f"editgauge list {self.kind}s")
        try:
            entry: Entry = point.load()
        except (Exception, SystemExit) as error:  # importing runs third-party code, which can fail in any way
            raise EditGaugeError(
                f"The {self.kind} '{name}' from {self.origin(name)} could not be imported ({point.value}): {error}. "
                "Install what it needs, or remove the package that brings it."
            ) from error
        if entry is None:
            raise EditGaugeError(f"The {self.kind} '{name}' from {self.origin(name)} is None ({point.value}).")
        return entry
