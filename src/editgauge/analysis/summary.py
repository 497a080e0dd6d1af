"""The summary of a run: a mean with its interval for every method, edit type and score, and what has none and why."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from editgauge.analysis.intervals import Mean, clustered_mean
from editgauge.core.types import EDIT_TYPES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from editgauge.core.run import Run
    from editgauge.core.types import ScoreSpec

ALL = "all"
"""The pseudo edit type under which every scored edit counts once (the pooled, count-weighted mean)."""
FEW_SOURCES = 10
"""Below this many source images a percentile interval is too narrow to be relied on; tables mark it."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One mean of a table."""

    protocol: str
    spec: ScoreSpec
    method: str
    edit_type: str
    mean: Mean | None
    """None when nothing was scored."""
    unscored: Mapping[str, int]
    """Reason to count."""

    @property
    def scored(self) -> int:
        """How many scores the mean is over."""
        return self.mean.n if self.mean else 0


def summarise(run: Run) -> list[Cell]:
    """All cells, in the run's order of protocols, scores and methods; edit types in the project's order, then `all`."""
    columns = {name: _Words.of(run.scores[name]) for name in ("protocol", "name", "method", "edit_type")}
    data = _Data(_Words.of(run.scores["source"]), _Words.of(run.scores["reason"]), run.scores["value"].to_numpy())
    rows = {
        (protocol, spec, method): np.flatnonzero(
            columns["protocol"].are(protocol) & columns["name"].are(spec.name) & columns["method"].are(method)
        )
        for protocol, entry in run.manifest.protocols.items()
        for spec in entry.scores
        for method in run.manifest.methods
    }
    cells: dict[tuple[str, ScoreSpec, str], list[Cell]] = {score: [] for score in rows}
    for edit_type in (*edit_types(run), ALL):  # outermost: cells of one type have the same sources, and share draws
        of_this_type = columns["edit_type"].are(edit_type)
        for score, its_rows in rows.items():
            chosen = its_rows if edit_type == ALL else its_rows[of_this_type[its_rows]]
            if chosen.size:
                cells[score].append(_cell(*score, edit_type, data, chosen))
    return [cell for some in cells.values() for cell in some]


def edit_types(run: Run) -> list[str]:
    """The edit types of the run, in the project's order."""
    present = set(run.scores["edit_type"].unique().to_pylist())
    return [name for name in EDIT_TYPES if name in present]


_Whole = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _Words:
    """A column of words as numbers that sort like the words: a million of them compare in a millisecond."""

    codes: _Whole
    words: list[str]

    @classmethod
    def of(cls, column: pa.ChunkedArray) -> _Words:
        whole = column.unify_dictionaries().combine_chunks()
        words = whole.dictionary.to_pylist()
        rank = {word: place for place, word in enumerate(sorted(words))}
        ranks = np.array([rank[word] for word in words] or [0])
        return cls(ranks[whole.indices.fill_null(0).to_numpy(zero_copy_only=False)], sorted(words))

    def are(self, word: str) -> NDArray[np.bool_]:
        code = self.words.index(word) if word in self.words else -1
        return np.equal(self.codes, code)


@dataclass(frozen=True, slots=True)
class _Data:
    source: _Words
    reason: _Words
    """Means nothing where there is a value."""
    value: NDArray[np.float64]
    """NaN where there is none: only to count them, within this file."""


def _cell(protocol: str, spec: ScoreSpec, method: str, edit_type: str, data: _Data, chosen: _Whole) -> Cell:
    values = data.value[chosen]
    scored = ~np.isnan(values)
    mean = clustered_mean(values[scored], data.source.codes[chosen][scored]) if scored.any() else None
    unscored = Counter(data.reason.words[code] for code in data.reason.codes[chosen][~scored])
    return Cell(protocol, spec, method, edit_type, mean, dict(sorted(unscored.items())))
