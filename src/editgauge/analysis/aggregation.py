"""Aggregate scores to one number: as papers publish it, in alternative ways, and over repeated trials.

`published_figures.yaml` declares the headline numbers of papers, one row per figure; a run of that benchmark and
protocol has them. Alternatives of one method are `count_weighted`, `by_type` and `by_source`; of all methods `pooled`,
`per_method` and `system`. A benchmark that draws several sets of tasks (trials) has a mean per trial; their deviation
says how far another draw of tasks on the same images would move a number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

import numpy as np
import yaml
from pydantic import BaseModel, ConfigDict, Field

from editgauge._stats.agreement import mean_of_clusters, nested_mean
from editgauge._stats.intervals import INAPPLICABLE_REASONS, LEVEL, Labels, Numbers, clustered_mean, student_interval
from editgauge._stats.prediction_powered import mean_by_clusters
from editgauge._stats.resampling import Estimate, as_estimate, no_estimate
from editgauge._util.text import format_count
from editgauge._util.variants import base_name, paper_name
from editgauge.analysis._groups import columns_of, divisions, labels_of
from editgauge.results import LabelColumn, Rows, ScoreColumns

if TYPE_CHECKING:
    from editgauge.results import Run
    from editgauge.types import ScoreSpec

ANY = "any"
SCORE, EDIT_TYPE, SOURCE = "score", "edit_type", "source"
"""Levels to average over, in addition to the benchmark's divisions."""


class PublishedFigure(BaseModel):
    """One number of a paper."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    benchmark: str
    """Its name in a run, without options; `any` for a protocol whose paper averages alike on every benchmark."""
    protocol: str
    """Without options and judge."""
    scores: tuple[str, ...] = Field(min_length=1)
    """Whose values are averaged together; without the name of the model that a score may carry in brackets."""
    over: tuple[str, ...] = ()
    """What counts once at each level, outermost first; without any, every value counts once."""
    where: Mapping[str, str] = {}
    """The groups that the edits must be in."""
    edits: int | None = None
    """How many edits the published set has there."""
    set: str | None = None
    """The protocol's own score of whole sets that is the same number; where that has none, there is none here."""
    paper: str

    def fits(self, benchmark: str, protocol: str) -> bool:
        """Tell whether a run of this benchmark and protocol has it."""
        return self.benchmark in (ANY, base_name(benchmark)) and self.protocol == base_name(protocol)

    @property
    def averaging(self) -> str:
        """Describe how it is averaged."""
        levels = [level.replace("_", " ") for level in self.over]
        inner = f"mean per {' and '.join(levels)}, then over them" if levels else "every value counts once"
        return f"{' and '.join(self.scores)}: {inner}"


@dataclass(frozen=True, slots=True)
class MeasuredFigure:
    """A published figure measured on a run."""

    figure: PublishedFigure
    protocol: str
    """Including options and judge."""
    spec: ScoreSpec
    """Of the first score: direction, range."""
    edits: int
    """Edits of the run that the figure covers."""
    methods: Mapping[str, Estimate]
    alternatives: Mapping[str, Mapping[str, Estimate]]
    """Other averages of the same values, by name, then by method."""

    @property
    def title(self) -> str:
        """Return the name, and how much of the published set the run covers."""
        published = self.figure.edits
        part = "" if published in (None, self.edits) else f" ({self.edits} of {format_count(published or 0, 'edit')})"
        return f"{self.figure.name}{part}"

    @property
    def averages(self) -> dict[str, Mapping[str, Estimate]]:
        """Return the published average, then the alternatives, by description."""
        return {self.figure.averaging: self.methods} | {
            f"instead {name}": estimates for name, estimates in self.alternatives.items()
        }


@cache
def declared_figures() -> tuple[PublishedFigure, ...]:
    """Return all declared figures, in file order."""
    text = resources.files(__package__ or "").joinpath("published_figures.yaml").read_text("utf-8")
    return tuple(PublishedFigure.model_validate(entry) for entry in yaml.safe_load(text))


def measured_figures(run: Run) -> list[MeasuredFigure]:
    """Return the figures of the run's benchmark and protocols."""
    return [
        measured
        for protocol in run.manifest.protocols
        for figure in declared_figures()
        if figure.fits(run.manifest.benchmark, protocol) and (measured := _measured(run, protocol, figure))
    ]


def _measured(run: Run, protocol: str, figure: PublishedFigure) -> MeasuredFigure | None:
    available = divisions(run)
    if any(value not in available.get(name, ()) for name, value in figure.where.items()):
        return None  # a run of the other language
    columns = columns_of(run, figure.where)
    names = [spec.name for spec in run.manifest.protocols[protocol].scores]
    names = [name for name in names if base_name(name) in figure.scores]
    if not names:
        return None
    rows = columns.protocol.equals(protocol) & np.any([columns.name.equals(name) for name in names], axis=0)
    columns = columns.select(np.flatnonzero(rows))
    if np.isnan(columns.value).all():  # also when there are none
        return None
    alternatives = {
        "every value once": (),
        **{f"by {level.replace('_', ' ')}": (level,) for level in (EDIT_TYPE, *available, SOURCE)},
    }
    spec = run.spec(protocol, names[0])

    def averaged(over: Sequence[str]) -> dict[str, Estimate]:
        return {method: _estimate(run, columns, method, over, spec.range) for method in run.manifest.methods}

    undefined = {
        method: reason
        for method in run.manifest.methods
        if (reason := _undefined_reason(run, protocol, figure, method))
    }
    return MeasuredFigure(
        figure=figure,
        protocol=protocol,
        spec=spec,
        edits=np.unique(columns.edit.codes).size,
        methods=averaged(figure.over) | {method: no_estimate(reason) for method, reason in undefined.items()},
        alternatives={
            name: averaged(over)
            for name, over in alternatives.items()
            if over != figure.over and not set(over) & set(figure.where)
        },
    )


def _undefined_reason(run: Run, protocol: str, figure: PublishedFigure, method: str) -> str:
    """Return why the protocol's set score is undefined for the method; else empty."""
    set_scores = [
        score for score in run.sets if (score.protocol, score.name, score.method) == (protocol, figure.set, method)
    ]
    overall = [score for score in set_scores if score.edit_type == "all"]
    return overall[0].detail if overall and overall[0].value is None else ""


def _estimate(
    run: Run, columns: ScoreColumns, method: str, over: Sequence[str], scale: tuple[float, float]
) -> Estimate:
    rows = np.flatnonzero(columns.method.equals(method) & ~np.isnan(columns.value))
    scored = columns.select(rows)
    if not rows.size:
        return no_estimate("nothing is scored")
    if not over:
        return as_estimate(clustered_mean(scored.value, scored.source.codes, scale=scale))
    if tuple(over) == (SOURCE,):
        return mean_of_clusters(scored.value, scored.source.codes, scale)
    return nested_mean(scored.value, [_labels(run, scored, level) for level in over], scored.source.codes, scale)


def _labels(run: Run, columns: ScoreColumns, level: str) -> Labels:
    fixed = {SCORE: columns.name, EDIT_TYPE: columns.edit_type, SOURCE: columns.source}
    return (fixed[level] if level in fixed else labels_of(run, columns, level)).codes


METHOD_AGGREGATIONS = {
    "count_weighted": "every scored outcome counts once, so an edit type counts as often as it has edits",
    "by_type": "every edit type counts once",
    "by_source": "every source image counts once",
}
OVERALL_AGGREGATIONS = {
    "pooled": "every scored outcome of every method counts once",
    "per_method": "every method counts once; the interval draws source images and keeps these methods",
    "system": "every method counts once; the interval takes them as a sample of methods (Student's t)",
}


def paper_aggregation(protocol: str) -> str | None:
    """Return the aggregation of a protocol's paper, for any rule set or variant; None for another one.

    >>> paper_aggregation("pixlens@released")
    'count_weighted'
    """
    base = paper_name(protocol)
    over = next(
        (figure.over[:1] for figure in declared_figures() if figure.protocol == base and figure.benchmark == ANY), None
    )
    return None if over is None else {(): "count_weighted", (EDIT_TYPE,): "by_type"}.get(over)


def aggregate_method(
    values: Numbers, edit_types: Labels, sources: Labels, scale: tuple[float, float] | None = None
) -> dict[str, Estimate]:
    """Aggregate the scores of one method in every way; empty without scores.

    >>> estimates = aggregate_method(np.array([1.0, 1.0, 0.0]), np.array(["size", "size", "color"]), np.arange(3))
    >>> {name: round(each.value, 2) for name, each in estimates.items()}
    {'count_weighted': 0.67, 'by_type': 0.5, 'by_source': 0.67}
    """
    if not values.size:
        return {}
    return {
        "count_weighted": as_estimate(clustered_mean(values, sources, scale=scale)),
        "by_type": nested_mean(values, [edit_types], sources, scale),
        "by_source": mean_of_clusters(values, sources, scale),
    }


def aggregate_columns(
    columns: ScoreColumns, protocol: str, name: str, method: str, scale: tuple[float, float] | None = None
) -> dict[str, Estimate]:
    """Aggregate one score of one method of a run."""
    rows = columns.scored(protocol, name)
    scored = columns.select(rows[columns.method.equals(method)[rows]])
    return aggregate_method(scored.value, scored.edit_type.codes, scored.source.codes, scale)


def aggregate_methods(
    values: Numbers, methods: Labels, sources: Labels, scale: tuple[float, float] | None = None
) -> dict[str, Estimate]:
    """Aggregate the scores of all methods in every way; empty without scores."""
    if not values.size:
        return {}
    names, index = np.unique(methods, return_inverse=True)
    means = np.bincount(index, weights=values) / np.bincount(index)
    return {
        "pooled": as_estimate(clustered_mean(values, sources, scale=scale)),
        "per_method": nested_mean(values, [methods], sources, scale),
        "system": as_estimate(mean_by_clusters(means, names, scale=scale)),
    }


def aggregations(run: Run, protocol: str, name: str) -> dict[str, dict[str, Estimate]]:
    """Aggregate one score of a run: method to aggregation to number, and `all` over all methods."""
    columns = run.score_columns
    rows = columns.scored(protocol, name)
    scale = run.spec(protocol, name).range
    estimates = {method: aggregate_columns(columns, protocol, name, method, scale) for method in run.manifest.methods}
    over_all = aggregate_methods(columns.value[rows], columns.method.codes[rows], columns.source.codes[rows], scale)
    return {**estimates, "all": over_all}


def aggregations_differ(estimates: Mapping[str, Estimate]) -> bool:
    """Tell whether some aggregation leaves the interval half-width of the plain mean."""
    plain = estimates.get("count_weighted") or estimates.get("pooled")
    if plain is None or plain.value is None or plain.low is None or plain.high is None:
        return False
    half_width = (plain.high - plain.low) / 2
    return any(
        estimate.value is not None and abs(estimate.value - plain.value) > half_width for estimate in estimates.values()
    )


TRIAL = "trial"
"""Key of an edit's extras with its trial."""
RELATIVE_TOLERANCE = 1e-12
"""Relative differences below this are rounding."""
TOTAL = "total"
"""The cell in which every edit type counts once."""


@dataclass(frozen=True, slots=True)
class TrialCell:
    """One score of a method at one edit type, over trials."""

    protocol: str
    name: str
    method: str
    edit_type: str
    """`total` where every edit type counts once."""
    means: tuple[float, ...]
    """The mean of every trial that has one, in the order of trials."""
    scale: tuple[float, float] = (-np.inf, np.inf)
    """Range of the score."""

    @property
    def mean(self) -> float:
        """Return the mean over trials, each counting once."""
        return float(np.mean(self.means))

    @property
    def deviation(self) -> float | None:
        """Return the standard deviation between trials; None for a single one."""
        if len(self.means) < 2:
            return None
        spread = float(np.std(self.means, ddof=1))
        return spread if spread > RELATIVE_TOLERANCE * max(map(abs, self.means)) else 0.0

    @property
    def interval(self) -> tuple[float, float] | None:
        """Return the 95% Student interval of the mean over all possible trials."""
        if self.deviation is None:
            return None
        error = self.deviation / len(self.means) ** 0.5
        low, high = student_interval(self.mean, error, 0.0, len(self.means) - 1, LEVEL)
        return max(low, self.scale[0]), min(high, self.scale[1])


def count_trials(run: Run) -> int:
    """Return the number of trials of the run's benchmark; 0 when it has none."""
    return len(set(_trials(run).values()))


def trial_cells(run: Run) -> list[TrialCell]:
    """Return every score of every method by edit type and in total; empty for fewer than two trials."""
    trials = _trials(run)
    if len(set(trials.values())) < 2:
        return []
    columns, edits = run.score_columns, LabelColumn.of(run.table["edit"])
    trial = np.array([trials.get(edit, 0) for edit in edits.labels] or [0])[edits.codes]
    return [
        TrialCell(protocol, spec.name, method, edit_type, means, spec.range)
        for protocol, entry in run.manifest.protocols.items()
        for spec in entry.scores
        for method in run.manifest.methods
        for edit_type, means in _of_score(columns, trial, columns.rows(protocol, spec.name), method)
    ]


def _trials(run: Run) -> dict[str, int]:
    """Map each edit to its trial."""
    trial_of_edit = {name: edit.get("extras", {}).get(TRIAL) for name, edit in run.edits.items()}
    return {name: trial for name, trial in trial_of_edit.items() if isinstance(trial, int)}


def _of_score(columns: ScoreColumns, trial: Rows, rows: Rows, method: str) -> Iterator[tuple[str, tuple[float, ...]]]:
    method_rows = rows[columns.method.equals(method)[rows] & (trial[rows] > 0)]
    scored_rows = method_rows[~np.isnan(columns.value[method_rows])]
    if not scored_rows.size:
        return
    kinds, numbers = np.unique(columns.edit_type.codes[scored_rows]), np.unique(trial[scored_rows])
    means = np.array([[_mean(columns, trial, scored_rows, kind, number) for number in numbers] for kind in kinds])
    for index, kind in enumerate(kinds):
        yield columns.edit_type.labels[kind], _defined(means[index])
    is_complete = ~np.isnan(means).any(axis=0)  # a trial without an edit type would have a different total
    if is_complete.any() and not _lacks_a_type(columns, method_rows, kinds):
        yield TOTAL, _defined(means[:, is_complete].mean(axis=0))


def _lacks_a_type(columns: ScoreColumns, method_rows: Rows, kinds: Rows) -> bool:
    """Tell whether an edit type that the score applies to has no score."""
    without = method_rows[~np.isin(columns.edit_type.codes[method_rows], kinds)]
    return any(
        columns.reason.labels[code] not in INAPPLICABLE_REASONS for code in np.unique(columns.reason.codes[without])
    )


def _mean(columns: ScoreColumns, trial: Rows, rows: Rows, kind: int, number: int) -> float:
    values = columns.value[rows[(columns.edit_type.codes[rows] == kind) & (trial[rows] == number)]]
    return float(values.mean()) if values.size else float("nan")


def _defined(means: Numbers) -> tuple[float, ...]:
    return tuple(means[~np.isnan(means)].tolist())
