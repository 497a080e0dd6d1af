"""Scores and evidence as Arrow tables: schemas, Parquet files of a run folder, row order."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from editgauge._util.files import read_bytes, write_bytes
from editgauge._util.text import as_utf8
from editgauge.errors import BadInputError, BadRunError
from editgauge.results._journal import SIDES, images_of, key_of
from editgauge.results._records import ImageStamp, OutcomeKey, ScoreKey, Stamps

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    import pandas as pd

    from editgauge.results.manifest import Manifest

_TEXT = pa.dictionary(pa.int32(), pa.string())
_STAMP = {"path": _TEXT, "size": pa.int64(), "changed_ns": pa.int64(), "pixels": _TEXT}
SCORES = pa.schema(
    [
        ("index", pa.int32()),
        ("edit", _TEXT),
        ("edit_type", _TEXT),
        ("source", _TEXT),
        ("method", _TEXT),
        ("seed", pa.int64()),
        ("protocol", _TEXT),
        ("name", _TEXT),
        ("value", pa.float64()),
        ("reason", _TEXT),
        ("detail", _TEXT),
        *((f"{side}_{part}", kind) for side in SIDES for part, kind in _STAMP.items()),
    ]
)
"""One row per score; the scores of one outcome and protocol are adjacent."""
EVIDENCE = pa.schema(
    [
        ("edit", _TEXT),
        ("method", _TEXT),
        ("seed", pa.int64()),
        ("protocol", _TEXT),
        ("name", _TEXT),
        ("evidence", pa.string()),
    ]
)
"""One row per piece of evidence, as JSON."""
SCHEMAS = {"scores": SCORES, "evidence": EVIDENCE}
"""The folders of a run that hold Parquet files."""
STORED_NAMES = {"index": "place"}
"""Columns that have another name in files, where it dates from the first edition."""

DAMAGE_ADVICE = (
    "Bring the file back from a copy, or run again into another folder; `editgauge verify` names all that is damaged."
)


def scores_table(entries: Iterable[Mapping[str, Any]]) -> pa.Table:
    """Convert journal entries to a table of scores."""
    return pa.Table.from_pylist([row for entry in entries for row in score_rows(entry)], schema=SCORES)


def evidence_table(entries: Iterable[Mapping[str, Any]]) -> pa.Table:
    """Convert journal entries to a table of evidence."""
    rows = (
        {**key_of(entry)._asdict(), "name": score["name"], "evidence": json.dumps(piece, separators=(",", ":"))}
        for entry in entries
        for score in entry["rows"]
        for piece in score["evidence"]
    )
    return pa.Table.from_pylist(list(rows), schema=EVIDENCE)


def score_rows(entry: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return one row per score of a journal entry."""
    shared = {
        "index": entry["place"],
        "edit": entry["edit"],
        "edit_type": entry["edit_type"],
        "source": entry["source"],
        "method": entry["method"],
        "seed": entry["seed"],
        "protocol": entry["protocol"],
        **{
            f"{side}_{part}": getattr(image, part) if image else None
            for side, image in zip(SIDES, images_of(entry), strict=True)
            for part in _STAMP
        },
    }
    return [
        {
            **shared,
            "name": score["name"],
            "value": score["value"],
            "reason": score["reason"],
            "detail": as_utf8(score["detail"]),
        }
        for score in entry["rows"]
    ]


def write_table(table: pa.Table, path: Path) -> str:
    """Write a Parquet file atomically and return its SHA-256."""
    content = _to_parquet(table)
    write_bytes(path, content)
    return hashlib.sha256(content).hexdigest()


def parquet_bytes(table: pa.Table) -> int:
    """Return the size of a table's Parquet file."""
    return len(_to_parquet(table))


def _to_parquet(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    stored = table.rename_columns([STORED_NAMES.get(name, name) for name in table.column_names])
    pq.write_table(stored, sink, compression="zstd")
    return bytes(sink.getvalue().to_pybytes())


def read_table(path: Path, schema: pa.Schema, sha256: str) -> pa.Table:
    """Read a Parquet file written by `write_table`.

    Raises:
        BadRunError: the file cannot be read, or differs from the hash.

    """
    try:
        content = read_bytes(path)
        if hashlib.sha256(content).hexdigest() != sha256:
            raise BadRunError(f"'{path}' was changed since it was written. {DAMAGE_ADVICE}")
        # Not `pq.read_table`: it loads the readers of every cloud store, whose threads now and then abort at exit.
        table = pq.ParquetFile(pa.BufferReader(content)).read(use_threads=False)
        current_names = {stored: name for name, stored in STORED_NAMES.items()}
        table = table.rename_columns([current_names.get(name, name) for name in table.column_names])
        for field in schema:
            if field.name.startswith("reference_") and field.name not in table.column_names:  # runs before 0.2
                table = table.append_column(field, pa.nulls(table.num_rows, field.type))
        return table.cast(schema)
    except (OSError, pa.ArrowException) as error:
        raise BadRunError(f"'{path}' cannot be read: {error}. {DAMAGE_ADVICE}") from error


def read_segment(folder: Path, kind: str, number: str, segments: Mapping[str, Mapping[str, str]]) -> pa.Table:
    """Read one Parquet file of a run, checked by the hash in its manifest."""
    return read_table(folder / kind / f"{number}.parquet", SCHEMAS[kind], segments[number][f"{kind}_sha256"])


def iter_rows(table: pa.Table, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """Yield the values of some columns, row by row."""
    return zip(*(table[column].to_pylist() for column in columns), strict=True)


def iter_keys(table: pa.Table) -> Iterator[ScoreKey]:
    """Yield the key of every row."""
    return map(ScoreKey._make, iter_rows(table, ScoreKey._fields))


def filter_reasons(table: pa.Table, reasons: Collection[str] | None) -> pa.Table:
    """Keep rows that are unscored for one of these reasons; all rows for None."""
    return table if reasons is None else _filter(table, "reason", reasons)


def filter_edits(table: pa.Table, edits: Collection[str] | None) -> pa.Table:
    """Keep the rows of these edits; all rows for None."""
    return table if edits is None else _filter(table, "edit", edits)


def _filter(table: pa.Table, column: str, values: Collection[str]) -> pa.Table:
    return table.filter(pc.is_in(table[column].cast(pa.string()), pa.array(sorted(values), pa.string())))


def first_rows(table: pa.Table) -> pa.Table:
    """Keep the first row of every outcome and protocol; its rows are adjacent."""
    if table.num_rows == 0:
        return table
    starts = np.zeros(table.num_rows, np.bool_)
    starts[0] = True
    for column in ScoreKey._fields:
        chunk = table[column].combine_chunks()
        codes = (chunk.indices if pa.types.is_dictionary(chunk.type) else chunk).to_numpy(zero_copy_only=False)
        starts[1:] |= codes[1:] != codes[:-1]
    return table.filter(pa.array(starts))


def count_entries(table: pa.Table) -> Counter[tuple[str, str]]:
    """Count the outcomes by method and protocol."""
    return Counter(iter_rows(first_rows(table), ("method", "protocol")))


def iter_stamps(table: pa.Table) -> Iterator[tuple[ScoreKey, Stamps]]:
    """Yield each outcome and protocol with its image files."""
    table = first_rows(table)
    parts = ("path", "size", "changed_ns")
    columns = [f"{side}_{part}" for side in SIDES for part in parts]
    for key, row in zip(iter_keys(table), iter_rows(table, columns), strict=True):
        stamps = (ImageStamp(*row[at : at + 3]) if row[at] is not None else None for at in range(0, len(row), 3))
        yield key, tuple(stamps)


def data_frame(columns: Mapping[str, Sequence[object]]) -> pd.DataFrame:
    """Create a pandas data frame; pandas is optional.

    Raises:
        BadInputError: pandas is not installed.

    """
    try:
        import pandas as pd
    except ModuleNotFoundError as error:
        raise BadInputError(
            "A data frame needs pandas: `pip install pandas`. `.to_dict()` needs nothing more."
        ) from error
    return pd.DataFrame(columns)


ROWS_PER_CHUNK = 50_000
"""About this many rows are sorted at a time: some ten megabytes."""
BYTES_IN_MEMORY = 32 << 20
"""Chunks that together take more than this are spooled to a temporary file."""
SAMPLING_STEP = 100
"""Every n-th sort key of a part is remembered to choose chunk boundaries."""
SORT_COLUMNS = ("method", "index", "seed", "protocol", "name")


def sort_rows(table: pa.Table, manifest: Manifest) -> pa.Table:
    """Sort by method, edit, seed and score, in the order of the manifest, without creating Python objects per row."""
    names = [(protocol, spec.name) for protocol, entry in manifest.protocols.items() for spec in entry.scores]
    rank_of = {name: rank for rank, name in enumerate(names)}
    (protocols, protocol), (scores, score) = (_encode(table[column]) for column in ("protocol", "name"))
    ranks = [[rank_of.get((of, name), len(names)) for name in (*scores, "")] for of in (*protocols, "")]
    order = np.lexsort((np.array(ranks)[protocol, score], table["seed"].to_numpy(), _sort_keys(table, manifest)))
    return table if bool((np.diff(order) == 1).all()) else table.take(order)


def sort_in_chunks(
    parts: Callable[[], Iterable[pa.Table]], manifest: Manifest, columns: Sequence[str]
) -> Callable[[], Iterator[pa.Table]]:
    """Sort all rows with bounded memory, text columns decoded.

    Parts are read twice, to choose chunk boundaries and to distribute the rows, before this returns; each chunk is
    sorted when it is consumed. At most one part and one chunk are in memory.

    Returns:
        A function that yields the sorted chunks.

    """
    needed = list(dict.fromkeys((*columns, *SORT_COLUMNS)))
    bounds = _chunk_bounds(_sort_keys(table, manifest) for table in parts())
    chunks = _SpooledChunks(len(bounds) + 1)
    for table in parts():
        chunk_of_row = np.searchsorted(bounds, _sort_keys(table, manifest), side="right")
        decoded = _decode(table.select(needed))
        for number in np.unique(chunk_of_row):
            chunks.append(int(number), decoded.filter(pa.array(chunk_of_row == number)))

    def iter_chunks() -> Iterator[pa.Table]:
        for number in range(len(bounds) + 1):
            table = chunks.read(number)
            if table is not None:
                yield sort_rows(table, manifest).select(list(columns))

    return iter_chunks


def _sort_keys(table: pa.Table, manifest: Manifest) -> NDArray[np.int64]:
    """Combine the ranks of method and edit to one number per row."""
    methods, codes = _encode(table["method"])
    rank_of = {name: rank for rank, name in enumerate(manifest.methods)}
    ranks = np.array([rank_of.get(name, len(rank_of)) for name in (*methods, "")], np.int64)
    keys: NDArray[np.int64] = (ranks[codes] << 32) + table["index"].to_numpy()
    return keys


def _chunk_bounds(keys: Iterable[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return where chunks of about equal size begin, except the first; rows of one edit share a chunk."""
    samples = np.sort(np.concatenate([np.empty(0, np.int64), *(np.sort(part)[::SAMPLING_STEP] for part in keys)]))
    step = ROWS_PER_CHUNK // SAMPLING_STEP
    return np.unique(samples[step::step])


class _SpooledChunks:
    """Tables in an anonymous temporary file, once they outgrow the memory."""

    def __init__(self, count: int) -> None:
        self._file = tempfile.SpooledTemporaryFile(BYTES_IN_MEMORY, prefix="editgauge-")  # noqa: SIM115 - closed below
        self._extents: list[list[tuple[int, int]]] = [[] for _ in range(count)]
        self._end = 0

    def __del__(self) -> None:
        self._file.close()

    def append(self, number: int, rows: pa.Table) -> None:
        """Append rows to a chunk."""
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, rows.schema) as stream:
            stream.write_table(rows)
        content = sink.getvalue()
        self._file.seek(self._end)
        self._file.write(content)
        self._extents[number].append((self._end, content.size))
        self._end += content.size

    def read(self, number: int) -> pa.Table | None:
        """Return the rows of a chunk in the order of appending; None if it is empty."""
        tables = []
        for start, size in self._extents[number]:
            self._file.seek(start)
            tables.append(pa.ipc.open_stream(self._file.read(size)).read_all())
        return pa.concat_tables(tables).combine_chunks() if tables else None


def _decode(table: pa.Table) -> pa.Table:
    """Decode dictionary columns, which would copy their dictionary into every chunk."""
    schema = [(f.name, f.type.value_type if pa.types.is_dictionary(f.type) else f.type) for f in table.schema]
    return table.cast(pa.schema(schema))


def _encode(column: pa.ChunkedArray) -> tuple[list[str], NDArray[np.int32]]:
    """Return the distinct texts of a column, and the code of every row."""
    chunk = column.combine_chunks()
    encoded = chunk if pa.types.is_dictionary(chunk.type) else pc.dictionary_encode(chunk)
    texts: list[str] = encoded.dictionary.to_pylist()
    return texts, encoded.indices.to_numpy(zero_copy_only=False)


Rows = NDArray[np.int64]
LABEL_COLUMNS = ("protocol", "name", "method", "edit_type", "source", "edit", "reason")


@dataclass(frozen=True, slots=True)
class LabelColumn:
    """A text column as integer codes that sort like the texts."""

    codes: Rows
    labels: list[str]

    @classmethod
    def of(cls, column: pa.ChunkedArray) -> Self:
        """Encode a dictionary column; nulls get an arbitrary code."""
        array = column.unify_dictionaries().combine_chunks()
        texts = array.dictionary.to_pylist()
        labels = sorted(texts)
        rank = {label: index for index, label in enumerate(labels)}
        ranks = np.array([rank[text] for text in texts] or [0])
        return cls(ranks[array.indices.fill_null(0).to_numpy(zero_copy_only=False)], labels)

    def equals(self, label: str) -> NDArray[np.bool_]:
        """Tell for every row whether it has this label."""
        code = self.labels.index(label) if label in self.labels else -1
        return np.equal(self.codes, code)

    def select(self, rows: Rows) -> LabelColumn:
        """Return some rows."""
        return LabelColumn(self.codes[rows], self.labels)

    def decode(self, rows: Rows) -> list[str]:
        """Return the labels of some rows."""
        return [self.labels[code] for code in self.codes[rows]]


@dataclass(frozen=True)
class ScoreColumns:
    """Scores of a run, one row per score, in the order of `Run.table`."""

    protocol: LabelColumn
    name: LabelColumn
    method: LabelColumn
    edit_type: LabelColumn
    source: LabelColumn
    edit: LabelColumn
    reason: LabelColumn
    """Arbitrary where there is a value."""
    seed: Rows
    value: NDArray[np.float64]
    """NaN where unscored."""

    @classmethod
    def of(cls, table: pa.Table) -> ScoreColumns:
        """Convert `Run.table`."""
        labels = {name: LabelColumn.of(table[name]) for name in LABEL_COLUMNS}
        return cls(**labels, seed=table["seed"].to_numpy(), value=table["value"].to_numpy())

    def select(self, rows: Rows) -> ScoreColumns:
        """Return some rows."""
        labels = {name: getattr(self, name).select(rows) for name in LABEL_COLUMNS}
        return ScoreColumns(**labels, seed=self.seed[rows], value=self.value[rows])

    def rows(self, protocol: str, name: str) -> Rows:
        """Return the rows of one score."""
        return np.flatnonzero(self.protocol.equals(protocol) & self.name.equals(name))

    def scored(self, protocol: str, name: str) -> Rows:
        """Return the rows of one score that have a value."""
        rows = self.rows(protocol, name)
        return rows[~np.isnan(self.value[rows])]

    def values(self, protocol: str, name: str) -> dict[OutcomeKey, float]:
        """Map each scored outcome to its value of one score."""
        rows = self.scored(protocol, name)
        return dict(zip(self.keys(rows), self.value[rows].tolist(), strict=True))

    def reasons(self, protocol: str, name: str) -> dict[OutcomeKey, str]:
        """Map each unscored outcome to the reason why it lacks one score."""
        rows = self.rows(protocol, name)
        rows = rows[np.isnan(self.value[rows])]
        return dict(zip(self.keys(rows), self.reason.decode(rows), strict=True))

    def keys(self, rows: Rows) -> list[OutcomeKey]:
        """Return the outcome of each row."""
        columns = self.edit.decode(rows), self.method.decode(rows), self.seed[rows].tolist()
        return list(map(OutcomeKey, *columns))

    @cached_property
    def seeds(self) -> dict[tuple[str, str], list[int]]:
        """Edit and method to the seeds of their outcomes, in order of appearance."""
        codes = np.stack([self.edit.codes, self.method.codes, self.seed])
        _, first = np.unique(codes, axis=1, return_index=True)
        seeds: dict[tuple[str, str], list[int]] = {}
        for edit, method, seed in self.keys(np.sort(first)):
            seeds.setdefault((edit, method), []).append(seed)
        return seeds

    @cached_property
    def sources(self) -> dict[str, str]:
        """Edit to the name of its source image."""
        return self._by_edit(self.source)

    @cached_property
    def edit_types(self) -> dict[str, str]:
        """Edit to its type."""
        return self._by_edit(self.edit_type)

    def sources_of(self, keys: Iterable[OutcomeKey]) -> NDArray[np.str_]:
        """Return the source image of each outcome."""
        return np.array([self.sources[key.edit] for key in keys], dtype=np.str_)

    def edit_types_of(self, keys: Iterable[OutcomeKey]) -> NDArray[np.str_]:
        """Return the edit type of each outcome."""
        return np.array([self.edit_types[key.edit] for key in keys], dtype=np.str_)

    def _by_edit(self, column: LabelColumn) -> dict[str, str]:
        _, first = np.unique(self.edit.codes, return_index=True)
        rows = np.sort(first)
        return dict(zip(self.edit.decode(rows), column.decode(rows), strict=True))
