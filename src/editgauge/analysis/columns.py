"""The scores of a run as encoded columns, for fast selection."""

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
    """A string column as integer codes that sort like the strings."""

    codes: Rows
    words: list[str]

    @classmethod
    def of(cls, column: pa.ChunkedArray) -> WordColumn:
        """Encode a string column as sorted integer codes; nulls get an arbitrary code."""
        array = column.unify_dictionaries().combine_chunks()
        words = array.dictionary.to_pylist()
        rank = {word: index for index, word in enumerate(sorted(words))}
        ranks = np.array([rank[word] for word in words] or [0])
        return cls(ranks[array.indices.fill_null(0).to_numpy(zero_copy_only=False)], sorted(words))

    def are(self, word: str) -> NDArray[np.bool_]:
        """Tell where the column equals this label."""
        code = self.words.index(word) if word in self.words else -1
        return np.equal(self.codes, code)


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns that tables need, in the order of the run."""

    protocol: WordColumn
    name: WordColumn
    method: WordColumn
    edit_type: WordColumn
    source: WordColumn
    edit: WordColumn
    reason: WordColumn
    """Arbitrary where there is a value."""
    value: Numbers
    """NaN where unscored."""

    @classmethod
    def of(cls, run: Run) -> Columns:
        """Read the columns of a run."""
        words = {name: WordColumn.of(run.scores[name]) for name in WORD_COLUMNS}
        return cls(**words, value=run.scores["value"].to_numpy())

    def only(self, rows: Rows) -> Columns:
        """Select some rows."""
        words = {name: getattr(self, name) for name in WORD_COLUMNS}
        selected = {name: WordColumn(column.codes[rows], column.words) for name, column in words.items()}
        return Columns(**selected, value=self.value[rows])

    def rows(self, protocol: str, name: str) -> Rows:
        """Return the rows of one score."""
        return np.flatnonzero(self.protocol.are(protocol) & self.name.are(name))

    def scored(self, protocol: str, name: str) -> Rows:
        """Return the rows of one score that have a value."""
        rows = self.rows(protocol, name)
        return rows[~np.isnan(self.value[rows])]
