"""Sealed journals as columns: one row per score in `scores/`, one row per piece of evidence in `evidence/`."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from editgauge._util.files import read_bytes, write_bytes
from editgauge._util.text import as_utf8
from editgauge.errors import BadRunError
from editgauge.results.records import ImageStamp, Key, Record, Stamps

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

SIDES = ("source", "edited", "reference")
"""The pictures that a record is about."""
_WORD = pa.dictionary(pa.int32(), pa.string())
_STAMP = {"path": _WORD, "size": pa.int64(), "changed_ns": pa.int64(), "pixels": _WORD}
SCORES = pa.schema(
    [
        ("place", pa.int32()),
        ("edit", _WORD),
        ("edit_type", _WORD),
        ("source", _WORD),
        ("method", _WORD),
        ("seed", pa.int64()),
        ("protocol", _WORD),
        ("name", _WORD),
        ("value", pa.float64()),
        ("reason", _WORD),
        ("detail", _WORD),
        *((f"{side}_{part}", kind) for side in SIDES for part, kind in _STAMP.items()),
    ]
)
EVIDENCE = pa.schema(
    [
        ("edit", _WORD),
        ("method", _WORD),
        ("seed", pa.int64()),
        ("protocol", _WORD),
        ("name", _WORD),
        ("evidence", pa.string()),
    ]
)
SCHEMAS = {"scores": SCORES, "evidence": EVIDENCE}
"""The folders of a run that hold sealed journals, and the columns of their files."""

REMEDY = (
    "Bring the file back from a copy, or run again into another folder; `editgauge verify` names all that is damaged."
)


def score_rows(record: Record) -> list[dict[str, Any]]:
    """The record in long form."""
    images = zip(SIDES, record.images, strict=True)
    shared = {
        "place": record.place,
        "edit": record.edit,
        "edit_type": record.edit_type,
        "source": record.source,
        "method": record.method,
        "seed": record.seed,
        "protocol": record.protocol,
        **{f"{side}_{part}": getattr(image, part) if image else None for side, image in images for part in _STAMP},
    }
    return [
        {**shared, "name": row.name, "value": row.value, "reason": row.reason, "detail": as_utf8(row.detail)}
        for row in record.rows
    ]


def evidence_rows(record: Record) -> list[dict[str, Any]]:
    """The record's evidence in long form."""
    key = record.key._asdict()
    return [
        {**key, "name": row.name, "evidence": json.dumps(piece, separators=(",", ":"))}
        for row in record.rows
        for piece in row.evidence
    ]


def scores_table(records: Iterable[Record]) -> pa.Table:
    """Records as a table of scores."""
    return pa.Table.from_pylist([row for record in records for row in score_rows(record)], schema=SCORES)


def evidence_table(records: Iterable[Record]) -> pa.Table:
    """Records as a table of evidence."""
    return pa.Table.from_pylist([row for record in records for row in evidence_rows(record)], schema=EVIDENCE)


def write_table(table: pa.Table, path: Path) -> str:
    """Writes the table whole or not at all, and gives the SHA-256 of the file."""
    content = _packed(table)
    write_bytes(path, content)
    return hashlib.sha256(content).hexdigest()


def bytes_of(table: pa.Table) -> int:
    """How large the file of a table would be."""
    return len(_packed(table))


def _packed(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    return bytes(sink.getvalue().to_pybytes())


def read_table(path: Path, schema: pa.Schema, sha256: str) -> pa.Table:
    """The table, in the project's schema; anything but the very bytes that were written raises `BadRunError`."""
    try:
        content = read_bytes(path)
        if hashlib.sha256(content).hexdigest() != sha256:
            raise BadRunError(f"'{path}' was changed since it was written. {REMEDY}")
        # Not `pq.read_table`: it loads the readers of every cloud store, whose threads now and then abort at exit.
        table = pq.ParquetFile(pa.BufferReader(content)).read(use_threads=False)
        for field in schema:
            if field.name.startswith("reference_") and field.name not in table.column_names:  # not recorded before
                table = table.append_column(field, pa.nulls(table.num_rows, field.type))
        return table.cast(schema)
    except (OSError, pa.ArrowException) as error:
        raise BadRunError(f"'{path}' cannot be read: {error}. {REMEDY}") from error


def read_segment(folder: Path, kind: str, number: str, sealed: Mapping[str, Mapping[str, str]]) -> pa.Table:
    """The scores or the evidence of a sealed journal of a run, checked by the hash in its manifest."""
    return read_table(folder / kind / f"{number}.parquet", SCHEMAS[kind], sealed[number][f"{kind}_sha256"])


def rows(table: pa.Table, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """The values of some columns, row by row."""
    return zip(*(table[column].to_pylist() for column in columns), strict=True)


def keys(table: pa.Table) -> Iterator[Key]:
    """The key of every row."""
    return map(Key._make, rows(table, Key._fields))


def of_reasons(table: pa.Table, reasons: Collection[str] | None) -> pa.Table:
    """The rows without a score for one of these reasons; all rows when none are given."""
    if reasons is None:
        return table
    return table.filter(pc.is_in(table["reason"].cast(pa.string()), pa.array(sorted(reasons), pa.string())))


def of_edits(table: pa.Table, edits: Collection[str] | None) -> pa.Table:
    """The rows of these edits; all rows when none are given."""
    if edits is None:
        return table
    return table.filter(pc.is_in(table["edit"].cast(pa.string()), pa.array(sorted(edits), pa.string())))


def one_row_each(table: pa.Table) -> pa.Table:
    """The first row of every record; the rows of a record stand together."""
    if table.num_rows == 0:
        return table
    starts = np.zeros(table.num_rows, np.bool_)
    starts[0] = True
    for column in Key._fields:
        whole = table[column].combine_chunks()
        codes = (whole.indices if pa.types.is_dictionary(whole.type) else whole).to_numpy(zero_copy_only=False)
        starts[1:] |= codes[1:] != codes[:-1]
    return table.filter(pa.array(starts))


def counted(table: pa.Table) -> Counter[tuple[str, str]]:
    """How many records there are of each method and protocol."""
    each = one_row_each(table)
    return Counter(rows(each, ("method", "protocol")))


def stamps(table: pa.Table) -> Iterator[tuple[Key, Stamps]]:
    """The key of every record, and the files it was scored from."""
    table = one_row_each(table)
    parts = ("path", "size", "changed_ns")
    columns = [f"{side}_{part}" for side in SIDES for part in parts]
    for key, row in zip(keys(table), rows(table, columns), strict=True):
        images = (ImageStamp(*row[at : at + 3]) if row[at] is not None else None for at in range(0, len(row), 3))
        yield key, tuple(images)
