"""Does method A really beat method B? Paired differences on the same edits, clustered by source image."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Literal

import numpy as np

from editgauge.core.errors import BadInput, UnknownName
from editgauge.core.run import Run
from editgauge.core.types import ScoreSpec
from editgauge.findings.aggregations import aggregate_method
from editgauge.findings.columns import Columns
from editgauge.findings.ranks import Rank, ranks
from editgauge.findings.summary import ALL, edit_types, summarise
from editgauge.stats.bounds import Bounds
from editgauge.stats.intervals import Mean, clustered_mean, holm, sign_flip_p
from editgauge.stats.resampling import Estimate

SURE = 0.05


@dataclass(frozen=True, slots=True)
class Standing:
    """How a method stands by one score: over all its own outcomes, and beside all methods of the run."""

    bounds: Bounds | None
    """The mean at worst and at best, had everything been scored."""
    ranks: Mapping[str, Rank]
    """Its place by edit type, and over `all`; without the types of which it has no score."""
    aggregated: Mapping[str, Estimate]
    """Its scores as one number, in every way that papers use; empty without scores."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One score of two methods on the edits that both have; where an edit has several seeds, their mean counts."""

    protocol: str
    spec: ScoreSpec
    first: str
    second: str
    difference: Mean | None
    """Mean of first minus second; None when no edit has both scores."""
    first_mean: float | None
    second_mean: float | None
    p: float | None
    """Two-sided, adjusted for the number of scores compared (Holm)."""
    only_first: int
    only_second: int
    """Edits that have this score for one method only: they cannot be compared."""
    standings: tuple[Standing, Standing] | None = None
    """How the first and the second stand; None for a pair that was not taken from a run."""

    @property
    def verdict(self) -> Literal["first", "second", "neither"]:
        """Who is better, if it can be said: the adjusted p-value is below 0.05."""
        if self.difference is None or self.p is None or self.p >= SURE or self.difference.value == 0:
            return "neither"
        return "first" if (self.difference.value > 0) == self.spec.higher_is_better else "second"


def compare(run: str | Path, *, methods: tuple[str, str]) -> list[Comparison]:
    """Test whether one method beats another, score by score, on the edits that both have.

    Example:
        $ editgauge compare run --methods mine theirs
        >>> editgauge.compare("run", methods=("mine", "theirs"))

    Args:
        run: run folder.
        methods: two methods of the run.
    """
    opened = Run.open(Path(run))
    if len(methods) != 2 or methods[0] == methods[1]:
        raise BadInput(f"--methods takes two different methods, got {list(methods)}.")
    for method in methods:
        if method not in opened.manifest.methods:
            raise UnknownName("method in this run", method, opened.manifest.methods)
    first, second = (_scores(opened, method) for method in methods)
    sources = dict(zip(opened.scores["edit"].to_pylist(), opened.scores["source"].to_pylist(), strict=True))
    drafts = [
        _paired(protocol, spec, (methods[0], methods[1]), first, second, sources)
        for protocol, entry in opened.manifest.protocols.items()
        for spec in entry.scores
    ]
    adjusted = holm([draft.p for draft in drafts])
    standings = _standings(opened, methods)
    return [
        replace(draft, p=p, standings=standings[draft.protocol, draft.spec.name])
        for draft, p in zip(drafts, adjusted, strict=True)
    ]


def _standings(run: Run, methods: Sequence[str]) -> dict[tuple[str, str], tuple[Standing, Standing]]:
    """Protocol and name to how the two methods stand."""
    types = (*edit_types(run), ALL)
    places, columns = ranks(run, types), Columns.of(run)
    limits = {(c.protocol, c.spec.name, c.method): c.bounds for c in summarise(run) if c.edit_type == ALL}

    def standing(protocol: str, name: str, method: str) -> Standing:
        rows = columns.scored(protocol, name)
        rows = rows[columns.method.are(method)[rows]]
        found = {kind: places.get((protocol, name, kind, method)) for kind in types}
        return Standing(
            limits.get((protocol, name, method)),
            {kind: place for kind, place in found.items() if place},
            aggregate_method(columns.value[rows], columns.edit_type.codes[rows], columns.source.codes[rows]),
        )

    return {
        (protocol, spec.name): (standing(protocol, spec.name, methods[0]), standing(protocol, spec.name, methods[1]))
        for protocol, entry in run.manifest.protocols.items()
        for spec in entry.scores
    }


_ByEdit = dict[tuple[str, str], dict[str, float]]


def _scores(run: Run, method: str) -> _ByEdit:
    """(protocol, name) to edit to value, for what is scored: the mean over the method's seeds.

    A seed of one method has nothing to do with the same seed of another, so seeds cannot be paired; edits can.
    """
    found: dict[tuple[str, str], dict[str, list[float]]] = {}
    columns = ("method", "protocol", "name", "edit", "value")
    for owner, protocol, name, edit, value in zip(*(run.scores[c].to_pylist() for c in columns), strict=True):
        if owner == method and value is not None:
            found.setdefault((protocol, name), {}).setdefault(edit, []).append(value)
    return {score: {edit: fmean(values) for edit, values in edits.items()} for score, edits in found.items()}


def _paired(
    protocol: str, spec: ScoreSpec, methods: tuple[str, str], first: _ByEdit, second: _ByEdit, sources: dict[str, str]
) -> Comparison:
    mine, theirs = first.get((protocol, spec.name), {}), second.get((protocol, spec.name), {})
    both = [edit for edit in mine if edit in theirs]
    lonely = len(mine) - len(both), len(theirs) - len(both)
    if not both:
        return Comparison(protocol, spec, *methods, None, None, None, None, *lonely)
    a, b = np.array([mine[edit] for edit in both]), np.array([theirs[edit] for edit in both])
    clusters = np.array([sources[edit] for edit in both])
    difference, p = clustered_mean(a - b, clusters), sign_flip_p(a - b, clusters)
    return Comparison(protocol, spec, *methods, difference, float(a.mean()), float(b.mean()), p, *lonely)
