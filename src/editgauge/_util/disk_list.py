"""A sequence that moves to disk as it grows, so that a million edits take little memory."""

from __future__ import annotations

import os
import pickle
import tempfile
from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import Generic, TypeVar, overload

MAX_IN_MEMORY = 20_000
"""Elements that stay in memory: about ten megabytes of edits."""

Element = TypeVar("Element")


class _TemporaryFile:
    """An unnamed file that is deleted with the last list that reads it."""

    def __init__(self) -> None:
        self.file = tempfile.TemporaryFile(prefix="editgauge-")  # noqa: SIM115 - closed with its last reference

    def __del__(self) -> None:
        self.file.close()

    def read(self, start: int, size: int) -> bytes:
        """Return bytes from a position; safe for several readers at once."""
        self.file.flush()
        return os.pread(self.file.fileno(), size, start)


class DiskList(Sequence[Element], Generic[Element]):
    """An append-only sequence that moves to an unnamed temporary file when it becomes long.

    Args:
        elements: initial elements.
        max_in_memory: number of elements up to which all stay in memory; `MAX_IN_MEMORY` by default.

    """

    def __init__(self, elements: Iterable[Element] = (), max_in_memory: int | None = None) -> None:
        self._memory: list[Element] | None = []
        self._max_in_memory = MAX_IN_MEMORY if max_in_memory is None else max_in_memory
        self._starts, self._sizes = array("q"), array("l")
        self._end = 0
        for element in elements:
            self.append(element)

    def append(self, element: Element) -> None:
        """Add an element at the end."""
        if self._memory is None:
            self._write(element)
            return
        self._memory.append(element)
        if len(self._memory) > self._max_in_memory:
            self._disk = _TemporaryFile()
            elements, self._memory = self._memory, None
            for stored in elements:
                self._write(stored)

    def in_order(self, indices: Sequence[int]) -> Sequence[Element]:
        """Return the elements at some indices; what lies on disk is not written again."""
        if self._memory is not None:
            return tuple(self._memory[index] for index in indices)
        selection: DiskList[Element] = DiskList()
        selection._memory, selection._disk = None, self._disk
        selection._starts = array("q", (self._starts[index] for index in indices))
        selection._sizes = array("l", (self._sizes[index] for index in indices))
        selection._end = self._end
        return selection

    def settled(self) -> Sequence[Element]:
        """Return a tuple if all elements are in memory, else this list."""
        return self if self._memory is None else tuple(self._memory)

    def __len__(self) -> int:
        return len(self._starts) if self._memory is None else len(self._memory)

    @overload
    def __getitem__(self, index: int) -> Element: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Element]: ...
    def __getitem__(self, index: int | slice) -> Element | Sequence[Element]:
        if isinstance(index, slice):
            return self.in_order(range(*index.indices(len(self))))
        if self._memory is not None:
            return self._memory[index]
        return self._read(self._starts[index], self._sizes[index])

    def __iter__(self) -> Iterator[Element]:
        if self._memory is not None:
            yield from self._memory
            return
        for start, size in zip(self._starts, self._sizes, strict=True):
            yield self._read(start, size)

    def _write(self, element: Element) -> None:
        content = pickle.dumps(element, pickle.HIGHEST_PROTOCOL)
        self._disk.file.write(content)
        self._starts.append(self._end)
        self._sizes.append(len(content))
        self._end += len(content)

    def _read(self, start: int, size: int) -> Element:
        element: Element = pickle.loads(self._disk.read(start, size))  # noqa: S301 - we wrote it
        return element
