"""Read a run folder, finished or not."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from editgauge.errors import BadRunError
from editgauge.evidence import Evidence, from_json
from editgauge.results import tables
from editgauge.results._journal import journals, read_journal
from editgauge.results._records import ScoreKey, ScoreRecord
from editgauge.results.edits import read_edits, read_inputs
from editgauge.results.manifest import Manifest
from editgauge.results.sets import SetScore, read_sets

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    import pandas as pd

    from editgauge.types import ScoreSpec

BATCH_ROWS = 10_000
Segments = Mapping[str, Mapping[str, str]]
"""Number of a segment to the hashes of its two Parquet files."""
Content = TypeVar("Content")


@dataclass(frozen=True)
class Run:
    """A run folder opened for reading.

    `table` has one row per score, `to_frame()` is the same as a pandas data frame, and `evidence(key)` is what can be
    shown for the scores of one outcome. `editgauge.report` and `editgauge.compare` take the folder or the run.

    >>> run = editgauge.Run.open("run")  # doctest: +SKIP
    >>> run.to_frame().groupby(["protocol", "name", "method"])["value"].mean()  # doctest: +SKIP
    """

    folder: Path
    manifest: Manifest

    @classmethod
    def open(cls, folder: str | Path) -> Self:
        """Open a run folder.

        Raises:
            BadRunError: the folder is not a run, or its manifest is damaged.

        """
        return cls(Path(folder), Manifest.load(Path(folder)))

    def __repr__(self) -> str:
        return f"<run {str(self.folder)!r}: {self.manifest.benchmark}, methods {', '.join(self.manifest.methods)}>"

    def __fspath__(self) -> str:
        return str(self.folder)

    @cached_property
    def edits(self) -> Mapping[str, dict[str, Any]]:
        """The edits by id, in the benchmark's order."""
        return read_edits(self.folder / "edits.jsonl")

    @cached_property
    def inputs(self) -> Mapping[str, list[dict[str, str]]]:
        """Path and role of further source images by edit, for edits that have some."""
        return read_inputs(self.folder)

    @cached_property
    def table(self) -> pa.Table:
        """One row per score, by method, edit, seed, protocol and name, in the order of the manifest."""
        return tables.sort_rows(self._read("scores"), self.manifest)

    @property
    def scores(self) -> pa.Table:
        """The same as `table`."""
        return self.table

    def to_frame(self) -> pd.DataFrame:
        """Return `table` as a pandas data frame, one row per score; needs `pip install pandas`."""
        return tables.data_frame({name: self.table[name].to_pylist() for name in self.table.column_names})

    def iter_scores(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        """Yield the rows of `table` in chunks, some columns of them, text columns decoded.

        Everything is read before the first chunk is returned, so that a damaged file is reported first.
        """
        iter_chunks = self._read_consistently(
            lambda segments: tables.sort_in_chunks(lambda: self._parts("scores", segments), self.manifest, columns)
        )
        return iter_chunks()

    @cached_property
    def sets(self) -> tuple[SetScore, ...]:
        """Scores of sets of outcomes, such as FID."""
        return read_sets(self.folder)

    def spec(self, protocol: str, name: str) -> ScoreSpec:
        """Return name, direction and range of a score."""
        return next(spec for spec in self.manifest.protocols[protocol].scores if spec.name == name)

    def records(self, key: ScoreKey) -> tuple[ScoreRecord, ...]:
        """Return the scores of one outcome and protocol, with their evidence."""
        evidence = self.evidence(key)
        rows = self._rows_of(self.table, key).select(["name", "value", "reason", "detail"]).to_pylist()
        return tuple(
            ScoreRecord(
                **key._asdict(),
                spec=self.spec(key.protocol, row["name"]),
                value=row["value"],
                reason=row["reason"],
                detail=row["detail"],
                evidence=tuple(evidence.get(row["name"], ())),
            )
            for row in rows
        )

    def evidence(self, key: ScoreKey) -> dict[str, list[Evidence]]:
        """Return the evidence for the scores of one outcome and protocol, by name of the score."""
        by_name: dict[str, list[Evidence]] = {}
        for row in self._rows_of(self._evidence, key).to_pylist():
            by_name.setdefault(row["name"], []).append(from_json(json.loads(row["evidence"])))
        return by_name

    def iter_evidence(self, edits: Collection[str] | None = None) -> Iterator[tuple[ScoreKey, str, str]]:
        """Yield key, score name and JSON text of every piece of evidence, in one pass.

        Many rows hold the same text (one mask serves all scores of an edit), so a caller can decode it once.

        Args:
            edits: only the evidence of these edits.

        """
        columns = (*ScoreKey._fields, "name", "evidence")
        table = self._evidence if edits is None else self._read("evidence", edits)
        for batch in table.select(columns).to_batches(max_chunksize=BATCH_ROWS):
            for *key, name, text in tables.iter_rows(batch, columns):
                yield ScoreKey._make(key), name, text

    def parts(self) -> Iterator[tuple[pa.Table, pa.Table]]:
        """Yield scores and evidence of every segment as written, one segment at a time."""
        scores, evidence = (self._parts(kind, self.manifest.segments) for kind in tables.SCHEMAS)
        return zip(scores, evidence, strict=True)

    @property
    def planned(self) -> int:
        """Number of outcomes times protocols that the finished run will hold."""
        return sum(count for counts in self.manifest.planned.values() for count in counts.values())

    @cached_property
    def _evidence(self) -> pa.Table:
        return self._read("evidence")

    @staticmethod
    def _rows_of(table: pa.Table, key: ScoreKey) -> pa.Table:
        for column, value in key._asdict().items():
            table = table.filter(pc.equal(table[column], value))
        return table

    def _read(self, kind: str, edits: Collection[str] | None = None) -> pa.Table:
        """Read all rows, or those of some edits."""
        parts = self._read_consistently(
            lambda segments: [tables.filter_edits(part, edits) for part in self._parts(kind, segments)]
        )
        return pa.concat_tables(parts).unify_dictionaries().combine_chunks()

    def _read_consistently(self, read: Callable[[Segments], Content]) -> Content:
        """Call `read` until the manifest did not change meanwhile: a writer may seal its journal at any time."""
        segments = Manifest.load(self.folder).segments
        try:
            content = read(segments)
        except (OSError, BadRunError):
            if Manifest.load(self.folder).segments == segments:
                raise
            return self._read_consistently(read)
        return content if Manifest.load(self.folder).segments == segments else self._read_consistently(read)

    def _parts(self, kind: str, segments: Segments) -> Iterator[pa.Table]:
        yield tables.SCHEMAS[kind].empty_table()
        for number in segments:
            yield tables.read_segment(self.folder, kind, number, segments)
        to_table = tables.scores_table if kind == "scores" else tables.evidence_table
        for journal in journals(self.folder / "scores"):
            if journal.stem not in segments:
                yield to_table(read_journal(journal))
