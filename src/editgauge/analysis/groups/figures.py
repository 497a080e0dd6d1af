"""The numbers that papers print at the top, each by its name: which score, of which edits, averaged how.

`figures.yaml` declares them, one row per figure; a run of that benchmark with that protocol has it, with an interval.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

import numpy as np
import yaml
from pydantic import BaseModel, ConfigDict, Field

from editgauge._stats.intervals import clustered_mean
from editgauge._stats.levels import mean_of_clusters, nested_mean
from editgauge._stats.resampling import Estimate, as_estimate, no_estimate
from editgauge._util.text import counted
from editgauge.analysis.columns import Columns
from editgauge.analysis.groups.selection import columns_of, divisions, labels_of

if TYPE_CHECKING:
    from editgauge._stats.intervals import Labels
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
        part = "" if wanted in (None, self.edits) else f" ({self.edits} of {counted(wanted or 0, 'edit')})"
        return f"{self.figure.name}{part}"

    @property
    def averages(self) -> dict[str, Mapping[str, Estimate]]:
        """What the paper prints, and then the other averages, each by how it is made."""
        return {self.figure.averaging: self.methods} | {f"instead {name}": each for name, each in self.others.items()}


@cache
def declared_figures() -> tuple[PublishedFigure, ...]:
    """All of them, in the order of the file."""
    text = resources.files(__package__ or "").joinpath("figures.yaml").read_text("utf-8")
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
