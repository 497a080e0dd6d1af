"""Read the outcomes of a run with their scores and verdicts, and count them.

Counts are computed on columns, so that a million outcomes take about a second.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from editgauge._render.text import without_folders
from editgauge._util.variants import base_name
from editgauge.evidence import Note
from editgauge.protocols.verdict import PROTOCOL, Verdict, make_verdict
from editgauge.results import OutcomeKey, ScoreRecord
from editgauge.results.run import NOTE_PREFIX
from editgauge.results.tables import filter_edits, first_rows, iter_rows

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from editgauge.analysis.summary import ScoreKey
    from editgauge.results import Run

IMAGE_COLUMNS = ("edit", "method", "seed", "source_path", "source_pixels", "edited_path", "edited_pixels")
RECORD_COLUMNS = ("edit", "method", "seed", "protocol", "name")
MAX_EXAMPLES = 6
"""Maximum number of example outcomes per reason for missing scores."""
NOT_APPLICABLE = "not_applicable"
"""Reason of a score that does not apply to the edit; such a score is reported but does not count as missing."""

Indices = NDArray[np.int64]
Status = Literal["scored", "partly scored", "unscored"]


class ScoredImage(NamedTuple):
    """An image file and the pixel hash it had when it was scored; None if it could not be decoded."""

    path: str
    pixels: str | None


@dataclass(frozen=True)
class ScoredOutcome:
    """One outcome with its images and all its scores."""

    key: OutcomeKey
    source: ScoredImage
    edited: ScoredImage | None
    scores: dict[ScoreKey, ScoreRecord]
    """Scores by protocol and name."""

    @property
    def edit(self) -> str:
        """The id of the edit."""
        return self.key.edit

    @property
    def method(self) -> str:
        """The method that made the outcome."""
        return self.key.method

    @property
    def seed(self) -> int:
        """The seed of the method."""
        return self.key.seed

    @cached_property
    def verdict(self) -> Verdict:
        """The verdict: whether the edit was done, the rest was kept and the image is well made."""
        return make_verdict(list(self.scores.values()))

    @property
    def unscored(self) -> list[ScoreRecord]:
        """The scores without a value."""
        return [record for record in self.scores.values() if record.value is None]

    @property
    def missing(self) -> list[str]:
        """The reasons of missing scores, without scores that do not apply to the edit."""
        return [str(record.reason) for record in self.unscored if record.reason != NOT_APPLICABLE]

    @property
    def status(self) -> Status:
        """Whether all, some or none of the scores that apply have a value."""
        if len(self.unscored) == len(self.scores):
            return "unscored"
        return "partly scored" if self.missing else "scored"

    def value(self, key: ScoreKey) -> float | None:
        """Return the value of a score; None if it has none."""
        record = self.scores.get(key)
        return None if record is None else record.value


@dataclass(slots=True)
class Missing:
    """One reason for missing scores, with counts and examples."""

    reason: str
    scores: int = 0
    outcomes: int = 0
    examples: list[ScoredOutcome] = field(default_factory=list)
    """Up to `MAX_EXAMPLES` outcomes of different edits."""


def read_outcomes(
    run: Run, edits: Collection[str] | None = None, *, with_notes: bool = True
) -> dict[str, list[ScoredOutcome]]:
    """Return the outcomes by edit, in the order of the benchmark and the run.

    Args:
        run: the run.
        edits: read only the outcomes of these edits; all outcomes if None.
        with_notes: whether to read the notes that explain scores, which verdicts quote.

    """
    images: dict[tuple[str, str, int], tuple[ScoredImage, ScoredImage | None]] = {}
    for edit, method, seed, *files in iter_rows(first_rows(filter_edits(run.table, edits)), IMAGE_COLUMNS):
        source_path, source_pixels, edited_path, edited_pixels = files
        edited = None if edited_path is None else ScoredImage(edited_path, edited_pixels)
        images[edit, method, seed] = ScoredImage(source_path, source_pixels), edited
    by_edit: dict[str, dict[OutcomeKey, ScoredOutcome]] = {
        edit: {} for edit in run.edits if edits is None or edit in edits
    }
    for outcome_key, records in run.iter_outcomes(edits, with_notes=with_notes):
        key = OutcomeKey(*outcome_key)
        scores = {(record.protocol, record.name): _without_folders(record) for record in records}
        outcome = by_edit.setdefault(key.edit, {}).setdefault(key, ScoredOutcome(key, *images[key], {}))
        outcome.scores.update(scores)
    return {edit: list(outcomes.values()) for edit, outcomes in by_edit.items()}


def _without_folders(record: ScoreRecord) -> ScoreRecord:
    return replace(record, detail=without_folders(record.detail)) if record.detail else record


def has_verdicts(run: Run) -> bool:
    """Return whether a protocol of the run scores whether an edit was done."""
    return any(spec.name == "edit" for _, spec in run.iter_specs())


def read_verdicts(run: Run) -> dict[OutcomeKey, Verdict]:
    """Return the verdict on every outcome.

    The run is read segment by segment, and only the scores and notes that verdicts use are kept in memory.
    """
    specs = {
        (protocol, spec.name): spec
        for protocol, spec in run.iter_specs()
        if spec.name == "edit" or base_name(protocol) == PROTOCOL
    }
    records: dict[OutcomeKey, list[ScoreRecord]] = {}
    for scores, evidence in run.parts():
        notes: dict[tuple[object, ...], list[Note]] = {}
        for *outcome, protocol, name, text in iter_rows(evidence, (*RECORD_COLUMNS, "evidence")):
            if (protocol, name) in specs and text.startswith(NOTE_PREFIX):
                notes.setdefault((*outcome, protocol, name), []).append(Note(json.loads(text)["note"]))
        for *outcome, protocol, name, value, reason, detail in iter_rows(
            scores, (*RECORD_COLUMNS, "value", "reason", "detail")
        ):
            if (protocol, name) not in specs:
                continue
            key = OutcomeKey(*outcome)
            record = ScoreRecord(
                **key._asdict(),
                protocol=protocol,
                spec=specs[protocol, name],
                value=value,
                reason=reason,
                detail=without_folders(detail or ""),
                evidence=tuple(notes.get((*outcome, protocol, name), ())),
            )
            records.setdefault(key, []).append(record)
    return {key: make_verdict(outcome_records) for key, outcome_records in records.items()}


def missing_scores(outcomes: Iterable[ScoredOutcome]) -> list[Missing]:
    """Return every reason for missing scores, the most frequent first."""
    by_reason: dict[str, Missing] = {}
    for outcome in outcomes:
        for reason, count in Counter(str(record.reason) for record in outcome.unscored).items():
            missing = by_reason.setdefault(reason, Missing(reason))
            missing.scores += count
            missing.outcomes += 1
            example_edits = {example.edit for example in missing.examples}
            if len(missing.examples) < MAX_EXAMPLES and outcome.edit not in example_edits:
                missing.examples.append(outcome)
    return sorted(by_reason.values(), key=lambda missing: missing.scores, reverse=True)


@dataclass(frozen=True, slots=True)
class ScoredCounts:
    """Numbers of outcomes with all, some or none of the scores that apply, and of records."""

    scored: int
    partly: int
    unscored: int
    records: int
    """Pairs of an outcome and a protocol that are in the run."""
    planned: int
    """Pairs of an outcome and a protocol that the run will have when it is complete."""

    @property
    def outcomes(self) -> int:
        """The number of outcomes so far."""
        return self.scored + self.partly + self.unscored


@dataclass(frozen=True, slots=True)
class Tally:
    """Numbers of scores of every outcome of a run, with and without a value."""

    run: Run
    outcome_index: Indices
    """Index of the outcome of every score."""
    outcome_rows: Indices
    """First row of every outcome."""
    scores: Indices
    """Number of scores of every outcome."""
    unscored: Indices
    """Number of scores without a value of every outcome."""
    missing: Indices
    """Number of scores without a value that apply to the edit, of every outcome."""
    record_rows: Indices
    """First row of every pair of an outcome and a protocol."""

    @classmethod
    def of(cls, run: Run) -> Tally:
        """Count the scores of a run."""
        table = run.score_columns
        outcome_codes = _encode_rows(table.method.codes, table.edit.codes, table.seed)
        _, outcome_rows, outcome_index = np.unique(outcome_codes, return_index=True, return_inverse=True)
        _, record_rows = np.unique(_encode_rows(outcome_codes, table.protocol.codes), return_index=True)
        is_unscored = np.isnan(table.value)
        is_missing = is_unscored & ~table.reason.equals(NOT_APPLICABLE)
        count = outcome_rows.size
        return cls(
            run,
            outcome_index,
            outcome_rows,
            scores=np.bincount(outcome_index, minlength=count),
            unscored=np.bincount(outcome_index[is_unscored], minlength=count),
            missing=np.bincount(outcome_index[is_missing], minlength=count),
            record_rows=record_rows,
        )

    def counts(self, method: str | None = None, planned: int = 0) -> ScoredCounts:
        """Return the counts of one method, or of all methods if None."""
        is_selected = self._has_method(method, self.outcome_rows)
        is_unscored = self.unscored == self.scores
        scored = int((is_selected & ~is_unscored & (self.missing == 0)).sum())
        unscored = int((is_selected & is_unscored).sum())
        return ScoredCounts(
            scored=scored,
            partly=int(is_selected.sum()) - scored - unscored,
            unscored=unscored,
            records=int(self._has_method(method, self.record_rows).sum()),
            planned=planned,
        )

    def with_any(self, keys: Iterable[ScoreKey]) -> int:
        """Count the outcomes with a value of at least one of these scores."""
        rows = [self.run.score_columns.scored(*key) for key in keys]
        return int(np.unique(self.outcome_index[np.concatenate(rows)]).size) if rows else 0

    def edits(self, method: str) -> int:
        """Count the edits for which the method has an outcome."""
        rows = self.outcome_rows[self._has_method(method, self.outcome_rows)]
        return int(np.unique(self.run.score_columns.edit.codes[rows]).size)

    def incomplete_edits(self) -> set[str]:
        """Return the edits with a score without a value, even if that score does not apply."""
        return set(self.run.score_columns.edit.decode(self.outcome_rows[self.unscored > 0]))

    def _has_method(self, method: str | None, rows: Indices) -> NDArray[np.bool_]:
        """Return for each row whether it belongs to the method; True for all rows if None."""
        if method is None:
            return np.ones(rows.size, np.bool_)
        return self.run.score_columns.method.equals(method)[rows]


def _encode_rows(*columns: Indices) -> Indices:
    """Return one code for each row; rows that agree in all columns get the same code."""
    row_codes = np.zeros(columns[0].size, np.int64)
    for column in columns:
        _, column_codes = np.unique(column, return_inverse=True)
        base = int(column_codes.max(initial=0)) + 1
        # Compress the codes after each column, so that products cannot overflow.
        _, row_codes = np.unique(row_codes * base + column_codes, return_inverse=True)
    return row_codes
