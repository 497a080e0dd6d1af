"""The numbers that papers print at the top, each by its name: which score, of which edits, averaged how.

`published_figures.yaml` declares them, one row per figure; a run of that benchmark and protocol has it.
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
from editgauge.analysis._groups import columns_of, divisions, labels_of
from editgauge.analysis.columns import Columns, Rows, WordColumn

if TYPE_CHECKING:
    from editgauge.results import Run
    from editgauge.types import ScoreSpec

ANY = "any"
SCORE, EDIT_TYPE, SOURCE = "score", "edit_type", "source"
"""What can be averaged over besides the benchmark's divisions."""


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
        """Does a run of this benchmark and protocol have it?"""
        return self.benchmark in (ANY, benchmark.partition("[")[0]) and self.protocol == protocol.partition("[")[0]

    @property
    def averaging(self) -> str:
        """How it is averaged, in words."""
        levels = [each.replace("_", " ") for each in self.over]
        inner = f"mean per {' and '.join(levels)}, then over them" if levels else "every value counts once"
        return f"{' and '.join(self.scores)}: {inner}"


@dataclass(frozen=True, slots=True)
class MeasuredFigure:
    """A figure of a run."""

    figure: PublishedFigure
    protocol: str
    """With its options and judge."""
    spec: ScoreSpec
    """Of the first score: direction, range."""
    edits: int
    """Edits of the run that belong to it."""
    methods: Mapping[str, Estimate]
    others: Mapping[str, Mapping[str, Estimate]]
    """Other averages of the same values, by name, then by method."""

    @property
    def title(self) -> str:
        """Its name, and what the run lacks of the published set."""
        wanted = self.figure.edits
        part = "" if wanted in (None, self.edits) else f" ({self.edits} of {format_count(wanted or 0, 'edit')})"
        return f"{self.figure.name}{part}"

    @property
    def averages(self) -> dict[str, Mapping[str, Estimate]]:
        """What the paper prints, and then the other averages, each by how it is made."""
        return {self.figure.averaging: self.methods} | {f"instead {name}": each for name, each in self.others.items()}


@cache
def declared_figures() -> tuple[PublishedFigure, ...]:
    """All of them, in the order of the file."""
    text = resources.files(__package__ or "").joinpath("published_figures.yaml").read_text("utf-8")
    return tuple(PublishedFigure.model_validate(each) for each in yaml.safe_load(text))


def measured_figures(run: Run) -> list[MeasuredFigure]:
    """The figures that the run's benchmark and protocols have."""
    return [
        measured
        for protocol in run.manifest.protocols
        for figure in declared_figures()
        if figure.fits(run.manifest.benchmark, protocol) and (measured := _measured(run, protocol, figure))
    ]


def _measured(run: Run, protocol: str, figure: PublishedFigure) -> MeasuredFigure | None:
    known = divisions(run)
    if any(value not in known.get(name, ()) for name, value in figure.where.items()):
        return None  # a run of the other language
    columns = columns_of(run, figure.where)
    names = [spec.name for spec in run.manifest.protocols[protocol].scores]
    names = [name for name in names if name.partition("[")[0] in figure.scores]
    if not names:
        return None
    rows = columns.protocol.are(protocol) & np.any([columns.name.are(name) for name in names], axis=0)
    columns = columns.only(np.flatnonzero(rows))
    if np.isnan(columns.value).all():  # also when there are none
        return None
    others = {
        "every value once": (),
        **{f"by {each.replace('_', ' ')}": (each,) for each in (EDIT_TYPE, *known, SOURCE)},
    }
    spec = run.spec(protocol, names[0])

    def averaged(over: Sequence[str]) -> dict[str, Estimate]:
        return {method: _estimate(run, columns, method, over, spec.range) for method in run.manifest.methods}

    none = {method: why for method in run.manifest.methods if (why := _why_none(run, protocol, figure, method))}
    return MeasuredFigure(
        figure=figure,
        protocol=protocol,
        spec=spec,
        edits=np.unique(columns.edit.codes).size,
        methods=averaged(figure.over) | {method: no_estimate(why) for method, why in none.items()},
        others={
            name: averaged(over)
            for name, over in others.items()
            if over != figure.over and not set(over) & set(figure.where)
        },
    )


def _why_none(run: Run, protocol: str, figure: PublishedFigure, method: str) -> str:
    """Why the protocol itself gives no such number for the method; empty when it does, or has none of its own."""
    sets = [each for each in run.sets if (each.protocol, each.name, each.method) == (protocol, figure.set, method)]
    whole = [each for each in sets if each.edit_type == "all"]
    return whole[0].detail if whole and whole[0].value is None else ""


def _estimate(run: Run, columns: Columns, method: str, over: Sequence[str], scale: tuple[float, float]) -> Estimate:
    rows = np.flatnonzero(columns.method.are(method) & ~np.isnan(columns.value))
    own = columns.only(rows)
    if not rows.size:
        return no_estimate("nothing is scored")
    if not over:
        return as_estimate(clustered_mean(own.value, own.source.codes, scale=scale))
    if tuple(over) == (SOURCE,):
        return mean_of_clusters(own.value, own.source.codes, scale)
    return nested_mean(own.value, [_labels(run, own, each) for each in over], own.source.codes, scale)


def _labels(run: Run, columns: Columns, level: str) -> Labels:
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
    """The aggregation in the paper of a protocol, whichever its rule set or variant; None when it chose another.

    >>> chosen_by_paper("pixlens@released")
    'count_weighted'
    """
    base = protocol.partition("[")[0].partition("@")[0]
    over = next((each.over[:1] for each in declared_figures() if each.protocol == base and each.benchmark == ANY), None)
    return None if over is None else {(): "count_weighted", (EDIT_TYPE,): "by_type"}.get(over)


def aggregate_method(
    values: Numbers, edit_types: Labels, sources: Labels, scale: tuple[float, float] | None = None
) -> dict[str, Estimate]:
    """The scores of one method as one number, in every way; empty without scores.

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
    columns: Columns, protocol: str, name: str, method: str, scale: tuple[float, float] | None = None
) -> dict[str, Estimate]:
    """The same for one score of one method of a run."""
    rows = columns.scored(protocol, name)
    own = columns.only(rows[columns.method.are(method)[rows]])
    return aggregate_method(own.value, own.edit_type.codes, own.source.codes, scale)


def aggregate_methods(values: Numbers, methods: Labels, sources: Labels) -> dict[str, Estimate]:
    """The scores of all methods as one number, in every way; empty without scores."""
    if not values.size:
        return {}
    names, index = np.unique(methods, return_inverse=True)
    means = np.bincount(index, weights=values) / np.bincount(index)
    return {
        "pooled": as_estimate(clustered_mean(values, sources)),
        "per_method": nested_mean(values, [methods], sources),
        "system": as_estimate(mean_by_clusters(means, names)),
    }


def aggregations(run: Run, protocol: str, name: str) -> dict[str, dict[str, Estimate]]:
    """One score of a run in every way: method to aggregation to number, and `all` for those over all methods."""
    columns = Columns.of(run)
    rows = columns.scored(protocol, name)
    estimates = {method: aggregate_columns(columns, protocol, name, method) for method in run.manifest.methods}
    over_all = aggregate_methods(columns.value[rows], columns.method.codes[rows], columns.source.codes[rows])
    return {**estimates, "all": over_all}


def aggregations_differ(estimates: Mapping[str, Estimate]) -> bool:
    """Whether a way of aggregating moves the number further than the doubt of the plain mean reaches."""
    plain = estimates.get("count_weighted") or estimates.get("pooled")
    if plain is None or plain.value is None or plain.low is None or plain.high is None:
        return False
    half_width = (plain.high - plain.low) / 2
    return any(each.value is not None and abs(each.value - plain.value) > half_width for each in estimates.values())


TRIAL = "trial"
"""The key of an edit's extras that says to which trial it belongs."""
DUST = 1e-12
"""Means that differ by a smaller share differ by rounding only."""
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

    @property
    def mean(self) -> float:
        """Over trials, each of which counts once."""
        return float(np.mean(self.means))

    @property
    def deviation(self) -> float | None:
        """Standard deviation between trials; none of a single one."""
        if len(self.means) < 2:
            return None
        spread = float(np.std(self.means, ddof=1))
        return spread if spread > DUST * max(map(abs, self.means)) else 0.0

    @property
    def interval(self) -> tuple[float, float] | None:
        """Where the mean over all possible trials lies with 95% confidence, by Student's t."""
        if self.deviation is None:
            return None
        return student_interval(self.mean, self.deviation / len(self.means) ** 0.5, 0.0, len(self.means) - 1, LEVEL)


def count_trials(run: Run) -> int:
    """How many sets of tasks the run's benchmark drew; 0 when it does not say."""
    return len(set(_trials(run).values()))


def trial_cells(run: Run) -> list[TrialCell]:
    """Every score of every method by edit type, and in total; nothing for a run of fewer than two trials."""
    trials = _trials(run)
    if len(set(trials.values())) < 2:
        return []
    columns, edits = Columns.of(run), WordColumn.of(run.scores["edit"])
    trial = np.array([trials.get(edit, 0) for edit in edits.words] or [0])[edits.codes]
    return [
        TrialCell(protocol, spec.name, method, edit_type, means)
        for protocol, entry in run.manifest.protocols.items()
        for spec in entry.scores
        for method in run.manifest.methods
        for edit_type, means in _of_score(columns, trial, columns.rows(protocol, spec.name), method)
    ]


def _trials(run: Run) -> dict[str, int]:
    """Edit to the trial it belongs to."""
    trial_of_edit = {name: edit.get("extras", {}).get(TRIAL) for name, edit in run.edits.items()}
    return {name: trial for name, trial in trial_of_edit.items() if isinstance(trial, int)}


def _of_score(columns: Columns, trial: Rows, rows: Rows, method: str) -> Iterator[tuple[str, tuple[float, ...]]]:
    own_rows = rows[columns.method.are(method)[rows] & (trial[rows] > 0)]
    mine = own_rows[~np.isnan(columns.value[own_rows])]
    if not mine.size:
        return
    kinds, numbers = np.unique(columns.edit_type.codes[mine]), np.unique(trial[mine])
    means = np.array([[_mean(columns, trial, mine, kind, number) for number in numbers] for kind in kinds])
    for place, kind in enumerate(kinds):
        yield columns.edit_type.words[kind], _known(means[place])
    whole = ~np.isnan(means).any(axis=0)  # a trial without a type of edit would be another total
    if whole.any() and not _lacks_a_type(columns, own_rows, kinds):
        yield TOTAL, _known(means[:, whole].mean(axis=0))


def _lacks_a_type(columns: Columns, own_rows: Rows, kinds: Rows) -> bool:
    """Is there a type of edit that should have this score and has none, for lack of a model or of a detection?"""
    without = own_rows[~np.isin(columns.edit_type.codes[own_rows], kinds)]
    return any(
        columns.reason.words[code] not in INAPPLICABLE_REASONS for code in np.unique(columns.reason.codes[without])
    )


def _mean(columns: Columns, trial: Rows, rows: Rows, kind: int, number: int) -> float:
    values = columns.value[rows[(columns.edit_type.codes[rows] == kind) & (trial[rows] == number)]]
    return float(values.mean()) if values.size else float("nan")


def _known(means: Numbers) -> tuple[float, ...]:
    return tuple(means[~np.isnan(means)].tolist())
