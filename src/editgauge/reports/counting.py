"""How many outcomes of a run have scores: told from columns, so that a million outcomes are counted in a second."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

if TYPE_CHECKING:
    from editgauge.core.run import Run

Places = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Counts:
    """How many outcomes have all scores, some, or none, and how many records are still to come."""

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
    """The outcomes of a run, each by its first row among the scores and by how many of its rows have no value."""

    run: Run
    starts: Places
    rows: Places
    lacking: Places
    record_starts: Places

    @classmethod
    def of(cls, run: Run) -> Tally:
        """Looks through the scores once; the rows of an outcome stand together there."""
        scores = run.scores
        outcome = _changes(scores, ("method", "edit", "seed"))
        starts = np.flatnonzero(outcome)
        without = pc.is_null(scores["value"]).to_numpy(zero_copy_only=False).astype(np.int64)
        lacking = np.add.reduceat(without, starts) if starts.size else starts
        rows = np.diff(np.append(starts, scores.num_rows))
        return cls(run, starts, rows, lacking, np.flatnonzero(outcome | _changes(scores, ("protocol",))))

    def counts(self, method: str | None = None, planned: int = 0) -> Counts:
        """The counts of all methods, or of one."""
        mine, records = self._are(method, self.starts), self._are(method, self.record_starts)
        none, all_ = self.lacking == 0, self.lacking == self.rows
        scored, unscored = int((mine & none).sum()), int((mine & all_ & ~none).sum())
        return Counts(scored, int(mine.sum()) - scored - unscored, unscored, int(records.sum()), planned)

    def edits(self, method: str) -> int:
        """How many edits the method has outcomes of."""
        edits = self.run.scores["edit"].combine_chunks().indices.to_numpy(zero_copy_only=False)
        return int(np.unique(edits[self.starts[self._are(method, self.starts)]]).size)

    def incomplete(self) -> pa.Table:
        """The rows of all outcomes that lack at least one score."""
        chosen = np.repeat(self.lacking > 0, self.rows)
        return self.run.scores.filter(pa.array(chosen))

    def _are(self, method: str | None, starts: Places) -> NDArray[np.bool_]:
        column = self.run.scores["method"].combine_chunks()
        words = column.dictionary.to_pylist()
        codes = column.indices.to_numpy(zero_copy_only=False)[starts]
        if method is None:
            return np.ones(starts.size, np.bool_)
        return np.asarray(codes == (words.index(method) if method in words else -1), np.bool_)


def _changes(scores: pa.Table, columns: tuple[str, ...]) -> NDArray[np.bool_]:
    """Where a row differs from the row before it in one of the columns."""
    changed = np.zeros(scores.num_rows, np.bool_)
    changed[:1] = True
    for column in columns:
        whole = scores[column].combine_chunks()
        codes = (whole.indices if pa.types.is_dictionary(whole.type) else whole).to_numpy(zero_copy_only=False)
        changed[1:] |= codes[1:] != codes[:-1]
    return changed
