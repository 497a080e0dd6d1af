"""The scores of a run as columns of numbers, from which tables are made fast."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from editgauge._stats.intervals import Numbers

if TYPE_CHECKING:
    from editgauge.results import Run

Rows = NDArray[np.int64]
WORD_COLUMNS = ("protocol", "name", "method", "edit_type", "source", "edit", "reason")


@dataclass(frozen=True, slots=True)
class WordColumn:
    """A column of words as numbers that sort like the words: a million of them compare in a millisecond."""

    codes: Rows
    words: list[str]

    @classmethod
    def of(cls, column: pa.ChunkedArray) -> WordColumn:
        """The words of a column of the run; what is not there is some word or other."""
        whole = column.unify_dictionaries().combine_chunks()
        words = whole.dictionary.to_pylist()
        rank = {word: place for place, word in enumerate(sorted(words))}
        ranks = np.array([rank[word] for word in words] or [0])
        return cls(ranks[whole.indices.fill_null(0).to_numpy(zero_copy_only=False)], sorted(words))

    def are(self, word: str) -> NDArray[np.bool_]:
        """Where the column has this word."""
        code = self.words.index(word) if word in self.words else -1
        return np.equal(self.codes, code)


@dataclass(frozen=True, slots=True)
class Columns:
    """What tables need of every score, in the order of the run."""

    protocol: WordColumn
    name: WordColumn
    method: WordColumn
    edit_type: WordColumn
    source: WordColumn
    edit: WordColumn
    reason: WordColumn
    """Means nothing where there is a value."""
    value: Numbers
    """NaN where there is none: only to count them, within this room."""

    @classmethod
    def of(cls, run: Run) -> Columns:
        """Reads them."""
        words = {name: WordColumn.of(run.scores[name]) for name in WORD_COLUMNS}
        return cls(**words, value=run.scores["value"].to_numpy())

    def only(self, rows: Rows) -> Columns:
        """Some of the rows."""
        words = {name: getattr(self, name) for name in WORD_COLUMNS}
        kept = {name: WordColumn(column.codes[rows], column.words) for name, column in words.items()}
        return Columns(**kept, value=self.value[rows])

    def rows(self, protocol: str, name: str) -> Rows:
        """Where one score stands."""
        return np.flatnonzero(self.protocol.are(protocol) & self.name.are(name))

    def scored(self, protocol: str, name: str) -> Rows:
        """Where one score stands and has a value."""
        rows = self.rows(protocol, name)
        return rows[~np.isnan(self.value[rows])]
