"""The numbers that an evaluator gives the probes: read from a run, or asked of any function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from editgauge._stats.intervals import Numbers
from editgauge._util.images import Pixels, read_image, resize_image
from editgauge.audits.cards.measures import auroc
from editgauge.audits.probes.probes import OUTCOMES, Probe
from editgauge.benchmarks import open_benchmark
from editgauge.errors import UnscorableError
from editgauge.types import Edit, ScoreSpec

if TYPE_CHECKING:
    from editgauge.audits.cards.sheet import Sheet
    from editgauge.results import Run

VERDICT, PASS = "edit", 0.5
"""The score that says whether the edit was carried out, and from which value on it says yes."""
Function = Callable[[Pixels, Pixels, Edit], float | None]
"""Of source image, edited image and edit; None for no answer."""


@dataclass(frozen=True, slots=True, eq=False)
class ProbeScores:
    """One score of every probe of a sheet."""

    protocol: str
    spec: ScoreSpec
    values: Numbers
    """NaN where there is none."""
    reasons: Sequence[str] = ()
    """Why there is none, probe by probe; empty where there is one."""
    mark: float | None = None
    """Its own pass mark, where it has one."""

    @property
    def label(self) -> str:
        """The score's name among those of other protocols."""
        return f"{self.protocol}/{self.spec.name}"

    @property
    def sign(self) -> float:
        """1 where higher values are better, else -1."""
        return 1.0 if self.spec.higher_is_better else -1.0

    @property
    def turned(self) -> Numbers:
        """The values with their sign changed where lower is better: more is better now."""
        return self.sign * self.values


def measured_in(run: Run, probes: Sequence[Probe]) -> list[ProbeScores]:
    """Every score of a run over the probes, in their order."""
    index_of = {probe.id: number for number, probe in enumerate(probes)}
    specs = {(name, spec.name): spec for name, entry in run.manifest.protocols.items() for spec in entry.scores}
    values = {key: np.full(len(probes), np.nan) for key in specs}
    reasons = {key: ["missing_outcome"] * len(probes) for key in specs}
    columns = ("protocol", "name", "edit", "value", "reason")
    for protocol, name, edit, value, reason in zip(
        *(run.scores[column].to_pylist() for column in columns), strict=True
    ):
        if edit in index_of and (protocol, name) in specs:
            reasons[protocol, name][index_of[edit]] = reason or ""
            values[protocol, name][index_of[edit]] = np.nan if value is None else value
    return [
        ProbeScores(protocol, spec, values[protocol, name], reasons[protocol, name], PASS if name == VERDICT else None)
        for (protocol, name), spec in specs.items()
    ]


def headlines_of(scores: Sequence[ProbeScores], sheet: Sheet) -> tuple[tuple[str, str], ...]:
    """For each protocol its verdict, or else the score that tells best on the tuning photographs what was done."""

    def separation(score: ProbeScores) -> float:
        return auroc(np.where(sheet.tuning, score.turned, np.nan), sheet.done, sheet.photos).value or 0.0

    names = []
    for protocol in dict.fromkeys(score.protocol for score in scores):
        mine = [score for score in scores if score.protocol == protocol]
        verdicts = [score for score in mine if score.spec.name == VERDICT]
        names.append((protocol, (verdicts or [max(mine, key=separation)])[0].spec.name))
    return tuple(names)


def measured_by(
    function: Function, folder: str | Path, probes: Sequence[Probe], spec: ScoreSpec, mark: float | None = None
) -> ProbeScores:
    """Score every probe with a function; `UnscorableError`, None and non-finite values count as unscored.

    Args:
        function: takes the source image, the edited image in the same size, and the edit.
        folder: where the probes lie.
        probes: which of them to ask.
        spec: what the number is called, and whether more is better.
        mark: from which value on it says that the edit was carried out, if it says so at all.

    """
    edits = {edit.id: edit for edit in open_benchmark(Path(folder)).edits}
    values, reasons = np.full(len(probes), np.nan), [""] * len(probes)
    for index, probe in enumerate(probes):
        source = read_image(edits[probe.id].source.path)
        edited = read_image(Path(folder) / OUTCOMES / f"{probe.id}.png")
        try:
            value = function(source, resize_image(edited, source.shape[1], source.shape[0]), edits[probe.id])
        except UnscorableError as unable:
            value, reasons[index] = None, unable.reason
        if value is None:
            reasons[index] = reasons[index] or "not_applicable"
        elif not np.isfinite(value):
            reasons[index] = "crashed"
        else:
            values[index] = value
    return ProbeScores("function", spec, values, reasons, mark)
