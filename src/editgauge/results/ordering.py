"""The rows of a run in order: by method, edit, seed and score, however they were written, all at once or in turn."""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from editgauge.results.manifest import Manifest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

ROWS_IN_TURN = 50_000
"""About that many rows are put in order at a time: some ten megabytes."""
BYTES_IN_MEMORY = 32 << 20
"""Rows that wait for their turn and take more than this do so in a scratch file."""
A_MARK_EVERY = 100
"""This many rows of a part lie between two whose places are remembered to divide all rows evenly."""
SORTED_BY = ("method", "place", "seed", "protocol", "name")


def in_order(table: pa.Table, manifest: Manifest) -> pa.Table:
    """The rows by method, place, seed and score. Words are compared as numbers: no row becomes a Python object."""
    names = [(protocol, spec.name) for protocol, entry in manifest.protocols.items() for spec in entry.scores]
    rank_of = {name: rank for rank, name in enumerate(names)}
    (protocols, protocol), (scores, score) = (_coded(table[column]) for column in ("protocol", "name"))
    ranks = [[rank_of.get((of, name), len(names)) for name in (*scores, "")] for of in (*protocols, "")]
    order = np.lexsort((np.array(ranks)[protocol, score], table["seed"].to_numpy(), _places(table, manifest)))
    return table if bool((np.diff(order) == 1).all()) else table.take(order)


def in_turn(
    parts: Callable[[], Iterable[pa.Table]], manifest: Manifest, columns: Sequence[str]
) -> Callable[[], Iterator[pa.Table]]:
    """All rows in order, a bounded number at a time, words as plain text: first read, then given by what is returned.

    The parts are read twice: once to see where to divide the rows, and once to do it. Each division is put in order
    when its turn comes, so that no more than one part and one division are in memory.
    """
    wanted = list(dict.fromkeys((*columns, *SORTED_BY)))
    bounds = _bounds(_places(table, manifest) for table in parts())
    divisions = _Divisions(len(bounds) + 1)
    for table in parts():
        of = np.searchsorted(bounds, _places(table, manifest), side="right")
        plain = _plain(table.select(wanted))
        for number in np.unique(of):
            divisions.put(int(number), plain.filter(pa.array(of == number)))

    def each() -> Iterator[pa.Table]:
        for number in range(len(bounds) + 1):
            table = divisions.take(number)
            if table is not None:
                yield in_order(table, manifest).select(list(columns))

    return each


def _places(table: pa.Table, manifest: Manifest) -> NDArray[np.int64]:
    """Where the edit of each row stands among all edits of all methods, as one number."""
    words, codes = _coded(table["method"])
    rank_of = {name: rank for rank, name in enumerate(manifest.methods)}
    ranks = np.array([rank_of.get(name, len(rank_of)) for name in (*words, "")], np.int64)
    places: NDArray[np.int64] = (ranks[codes] << 32) + table["place"].to_numpy()
    return places


def _bounds(places: Iterable[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Where divisions of about equal size begin, except for the first; all rows of an edit fall into the same one."""
    marks = np.sort(np.concatenate([np.empty(0, np.int64), *(np.sort(these)[::A_MARK_EVERY] for these in places)]))
    return np.unique(marks[ROWS_IN_TURN // A_MARK_EVERY :: ROWS_IN_TURN // A_MARK_EVERY])


class _Divisions:
    """Rows that wait for their turn, in a file without a name that is gone with us."""

    def __init__(self, count: int) -> None:
        self._file = tempfile.SpooledTemporaryFile(BYTES_IN_MEMORY, prefix="editgauge-")  # noqa: SIM115 - closed below
        self._pieces: list[list[tuple[int, int]]] = [[] for _ in range(count)]
        self._end = 0

    def __del__(self) -> None:
        self._file.close()

    def put(self, number: int, rows: pa.Table) -> None:
        """Adds rows to a division."""
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, rows.schema) as stream:
            stream.write_table(rows)
        content = sink.getvalue()
        self._file.seek(self._end)
        self._file.write(content)
        self._pieces[number].append((self._end, content.size))
        self._end += content.size

    def take(self, number: int) -> pa.Table | None:
        """The rows of a division in the order in which they came; None for one that has none."""
        tables = []
        for start, size in self._pieces[number]:
            self._file.seek(start)
            tables.append(pa.ipc.open_stream(self._file.read(size)).read_all())
        return pa.concat_tables(tables).combine_chunks() if tables else None


def _plain(table: pa.Table) -> pa.Table:
    """The same with words as text: a column of codes would bring all its words into every division."""
    schema = [(f.name, f.type.value_type if pa.types.is_dictionary(f.type) else f.type) for f in table.schema]
    return table.cast(pa.schema(schema))


def _coded(column: pa.ChunkedArray) -> tuple[list[str], NDArray[np.int32]]:
    """The words of a column, and the number of the word in every row."""
    whole = column.combine_chunks()
    coded = whole if pa.types.is_dictionary(whole.type) else pc.dictionary_encode(whole)
    words: list[str] = coded.dictionary.to_pylist()
    return words, coded.indices.to_numpy(zero_copy_only=False)
