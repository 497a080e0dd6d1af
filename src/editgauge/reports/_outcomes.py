"""The outcomes of a run with all their scores, edit by edit, and their counts.

Counts are computed on columns, so that a million outcomes take a second.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from editgauge._render.text import without_folders
from editgauge.analysis.outcomes import WordColumn
from editgauge.results.tables import filter_edits

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from editgauge.results import Run

OUTCOME_COLUMNS = (
    *("edit", "method", "seed", "protocol", "name", "value", "reason", "detail"),
    *("source_path", "source_pixels", "edited_path", "edited_pixels"),
)
ROWS_AT_ONCE = 10_000
MAX_EXAMPLES = 6

Indices = NDArray[np.int64]
Status = Literal["scored", "partly scored", "unscored"]
NOT_APPLICABLE = "not_applicable"
"""The reason of a score that the edit does not ask for: it is reported, and is not missing."""


class ScoredImage(NamedTuple):
    """An image file and the pixel hash it had when it was scored; None if it could not be decoded."""

    path: str
    pixels: str | None


class Why(NamedTuple):
    """Why there is no score."""

    reason: str
    detail: str


@dataclass(slots=True)
class ScoredOutcome:
    """One outcome with all its scores."""

    edit: str
    method: str
    seed: int
    source: ScoredImage
    edited: ScoredImage | None
    scores: dict[tuple[str, str], float | Why] = field(default_factory=dict)
    """By protocol and name."""

    @property
    def whys(self) -> list[Why]:
        """Return why scores are missing, one entry each."""
        return [score for score in self.scores.values() if isinstance(score, Why)]

    @property
    def missing(self) -> list[str]:
        """Return the reasons of missing scores, except those that do not apply to the edit."""
        return [why.reason for why in self.whys if why.reason != NOT_APPLICABLE]

    @property
    def status(self) -> Status:
        """Return whether it has all scores that apply, some or none."""
        if len(self.whys) == len(self.scores):
            return "unscored"
        return "partly scored" if self.missing else "scored"

    @property
    def protocols(self) -> list[str]:
        """Return the protocols that scored it."""
        return list(dict.fromkeys(protocol for protocol, _ in self.scores))


@dataclass(slots=True)
class Missing:
    """One reason for missing scores: counts and examples."""

    reason: str
    scores: int = 0
    outcomes: int = 0
    examples: list[tuple[ScoredOutcome, str]] = field(default_factory=list)
    """Outcomes of different edits, each with the detail that was recorded for it."""


def collect(run: Run, edits: Collection[str] | None = None) -> dict[str, list[ScoredOutcome]]:
    """Return the outcomes by edit, in the order of benchmark and run."""
    selected = [edit for edit in run.edits if edits is None or edit in edits]
    return gathered(filter_edits(run.scores, edits), selected)


def gathered(scores: pa.Table, edits: Iterable[str] = ()) -> dict[str, list[ScoredOutcome]]:
    """Return the outcomes of a score table by edit; `edits` come first, with or without outcomes."""
    by_edit: dict[str, dict[tuple[str, int], ScoredOutcome]] = {edit: {} for edit in edits}
    for batch in scores.select(list(OUTCOME_COLUMNS)).to_batches(max_chunksize=ROWS_AT_ONCE):
        for row in zip(*(batch[column].to_pylist() for column in OUTCOME_COLUMNS), strict=True):
            edit, method, seed, protocol, name, value, reason, detail, *files = row
            of_edit = by_edit.setdefault(edit, {})
            if (method, seed) not in of_edit:
                source_path, source_pixels, edited_path, edited_pixels = files
                edited = None if edited_path is None else ScoredImage(edited_path, edited_pixels)
                source = ScoredImage(source_path, source_pixels)
                of_edit[method, seed] = ScoredOutcome(edit, method, seed, source, edited)
            of_edit[method, seed].scores[protocol, name] = (
                Why(reason, without_folders(detail or "")) if value is None else value
            )
    return {edit: list(outcomes.values()) for edit, outcomes in by_edit.items()}


def missing_scores(outcomes: Iterable[ScoredOutcome]) -> list[Missing]:
    """Return every reason for missing scores, the most frequent first."""
    by_reason: dict[str, Missing] = {}
    for outcome in outcomes:
        for reason, count in Counter(why.reason for why in outcome.whys).items():
            missing = by_reason.setdefault(reason, Missing(reason))
            missing.scores += count
            missing.outcomes += 1
            if len(missing.examples) < MAX_EXAMPLES and all(
                example.edit != outcome.edit for example, _ in missing.examples
            ):
                missing.examples.append((outcome, next(why.detail for why in outcome.whys if why.reason == reason)))
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
        """Return the number of outcomes so far."""
        return self.scored + self.partly + self.unscored


@dataclass(frozen=True, slots=True)
class Tally:
    """Per outcome of a run: its number of score rows, and how many of them lack a value."""

    run: Run
    of_row: Indices
    """For every score the number of its outcome."""
    first: Indices
    """For every outcome its first row."""
    rows: Indices
    lacking: Indices
    missing: Indices
    """Of those that lack a value, how many should have one: the score applies to the edit."""
    first_of_records: Indices

    @classmethod
    def of(cls, run: Run) -> Tally:
        """Count the scores of a run."""
        outcome = _numbered(run.scores, ("method", "edit", "seed"))
        _, first, of_row = np.unique(outcome, return_index=True, return_inverse=True)
        _, first_of_records = np.unique(_numbered(run.scores, ("protocol",), outcome), return_index=True)
        without = pc.is_null(run.scores["value"]).to_numpy(zero_copy_only=False)
        applies = pc.not_equal(run.scores["reason"], NOT_APPLICABLE).fill_null(False).to_numpy(zero_copy_only=False)
        rows, lacking, missing = (
            np.bincount(of_row[rows], minlength=first.size) for rows in (slice(None), without, without & applies)
        )
        return cls(run, of_row, first, rows, lacking, missing, first_of_records)

    def counts(self, method: str | None = None, planned: int = 0) -> ScoredCounts:
        """Return the counts of all methods, or of one."""
        mine, records = self._are(method, self.first), self._are(method, self.first_of_records)
        nothing = self.lacking == self.rows
        scored = int((mine & ~nothing & (self.missing == 0)).sum())
        unscored = int((mine & nothing).sum())
        return ScoredCounts(scored, int(mine.sum()) - scored - unscored, unscored, int(records.sum()), planned)

    def with_any(self, keys: Iterable[tuple[str, str]]) -> int:
        """Count the outcomes with a value of at least one of these scores."""
        scores = self.run.scores
        valued = pc.is_valid(scores["value"])
        any_of = pa.chunked_array([pa.array(np.zeros(scores.num_rows, np.bool_))])
        for protocol, name in keys:
            any_of = pc.or_(any_of, pc.and_(pc.equal(scores["protocol"], protocol), pc.equal(scores["name"], name)))
        has_value = pc.and_(any_of, valued).to_numpy(zero_copy_only=False).astype(np.bool_)
        return int(np.unique(self.of_row[has_value]).size)

    def edits(self, method: str) -> int:
        """Count the edits that the method has outcomes of."""
        return int(np.unique(_codes(self.run.scores["edit"])[self.first[self._are(method, self.first)]]).size)

    def incomplete(self) -> pa.Table:
        """Return the rows of all outcomes that lack at least one score, even one that does not apply."""
        return self.run.scores.filter(pa.array((self.lacking > 0)[self.of_row]))

    def _are(self, method: str | None, rows: Indices) -> NDArray[np.bool_]:
        if method is None:
            return np.ones(rows.size, np.bool_)
        return WordColumn.of(self.run.scores["method"]).are(method)[rows]


def _numbered(scores: pa.Table, columns: tuple[str, ...], start: Indices | None = None) -> Indices:
    """Assign a number to each row; rows that agree in all these columns (and in `start`) get the same number."""
    number = np.zeros(scores.num_rows, np.int64) if start is None else start
    for column in columns:
        _, code = np.unique(_codes(scores[column]), return_inverse=True)
        _, number = np.unique(number * (int(code.max(initial=0)) + 1) + code, return_inverse=True)
    return number


def _codes(column: pa.ChunkedArray) -> Indices:
    """Numbers in place of words."""
    return WordColumn.of(column).codes if pa.types.is_dictionary(column.type) else column.to_numpy()
