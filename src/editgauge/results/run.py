"""Read a run folder, finished or not."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from editgauge.errors import BadInputError, BadRunError
from editgauge.evidence import Evidence, Note, from_json
from editgauge.results import tables
from editgauge.results._journal import journals, read_journal
from editgauge.results._records import OutcomeKey, ScoreKey, ScoreRecord, SetScore, read_sets
from editgauge.results.edits import read_edits, read_inputs
from editgauge.results.manifest import Manifest
from editgauge.results.signature import Signature, signature_of
from editgauge.results.tables import ScoreColumns

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    import pandas as pd

    from editgauge.analysis.summary import RunSummary
    from editgauge.types import ScoreSpec

BATCH_ROWS = 10_000
NOTE_PREFIX = '{"note":'
"""Start of the stored JSON of a note."""
Segments = Mapping[str, Mapping[str, str]]
"""Number of a segment to the hashes of its two Parquet files."""
Content = TypeVar("Content")
OUTCOME_SCHEMA = pa.schema(
    [
        ("edit", pa.string()),
        ("method", pa.string()),
        ("seed", pa.int64()),
        *((name, pa.string()) for name in ("done", "kept", "quality", "confidence", "because", "sentence")),
    ]
)
"""Columns of `Run.outcomes()`."""


@dataclass(init=False, repr=False, eq=False)
class Run:
    """A run folder opened for reading, finished or not.

    `table` has one row per score and `to_frame()` is the same as a pandas data frame; `outcomes()` has one row per
    outcome with the verdict, and `summary()` the means. `editgauge.report` and `editgauge.compare` take the folder or
    the run.

    >>> run = editgauge.Run("run")  # doctest: +SKIP
    >>> run.to_frame().groupby(["protocol", "name", "method"])["value"].mean()  # doctest: +SKIP
    >>> run.outcomes().to_pandas()[["edit", "method", "done", "kept", "quality"]]  # doctest: +SKIP
    """

    folder: Path
    manifest: Manifest

    def __init__(self, folder: str | Path, manifest: Manifest | None = None) -> None:
        """Open a run folder.

        Args:
            folder: the run folder.
            manifest: its manifest; default: read from the folder.

        Raises:
            BadRunError: the folder is not a run, or its manifest is damaged.

        """
        self.folder = Path(folder)
        self.manifest = manifest or Manifest.load(self.folder)

    @classmethod
    def open(cls, run: RunSource | Sequence[RunSource]) -> Run:
        """Return an open run as it is, open a folder, or join several runs of one benchmark.

        Methods of equal name in several runs are distinguished by the name of their folder.

        Raises:
            BadRunError: a folder is not a run, or its manifest is damaged.
            BadInputError: the scores of several runs are not comparable.

        """
        if isinstance(run, Run):
            return run
        if isinstance(run, str | Path):
            return cls(run)
        runs = [cls.open(single) for single in run]
        return runs[0] if len(runs) == 1 else _JoinedRun(runs)

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

    @cached_property
    def score_columns(self) -> ScoreColumns:
        """The columns of `table` that analysis needs, as numpy arrays."""
        return ScoreColumns.of(self.table)

    def iter_outcomes(
        self, edits: Collection[str] | None = None, *, with_notes: bool = True
    ) -> Iterator[tuple[tuple[str, str, int], list[ScoreRecord]]]:
        """Yield every outcome (an `OutcomeKey`) with the scores of all protocols, in the order of `table`.

        Of the evidence only notes are read, which explain a score in words; `records` has all of it.

        Args:
            edits: only the outcomes of these edits.
            with_notes: whether to read the notes.

        """
        notes: dict[tuple[ScoreKey, str], list[Note]] = {}
        for key, name, text in self.iter_evidence(edits) if with_notes else ():
            if text.startswith(NOTE_PREFIX):
                notes.setdefault((key, name), []).append(Note(json.loads(text)["note"]))
        specs = {(protocol, spec.name): spec for protocol, spec in self.iter_specs()}
        columns = (*ScoreKey._fields, "name", "value", "reason", "detail")
        rows = tables.iter_rows(tables.filter_edits(self.table, edits), columns)
        for outcome, group in groupby(rows, key=lambda row: OutcomeKey._make(row[:3])):
            records = [
                ScoreRecord(
                    **outcome._asdict(),
                    protocol=protocol,
                    spec=specs[protocol, name],
                    value=value,
                    reason=reason,
                    detail=detail,
                    evidence=tuple(notes.get((ScoreKey._make((*outcome, protocol)), name), ())),
                )
                for *_, protocol, name, value, reason, detail in group
            ]
            yield outcome, records

    def outcomes(self, edits: Collection[str] | None = None) -> pa.Table:
        """Return one row per outcome with its verdict: `done`, `kept`, `quality`, `confidence`, `because`.

        `because` gives the reasons of the three answers, `sentence` everything in one line. `.to_pandas()` converts
        the table to a data frame.

        Args:
            edits: only the outcomes of these edits; default: all.

        """
        from editgauge.protocols.verdict import make_verdict

        rows = []
        for outcome, records in self.iter_outcomes(edits):
            verdict = make_verdict(records)
            rows.append(
                {**dict(zip(OutcomeKey._fields, outcome, strict=True)), **verdict.columns, "sentence": verdict.sentence}
            )
        return pa.Table.from_pylist(rows, schema=OUTCOME_SCHEMA)

    def summary(self) -> RunSummary:
        """Return the means with their confidence intervals."""
        from editgauge.analysis.summary import RunSummary

        return RunSummary(self)

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

    def iter_specs(self) -> Iterator[tuple[str, ScoreSpec]]:
        """Yield protocol and declaration of every score of the run."""
        for protocol, entry in self.manifest.protocols.items():
            for spec in entry.scores:
                yield protocol, spec

    def spec(self, protocol: str, name: str) -> ScoreSpec:
        """Return name, direction and range of a score."""
        return next(spec for spec in self.manifest.protocols[protocol].scores if spec.name == name)

    def signature(self, protocol: str) -> Signature:
        """Return everything that shaped the scores of a protocol, as one line that can be compared."""
        return signature_of(self.manifest, protocol)

    def records(self, key: ScoreKey) -> tuple[ScoreRecord, ...]:
        """Return the scores of one outcome and protocol, with their evidence."""
        evidence, signature = self.evidence(key), str(self.signature(key.protocol))
        rows = self._rows_of(self.table, key).select(["name", "value", "reason", "detail"]).to_pylist()
        return tuple(
            ScoreRecord(
                **key._asdict(),
                spec=self.spec(key.protocol, row["name"]),
                value=row["value"],
                reason=row["reason"],
                detail=row["detail"],
                evidence=tuple(evidence.get(row["name"], ())),
                signature=signature,
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


RunSource = str | Path | Run
"""A run folder, or the run itself."""


class _JoinedRun(Run):
    """Several runs of one benchmark, read as one."""

    def __init__(self, runs: Sequence[Run]) -> None:
        if not runs:
            raise BadInputError("Give at least one run folder.")
        first = runs[0].manifest
        problems = [f"'{run.folder}': {text}" for run in runs[1:] for text in first.differences(run.manifest)]
        if problems:
            raise BadInputError(
                "These runs cannot be compared: a difference might not come from the outcomes. Compared with "
                f"'{runs[0].folder}':",
                problems,
            )
        self.runs = tuple(runs)
        self.folder = runs[0].folder
        self.labels = label_methods(runs)
        self.manifest = replace(
            first,
            methods={
                label: run.manifest.methods[method]
                for run, labels in zip(runs, self.labels, strict=True)
                for method, label in labels.items()
            },
            protocols={name: entry for run in runs for name, entry in run.manifest.protocols.items()},
            planned={
                label: run.manifest.planned[method]
                for run, labels in zip(runs, self.labels, strict=True)
                for method, label in labels.items()
                if method in run.manifest.planned
            },
            judges={name: judge for run in runs for name, judge in run.manifest.judges.items()},
        )

    @cached_property
    def sets(self) -> tuple[SetScore, ...]:
        """Scores of sets of outcomes of all runs."""
        return tuple(
            replace(score, method=labels.get(score.method, score.method))
            for run, labels in zip(self.runs, self.labels, strict=True)
            for score in run.sets
        )

    def _read(self, kind: str, edits: Collection[str] | None = None) -> pa.Table:
        parts = []
        for run, labels in zip(self.runs, self.labels, strict=True):
            table = run._read(kind, edits)  # noqa: SLF001  another instance of this class
            index = table.schema.get_field_index("method")
            methods = [labels.get(method, method) for method in table["method"].to_pylist()]
            parts.append(
                table.set_column(index, table.schema.field(index), pa.array(methods, table.schema.field(index).type))
            )
        return pa.concat_tables(parts).unify_dictionaries().combine_chunks()


def label_methods(runs: Sequence[Run]) -> list[dict[str, str]]:
    """Map the methods of each run to labels that are unique over all runs.

    A method of one run keeps its name; one of several runs gets the name of the run's folder added.
    """
    entries = [(index, run, method) for index, run in enumerate(runs) for method in run.manifest.methods]
    occurrences = Counter(method for *_, method in entries)
    labels = [method if occurrences[method] == 1 else f"{method} ({run.folder.name})" for _, run, method in entries]
    repeated = Counter(labels)
    unique = [label if repeated[label] == 1 else f"{label} #{number}" for number, label in enumerate(labels, start=1)]
    by_run: list[dict[str, str]] = [{} for _ in runs]
    for (index, _, method), label in zip(entries, unique, strict=True):
        by_run[index][method] = label
    return by_run
