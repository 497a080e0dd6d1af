"""The rows of a run for other programs, as bytes that come part by part: a million of them never are in memory."""

from __future__ import annotations

import csv
import json
from io import RawIOBase
from itertools import islice
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from editgauge._render.words import without_folders
from editgauge._util.text import csv_text
from editgauge.analysis.groups.selection import divisions, values_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from editgauge.results import Run, SetScore

COLUMNS = ("edit", "edit_type", "source", "method", "seed", "protocol", "name", "value", "status", "reason", "detail")
"""Paths and times stay in the run folder: the same scores give the same bytes on every machine. A path that a detail
quotes is cut to the file and its folder."""
ROWS_AT_ONCE = 10_000
ROWS_OF_A_CHUNK = 1 << 15
"""A multiple of the 1,024 rows that pyarrow writes at a time, so that the bytes of a Parquet file are those of a table
written in one piece."""
CHUNKS_OF_A_GROUP = 32
"""Of a group of rows in a Parquet file, which is held and written at once: the million rows that pyarrow takes."""
TYPES = {"seed": pa.int64(), "value": pa.float64()}
GROUP = "group_"
"""Before the name of a benchmark's own division, in the columns behind the others."""


def columns_of(run: Run) -> tuple[str, ...]:
    """The columns of a run's rows: the usual ones, and one for each division of its benchmark."""
    return (*COLUMNS, *(f"{GROUP}{name}" for name in divisions(run)))


def schema_of(run: Run) -> pa.Schema:
    """The same with their types."""
    return pa.schema([(column, TYPES.get(column, pa.string())) for column in columns_of(run)])


def tables_of(run: Run) -> Iterator[pa.Table]:
    """Every score in the run's order, a bounded number of rows at a time."""
    groups = {name: values_of(run, name) for name in divisions(run)}
    for scores in run.iter_scores([column for column in COLUMNS if column != "status"]):
        status = pc.if_else(pc.is_null(scores["value"]), "unscored", "scored")
        detail = pa.chunked_array([pa.array(map(without_folders, scores["detail"].to_pylist()), pa.string())])
        place = scores.schema.get_field_index("detail")
        whole = scores.set_column(place, "detail", detail).append_column("status", status).select(list(COLUMNS))
        for name, values in groups.items():
            column = pa.array(map(values.get, scores["edit"].to_pylist()), pa.string())
            whole = whole.append_column(f"{GROUP}{name}", column)
        yield whole
    if run.sets:
        yield pa.Table.from_pylist([_of_set(score) for score in run.sets], schema=schema_of(run))


def _of_set(score: SetScore) -> dict[str, Any]:
    """A score of a whole set of outcomes, such as a total or FID: it belongs to no edit."""
    return {
        "edit_type": score.edit_type,
        "method": score.method,
        "protocol": score.protocol,
        "name": score.name,
        "value": score.value,
        "status": "scored" if score.value is not None else "unscored",
        "reason": score.reason or None,
        "detail": without_folders(score.detail) or None,
    }


def rows_of(run: Run) -> Iterator[dict[str, Any]]:
    """The same as one mapping for each score."""
    for table in tables_of(run):
        for batch in table.to_batches(max_chunksize=ROWS_AT_ONCE):
            yield from batch.to_pylist()


def as_csv(rows: Iterable[dict[str, Any]], columns: Sequence[str]) -> Iterator[bytes]:
    """A line of names, and a line for each row; texts that a spreadsheet would take for a formula are marked."""
    lines = _Lines()
    writer = csv.DictWriter(lines, columns, lineterminator="\r\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({name: csv_text(cell) if isinstance(cell, str) else cell for name, cell in row.items()})
        if len(lines) >= ROWS_AT_ONCE:
            yield lines.taken()
    yield lines.taken()


class _Lines(list[str]):
    """Ends lines with a line feed only. Were the writer told so, it would not put a field with a carriage return in
    quotes (before Python 3.13), and readers take that for the end of a line."""

    def write(self, line: str) -> None:
        self.append(line.removesuffix("\r\n") + "\n")

    def taken(self) -> bytes:
        """What was written since the last time."""
        content = "".join(self).encode()
        self.clear()
        return content


def as_jsonl(rows: Iterable[dict[str, Any]]) -> Iterator[bytes]:
    """A line of JSON for each row."""
    return (json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in rows)


def as_parquet(tables: Iterable[pa.Table], schema: pa.Schema) -> Iterator[bytes]:
    """Plain columns, one group of rows after the other; a group without rows where there are none at all."""
    sink = _Sink()
    chunks = _chunks(tables, schema)
    with pq.ParquetWriter(sink, schema, compression="zstd") as writer:
        group = list(islice(chunks, CHUNKS_OF_A_GROUP)) or [schema.empty_table()]
        while group:
            writer.write_table(pa.concat_tables(group), CHUNKS_OF_A_GROUP * ROWS_OF_A_CHUNK)
            yield sink.taken()
            group = list(islice(chunks, CHUNKS_OF_A_GROUP))
    yield sink.taken()


class _Sink(RawIOBase):
    """Takes what is written until someone asks for it."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, content: Any) -> int:
        self._parts.append(bytes(content))
        return len(self._parts[-1])

    def taken(self) -> bytes:
        """What was written since the last time."""
        content = b"".join(self._parts)
        self._parts.clear()
        return content


def _chunks(tables: Iterable[pa.Table], schema: pa.Schema) -> Iterator[pa.Table]:
    """The same rows in chunks of equal size, except for the last."""
    left = schema.empty_table()
    for table in tables:
        left = pa.concat_tables([left, table])
        while left.num_rows >= ROWS_OF_A_CHUNK:
            yield left.slice(0, ROWS_OF_A_CHUNK).combine_chunks()
            left = left.slice(ROWS_OF_A_CHUNK)
    if left.num_rows:
        yield left.combine_chunks()
