"""Reading a run folder, finished or not."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from editgauge import evidence as pieces
from editgauge.errors import BadRunError
from editgauge.results import segments
from editgauge.results.edits import read_edits, read_inputs
from editgauge.results.journal import journals, read_journal
from editgauge.results.manifest import Manifest
from editgauge.results.ordering import in_order, in_turn
from editgauge.results.records import Key
from editgauge.results.sets import SetScore, read_sets

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from editgauge.types import ScoreSpec

ROWS_AT_ONCE = 10_000
Sealed = Mapping[str, Mapping[str, str]]
"""The number of a sealed journal to the hashes of its two files."""
Content = TypeVar("Content")


@dataclass(frozen=True)
class Run:
    """A run folder opened for reading."""

    folder: Path
    manifest: Manifest

    @classmethod
    def open(cls, folder: str | Path) -> Self:
        """Opens the folder; says clearly when it is not a run."""
        return cls(Path(folder), Manifest.load(Path(folder)))

    def __repr__(self) -> str:
        return f"<run {str(self.folder)!r}: {self.manifest.benchmark}, methods {', '.join(self.manifest.methods)}>"

    @cached_property
    def edits(self) -> Mapping[str, dict[str, Any]]:
        """The edits by id, in the benchmark's order."""
        return read_edits(self.folder / "edits.jsonl")

    @cached_property
    def inputs(self) -> Mapping[str, list[dict[str, str]]]:
        """Edit to path and role of each further source picture; only edits that have some."""
        return read_inputs(self.folder)

    @cached_property
    def scores(self) -> pa.Table:
        """One row per score, by method, edit, seed, protocol and name, in the order the run was asked for."""
        return in_order(self._tables("scores"), self.manifest)

    def scores_in_turn(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        """The same rows, some columns of them, words as plain text: some ten thousand at a time.

        Everything is read before the first rows are given: a damaged file is reported before anyone has used a part.
        """
        divided = self._settled(lambda sealed: in_turn(lambda: self._parts("scores", sealed), self.manifest, columns))
        return divided()

    @cached_property
    def sets(self) -> tuple[SetScore, ...]:
        """The scores of whole sets of outcomes, such as FID."""
        return read_sets(self.folder)

    def spec(self, protocol: str, name: str) -> ScoreSpec:
        """What the protocol promised about the score."""
        return next(spec for spec in self.manifest.protocols[protocol].scores if spec.name == name)

    def evidence(self, key: Key) -> dict[str, list[pieces.Evidence]]:
        """What can be shown for the scores of one record, by score."""
        table = self._evidence
        for column, value in key._asdict().items():
            table = table.filter(pc.equal(table[column], value))
        by_protocol: dict[str, list[pieces.Evidence]] = {}
        for row in table.to_pylist():
            by_protocol.setdefault(row["name"], []).append(pieces.from_json(json.loads(row["evidence"])))
        return by_protocol

    def all_evidence(self, edits: Collection[str] | None = None) -> Iterator[tuple[Key, str, str]]:
        """Every piece of evidence, or that of some edits, in one pass: its record, its score, and its JSON as stored.

        Many rows store the same text (one mask serves all scores of an edit): who remembers decodes it once.
        """
        columns = (*Key._fields, "name", "evidence")
        table = self._evidence if edits is None else self._tables("evidence", edits)
        for batch in table.select(columns).to_batches(max_chunksize=ROWS_AT_ONCE):
            for *key, name, text in segments.rows(batch, columns):
                yield Key._make(key), name, text

    @cached_property
    def _evidence(self) -> pa.Table:
        return self._tables("evidence")

    def parts(self) -> Iterator[tuple[pa.Table, pa.Table]]:
        """The scores and the evidence of every part of the run as it was written, one part at a time."""
        scores, evidence = (self._parts(kind, self.manifest.segments) for kind in segments.SCHEMAS)
        return zip(scores, evidence, strict=True)

    @property
    def planned(self) -> int:
        """How many records the finished run will hold."""
        return sum(count for counts in self.manifest.planned.values() for count in counts.values())

    def _tables(self, kind: str, edits: Collection[str] | None = None) -> pa.Table:
        """All rows, or those of some edits."""
        tables = self._settled(lambda sealed: [segments.of_edits(each, edits) for each in self._parts(kind, sealed)])
        return pa.concat_tables(tables).unify_dictionaries().combine_chunks()

    def _settled(self, read: Callable[[Sealed], Content]) -> Content:
        """What is read of the folder as it is now: a writer may seal its journal meanwhile, and then we read again."""
        sealed = Manifest.load(self.folder).segments
        try:
            content = read(sealed)
        except (OSError, BadRunError):
            if Manifest.load(self.folder).segments == sealed:
                raise
            return self._settled(read)
        # Sealed while we read: what we took for all is a part.
        return content if Manifest.load(self.folder).segments == sealed else self._settled(read)

    def _parts(self, kind: str, sealed: Sealed) -> Iterator[pa.Table]:
        yield segments.SCHEMAS[kind].empty_table()
        for number in sealed:
            yield segments.read_segment(self.folder, kind, number, sealed)
        make = segments.scores_table if kind == "scores" else segments.evidence_table
        for journal in journals(self.folder / "scores"):
            if journal.stem not in sealed:
                yield make(read_journal(journal))
