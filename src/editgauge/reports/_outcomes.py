"""The outcomes of a run with all their scores and verdicts, edit by edit, and their counts.

Counts are computed on columns, so that a million outcomes take a second.
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

Indices = NDArray[np.int64]
Status = Literal["scored", "partly scored", "unscored"]
NOT_APPLICABLE = "not_applicable"
"""The reason of a score that the edit does not ask for: it is reported, and is not missing."""


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
    """By protocol and name."""

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
        """The answers whether the edit was done, the rest kept and the image well made."""
        return make_verdict(list(self.scores.values()))

    @property
    def unscored(self) -> list[ScoreRecord]:
        """The scores without a value."""
        return [record for record in self.scores.values() if record.value is None]

    @property
    def missing(self) -> list[str]:
        """The reasons of missing scores, except those that do not apply to the edit."""
        return [str(record.reason) for record in self.unscored if record.reason != NOT_APPLICABLE]

    @property
    def status(self) -> Status:
        """Whether it has all scores that apply, some or none."""
        if len(self.unscored) == len(self.scores):
            return "unscored"
        return "partly scored" if self.missing else "scored"

    def value(self, key: ScoreKey) -> float | None:
        """Return the value of a score; None if it has none."""
        record = self.scores.get(key)
        return None if record is None else record.value


@dataclass(slots=True)
class Missing:
    """One reason for missing scores: counts and examples."""

    reason: str
    scores: int = 0
    outcomes: int = 0
    examples: list[ScoredOutcome] = field(default_factory=list)
    """Outcomes of different edits."""


def read_outcomes(
    run: Run, edits: Collection[str] | None = None, *, with_notes: bool = True
) -> dict[str, list[ScoredOutcome]]:
    """Return the outcomes by edit, in the order of benchmark and run.

    Args:
        run: the run.
        edits: only the outcomes of these edits.
        with_notes: read the notes that explain scores; verdicts quote them.

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
        key = OutcomeKey._make(outcome_key)
        scores = {(record.protocol, record.name): _without_folders(record) for record in records}
        outcome = by_edit.setdefault(key.edit, {}).setdefault(key, ScoredOutcome(key, *images[key], {}))
        outcome.scores.update(scores)
    return {edit: list(outcomes.values()) for edit, outcomes in by_edit.items()}


def _without_folders(record: ScoreRecord) -> ScoreRecord:
    return replace(record, detail=without_folders(record.detail)) if record.detail else record


def has_verdicts(run: Run) -> bool:
    """Return whether a protocol of the run tells if an edit was done."""
    return any(spec.name == "edit" for _, spec in run.iter_specs())


def read_verdicts(run: Run) -> dict[OutcomeKey, Verdict]:
    """Return the verdict on every outcome.

    The run is read segment by segment, and only the scores and notes that verdicts use are held in memory.
    """
    specs = {(protocol, spec.name): spec for protocol, spec in run.iter_specs()}
    used = {key for key in specs if key[1] == "edit" or base_name(key[0]) == PROTOCOL}
    records: dict[OutcomeKey, list[ScoreRecord]] = {}
    for scores, evidence in run.parts():
        notes: dict[tuple[object, ...], list[Note]] = {}
        for *key, text in iter_rows(evidence, (*RECORD_COLUMNS, "evidence")):
            if (key[-2], key[-1]) in used and text.startswith(NOTE_PREFIX):
                notes.setdefault(tuple(key), []).append(Note(json.loads(text)["note"]))
        for *key, value, reason, detail in iter_rows(scores, (*RECORD_COLUMNS, "value", "reason", "detail")):
            edit, method, seed, protocol, name = key
            if (protocol, name) in used:
                outcome = OutcomeKey(edit, method, seed)
                record = ScoreRecord(
                    **outcome._asdict(),
                    protocol=protocol,
                    spec=specs[protocol, name],
                    value=value,
                    reason=reason,
                    detail=without_folders(detail or ""),
                    evidence=tuple(notes.get(tuple(key), ())),
                )
                records.setdefault(outcome, []).append(record)
    return {outcome: make_verdict(scores) for outcome, scores in records.items()}


def missing_scores(outcomes: Iterable[ScoredOutcome]) -> list[Missing]:
    """Return every reason for missing scores, the most frequent first."""
    by_reason: dict[str, Missing] = {}
    for outcome in outcomes:
        for reason, count in Counter(str(record.reason) for record in outcome.unscored).items():
            missing = by_reason.setdefault(reason, Missing(reason))
            missing.scores += count
            missing.outcomes += 1
            if len(missing.examples) < MAX_EXAMPLES and all(
                example.edit != outcome.edit for example in missing.examples
            ):
                missing.examples.append(outcome)
    return sorted(by_reason.values(), key=lambda missing: -missing.scores)


@dataclass(frozen=True, slots=True)
class ScoredCounts:
    """Numbers of outcomes with all scores that apply, some, or none, and of planned records."""

    scored: int
    partly: int
    unscored: int
    records: int
    planned: int

    @property
    def outcomes(self) -> int:
        """The number of outcomes so far."""
        return self.scored + self.partly + self.unscored


@dataclass(frozen=True, slots=True)
class Tally:
    """Per outcome of a run: its number of scores, and how many of them lack a value."""

    run: Run
    outcome_index: Indices
    """For every score the index of its outcome."""
    first: Indices
    """For every outcome its first row."""
    scores: Indices
    lacking: Indices
    missing: Indices
    """Of those that lack a value, how many should have one: the score applies to the edit."""
    first_of_records: Indices

    @classmethod
    def of(cls, run: Run) -> Tally:
        """Count the scores of a run."""
        table = run.score_columns
        outcome = _number_rows(table.method.codes, table.edit.codes, table.seed)
        _, first, outcome_index = np.unique(outcome, return_index=True, return_inverse=True)
        _, first_of_records = np.unique(_number_rows(outcome, table.protocol.codes), return_index=True)
        without = np.isnan(table.value)
        applies = without & ~table.reason.equals(NOT_APPLICABLE)
        scores, lacking, missing = (
            np.bincount(outcome_index[rows], minlength=first.size) for rows in (slice(None), without, applies)
        )
        return cls(run, outcome_index, first, scores, lacking, missing, first_of_records)

    def counts(self, method: str | None = None, planned: int = 0) -> ScoredCounts:
        """Return the counts of all methods, or of one."""
        selected, records = self._is_of(method, self.first), self._is_of(method, self.first_of_records)
        is_empty = self.lacking == self.scores
        scored = int((selected & ~is_empty & (self.missing == 0)).sum())
        unscored = int((selected & is_empty).sum())
        return ScoredCounts(scored, int(selected.sum()) - scored - unscored, unscored, int(records.sum()), planned)

    def with_any(self, keys: Iterable[ScoreKey]) -> int:
        """Count the outcomes with a value of at least one of these scores."""
        rows = [self.run.score_columns.scored(*key) for key in keys]
        return int(np.unique(self.outcome_index[np.concatenate(rows)]).size) if rows else 0

    def edits(self, method: str) -> int:
        """Count the edits that the method has outcomes of."""
        rows = self.first[self._is_of(method, self.first)]
        return int(np.unique(self.run.score_columns.edit.codes[rows]).size)

    def incomplete_edits(self) -> set[str]:
        """Return the edits with an outcome that lacks a score, even one that does not apply."""
        return set(self.run.score_columns.edit.decode(self.first[self.lacking > 0]))

    def _is_of(self, method: str | None, rows: Indices) -> NDArray[np.bool_]:
        if method is None:
            return np.ones(rows.size, np.bool_)
        return self.run.score_columns.method.equals(method)[rows]


def _number_rows(*columns: Indices) -> Indices:
    """Assign the same number to rows that agree in all columns."""
    number = np.zeros(columns[0].size, np.int64)
    for column in columns:
        _, code = np.unique(column, return_inverse=True)
        _, number = np.unique(number * (int(code.max(initial=0)) + 1) + code, return_inverse=True)
    return number
