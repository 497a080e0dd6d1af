"""The scores of a run as numpy columns: the view that analysis computes on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from editgauge.results._records import OutcomeKey

Rows = NDArray[np.int64]
LABEL_COLUMNS = ("protocol", "name", "method", "edit_type", "source", "edit", "reason")


@dataclass(frozen=True, slots=True)
class LabelColumn:
    """A text column as integer codes that sort like the texts."""

    codes: Rows
    labels: list[str]

    @classmethod
    def of(cls, column: pa.ChunkedArray) -> Self:
        """Encode a dictionary column; nulls get an arbitrary code."""
        array = column.unify_dictionaries().combine_chunks()
        texts = array.dictionary.to_pylist()
        labels = sorted(texts)
        rank = {label: index for index, label in enumerate(labels)}
        ranks = np.array([rank[text] for text in texts] or [0])
        return cls(ranks[array.indices.fill_null(0).to_numpy(zero_copy_only=False)], labels)

    def equals(self, label: str) -> NDArray[np.bool_]:
        """Tell for every row whether it has this label."""
        code = self.labels.index(label) if label in self.labels else -1
        return np.equal(self.codes, code)

    def select(self, rows: Rows) -> LabelColumn:
        """Return some rows."""
        return LabelColumn(self.codes[rows], self.labels)

    def decode(self, rows: Rows) -> list[str]:
        """Return the labels of some rows."""
        return [self.labels[code] for code in self.codes[rows]]


@dataclass(frozen=True)
class ScoreColumns:
    """Scores of a run, one row per score, in the order of `Run.table`."""

    protocol: LabelColumn
    name: LabelColumn
    method: LabelColumn
    edit_type: LabelColumn
    source: LabelColumn
    edit: LabelColumn
    reason: LabelColumn
    """Arbitrary where there is a value."""
    seed: Rows
    value: NDArray[np.float64]
    """NaN where unscored."""

    @classmethod
    def of(cls, table: pa.Table) -> ScoreColumns:
        """Convert `Run.table`."""
        labels = {name: LabelColumn.of(table[name]) for name in LABEL_COLUMNS}
        return cls(**labels, seed=table["seed"].to_numpy(), value=table["value"].to_numpy())

    def select(self, rows: Rows) -> ScoreColumns:
        """Return some rows."""
        labels = {name: getattr(self, name).select(rows) for name in LABEL_COLUMNS}
        return ScoreColumns(**labels, seed=self.seed[rows], value=self.value[rows])

    def rows(self, protocol: str, name: str) -> Rows:
        """Return the rows of one score."""
        return np.flatnonzero(self.protocol.equals(protocol) & self.name.equals(name))

    def scored(self, protocol: str, name: str) -> Rows:
        """Return the rows of one score that have a value."""
        rows = self.rows(protocol, name)
        return rows[~np.isnan(self.value[rows])]

    def values(self, protocol: str, name: str) -> dict[OutcomeKey, float]:
        """Map each scored outcome to its value of one score."""
        rows = self.scored(protocol, name)
        return dict(zip(self.keys(rows), self.value[rows].tolist(), strict=True))

    def reasons(self, protocol: str, name: str) -> dict[OutcomeKey, str]:
        """Map each unscored outcome to the reason why it lacks one score."""
        rows = self.rows(protocol, name)
        rows = rows[np.isnan(self.value[rows])]
        return dict(zip(self.keys(rows), self.reason.decode(rows), strict=True))

    def keys(self, rows: Rows) -> list[OutcomeKey]:
        """Return the outcome of each row."""
        columns = self.edit.decode(rows), self.method.decode(rows), self.seed[rows].tolist()
        return list(map(OutcomeKey, *columns))

    @cached_property
    def seeds(self) -> dict[tuple[str, str], list[int]]:
        """Edit and method to the seeds of their outcomes, in order of appearance."""
        codes = np.stack([self.edit.codes, self.method.codes, self.seed])
        _, first = np.unique(codes, axis=1, return_index=True)
        seeds: dict[tuple[str, str], list[int]] = {}
        for edit, method, seed in self.keys(np.sort(first)):
            seeds.setdefault((edit, method), []).append(seed)
        return seeds

    @cached_property
    def sources(self) -> dict[str, str]:
        """Edit to the name of its source image."""
        return self._by_edit(self.source)

    @cached_property
    def edit_types(self) -> dict[str, str]:
        """Edit to its type."""
        return self._by_edit(self.edit_type)

    def sources_of(self, keys: Iterable[OutcomeKey]) -> NDArray[np.str_]:
        """Return the source image of each outcome."""
        return np.array([self.sources[key.edit] for key in keys], dtype=np.str_)

    def edit_types_of(self, keys: Iterable[OutcomeKey]) -> NDArray[np.str_]:
        """Return the edit type of each outcome."""
        return np.array([self.edit_types[key.edit] for key in keys], dtype=np.str_)

    def _by_edit(self, column: LabelColumn) -> dict[str, str]:
        _, first = np.unique(self.edit.codes, return_index=True)
        rows = np.sort(first)
        return dict(zip(self.edit.decode(rows), column.decode(rows), strict=True))
