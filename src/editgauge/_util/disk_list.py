"""A sequence that moves from memory to disk as it grows: a million edits take the memory of some thousand."""

from __future__ import annotations

import os
import pickle
import tempfile
from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import Generic, TypeVar, overload

IN_MEMORY = 20_000
"""This many stay in memory: some ten megabytes of edits."""

Thing = TypeVar("Thing")


class _Scratch:
    """A file without a name that ends with the last shelf that reads it."""

    def __init__(self) -> None:
        self.file = tempfile.TemporaryFile(prefix="editgauge-")  # noqa: SIM115 - closed with its last reference

    def __del__(self) -> None:
        self.file.close()

    def read(self, start: int, size: int) -> bytes:
        """This many bytes from there; several may read at once."""
        self.file.flush()
        return os.pread(self.file.fileno(), size, start)


class DiskList(Sequence[Thing], Generic[Thing]):
    """Things in the order in which they were put there. What lies on disk is a file without a name, gone with us.

    Args:
        things: what is put there at once
        in_memory: how many are kept in memory before all of them go to disk; `IN_MEMORY` when left out
    """

    def __init__(self, things: Iterable[Thing] = (), in_memory: int | None = None) -> None:
        self._few: list[Thing] | None = []
        self._in_memory = IN_MEMORY if in_memory is None else in_memory
        self._starts, self._sizes = array("q"), array("l")
        self._end = 0
        for thing in things:
            self.append(thing)

    def append(self, thing: Thing) -> None:
        """Puts one more at the end."""
        if self._few is None:
            self._write(thing)
            return
        self._few.append(thing)
        if len(self._few) > self._in_memory:
            self._scratch = _Scratch()
            few, self._few = self._few, None
            for each in few:
                self._write(each)

    def in_order(self, places: Sequence[int]) -> Sequence[Thing]:
        """The same things in another order; what lies on disk is not written again."""
        if self._few is not None:
            return tuple(self._few[place] for place in places)
        other: DiskList[Thing] = DiskList()
        other._few, other._scratch = None, self._scratch
        other._starts = array("q", (self._starts[place] for place in places))
        other._sizes = array("l", (self._sizes[place] for place in places))
        other._end = self._end
        return other

    def settled(self) -> Sequence[Thing]:
        """A plain tuple when there are few."""
        return self if self._few is None else tuple(self._few)

    def __len__(self) -> int:
        return len(self._starts) if self._few is None else len(self._few)

    @overload
    def __getitem__(self, place: int) -> Thing: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Thing]: ...
    def __getitem__(self, place: int | slice) -> Thing | Sequence[Thing]:
        if isinstance(place, slice):
            return self.in_order(range(*place.indices(len(self))))
        if self._few is not None:
            return self._few[place]
        return self._read(self._starts[place], self._sizes[place])

    def __iter__(self) -> Iterator[Thing]:
        if self._few is not None:
            yield from self._few
            return
        for start, size in zip(self._starts, self._sizes, strict=True):
            yield self._read(start, size)

    def _write(self, thing: Thing) -> None:
        content = pickle.dumps(thing, pickle.HIGHEST_PROTOCOL)
        self._scratch.file.write(content)
        self._starts.append(self._end)
        self._sizes.append(len(content))
        self._end += len(content)

    def _read(self, start: int, size: int) -> Thing:
        thing: Thing = pickle.loads(self._scratch.read(start, size))  # noqa: S301 - we wrote it
        return thing
