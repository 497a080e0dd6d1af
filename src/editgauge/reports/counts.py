"""How many outcomes of a run have scores: derived from columns, so that a million outcomes are counted in a second."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from editgauge.findings.columns import WordColumn
from editgauge.reports.outcomes import NOT_APPLICABLE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from editgauge.core.run import Run

Places = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ScoredCounts:
    """How many outcomes have all scores that apply, some, or none, and how many records are still to come."""

    scored: int
    partly: int
    unscored: int
    records: int
    planned: int

    @property
    def outcomes(self) -> int:
        """All outcomes of the run so far."""
        return self.scored + self.partly + self.unscored


@dataclass(frozen=True, slots=True)
class Tally:
    """The outcomes of a run, as numbers: how many rows each has among the scores, and how many of them lack a value."""

    run: Run
    of_row: Places
    """For every score the number of its outcome."""
    first: Places
    """For every outcome its first row."""
    rows: Places
    lacking: Places
    missing: Places
    """Of those that lack a value, how many should have one: the score applies to the edit."""
    first_of_records: Places

    @classmethod
    def of(cls, run: Run) -> Tally:
        """Looks through the scores once."""
        outcome = _numbered(run.scores, ("method", "edit", "seed"))
        _, first, of_row = np.unique(outcome, return_index=True, return_inverse=True)
        _, first_of_records = np.unique(_numbered(run.scores, ("protocol",), outcome), return_index=True)
        without = pc.is_null(run.scores["value"]).to_numpy(zero_copy_only=False)
        applies = pc.not_equal(run.scores["reason"], NOT_APPLICABLE).fill_null(False).to_numpy(zero_copy_only=False)
        rows, lacking, missing = (
            np.bincount(of_row[chosen], minlength=first.size) for chosen in (slice(None), without, without & applies)
        )
        return cls(run, of_row, first, rows, lacking, missing, first_of_records)

    def counts(self, method: str | None = None, planned: int = 0) -> ScoredCounts:
        """The counts of all methods, or of one."""
        mine, records = self._are(method, self.first), self._are(method, self.first_of_records)
        nothing = self.lacking == self.rows
        scored = int((mine & ~nothing & (self.missing == 0)).sum())
        unscored = int((mine & nothing).sum())
        return ScoredCounts(scored, int(mine.sum()) - scored - unscored, unscored, int(records.sum()), planned)

    def with_any(self, keys: Iterable[tuple[str, str]]) -> int:
        """How many outcomes have a value of at least one of these scores, given by protocol and name."""
        scores = self.run.scores
        valued = pc.is_valid(scores["value"])
        any_of = pa.chunked_array([pa.array(np.zeros(scores.num_rows, np.bool_))])
        for protocol, name in keys:
            any_of = pc.or_(any_of, pc.and_(pc.equal(scores["protocol"], protocol), pc.equal(scores["name"], name)))
        chosen = pc.and_(any_of, valued).to_numpy(zero_copy_only=False).astype(np.bool_)
        return int(np.unique(self.of_row[chosen]).size)

    def edits(self, method: str) -> int:
        """How many edits the method has outcomes of."""
        return int(np.unique(_codes(self.run.scores["edit"])[self.first[self._are(method, self.first)]]).size)

    def incomplete(self) -> pa.Table:
        """The rows of all outcomes that lack at least one score, be it one that does not apply."""
        return self.run.scores.filter(pa.array((self.lacking > 0)[self.of_row]))

    def _are(self, method: str | None, rows: Places) -> NDArray[np.bool_]:
        if method is None:
            return np.ones(rows.size, np.bool_)
        return WordColumn.of(self.run.scores["method"]).are(method)[rows]


def _numbered(scores: pa.Table, columns: tuple[str, ...], start: Places | None = None) -> Places:
    """A number for every row; rows have the same one where they agree in all these columns (and in `start`)."""
    number = np.zeros(scores.num_rows, np.int64) if start is None else start
    for column in columns:
        _, code = np.unique(_codes(scores[column]), return_inverse=True)
        _, number = np.unique(number * (int(code.max(initial=0)) + 1) + code, return_inverse=True)
    return number


def _codes(column: pa.ChunkedArray) -> Places:
    """Numbers in place of words."""
    return WordColumn.of(column).codes if pa.types.is_dictionary(column.type) else column.to_numpy()
