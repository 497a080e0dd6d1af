"""Reading a run folder, finished or not."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from editgauge.core import evidence as pieces
from editgauge.core.errors import BadRun
from editgauge.core.run import segments
from editgauge.core.run.journal import journals, read_journal
from editgauge.core.run.manifest import Manifest
from editgauge.core.run.records import Key
from editgauge.core.run.sets import SetScore, read_sets

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from editgauge.core.types import ScoreSpec

ROWS_AT_ONCE = 10_000


@dataclass(frozen=True)
class Run:
    """A run folder opened for reading."""

    folder: Path
    manifest: Manifest

    @classmethod
    def open(cls, folder: Path) -> Run:
        """Opens the folder; says clearly when it is not a run."""
        return cls(folder, Manifest.load(folder))

    @cached_property
    def edits(self) -> dict[str, dict[str, Any]]:
        """The edits by id, in the benchmark's order."""
        path = self.folder / "edits.jsonl"
        try:
            lines = path.read_text("utf-8").split("\n")  # splitlines() would also break at signs inside a text
            return {edit["id"]: edit for edit in map(json.loads, filter(None, lines))}
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise BadRun(f"'{path}' cannot be read: {error}.") from error

    @cached_property
    def scores(self) -> pa.Table:
        """One row per score, by method, edit, seed, protocol and name, in the order the run was asked for."""
        return _in_order(self._tables("scores", segments.SCORES), self.manifest)

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
        found: dict[str, list[pieces.Evidence]] = {}
        for row in table.to_pylist():
            found.setdefault(row["name"], []).append(pieces.from_json(json.loads(row["evidence"])))
        return found

    def all_evidence(self) -> Iterator[tuple[Key, str, str]]:
        """Every piece of evidence in one pass: its record, its score, and its JSON as stored.

        Many rows store the same text (one mask serves all scores of an edit): who remembers decodes it once.
        """
        columns = (*Key._fields, "name", "evidence")
        for batch in self._evidence.select(columns).to_batches(max_chunksize=ROWS_AT_ONCE):
            for *key, name, text in zip(*(batch[column].to_pylist() for column in columns), strict=True):
                yield Key._make(key), name, text

    @cached_property
    def _evidence(self) -> pa.Table:
        return self._tables("evidence", segments.EVIDENCE)

    @property
    def planned(self) -> int:
        """How many records the finished run will hold."""
        return sum(count for counts in self.manifest.planned.values() for count in counts.values())

    def _tables(self, kind: str, schema: pa.Schema) -> pa.Table:
        """All rows, of the folder as it is now: a writer may have sealed its journal since the run was opened."""
        sealed = Manifest.load(self.folder).segments
        try:
            tables = list(self._parts(kind, schema, sealed))
        except (OSError, BadRun):
            if Manifest.load(self.folder).segments == sealed:
                raise
            return self._tables(kind, schema)
        if Manifest.load(self.folder).segments != sealed:  # sealed while we read: what we took for all is a part
            return self._tables(kind, schema)
        return pa.concat_tables(tables).unify_dictionaries().combine_chunks()

    def _parts(self, kind: str, schema: pa.Schema, sealed: Mapping[str, Mapping[str, str]]) -> Iterator[pa.Table]:
        yield schema.empty_table()
        for number in sealed:
            path, sha256 = self.folder / kind / f"{number}.parquet", sealed[number][f"{kind}_sha256"]
            yield segments.read_table(path, schema, sha256)
        make = segments.scores_table if kind == "scores" else segments.evidence_table
        for journal in journals(self.folder / "scores"):
            if journal.stem not in sealed:
                yield make(read_journal(journal))


def _in_order(table: pa.Table, manifest: Manifest) -> pa.Table:
    names = [f"{protocol}\0{spec.name}" for protocol, entry in manifest.protocols.items() for spec in entry.scores]
    method_rank = {method: rank for rank, method in enumerate(manifest.methods)}
    name_rank = {name: rank for rank, name in enumerate(names)}
    pairs = zip(table["protocol"].to_pylist(), table["name"].to_pylist(), strict=True)
    order = np.lexsort(
        (
            [name_rank.get(f"{protocol}\0{name}", len(names)) for protocol, name in pairs],
            table["seed"].to_numpy(),
            table["place"].to_numpy(),
            [method_rank.get(method, len(method_rank)) for method in table["method"].to_pylist()],
        )
    )
    return table.take(order)
