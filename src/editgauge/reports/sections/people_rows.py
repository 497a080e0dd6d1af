"""The fields and rows of the tables that compare scores with people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from markupsafe import Markup

from editgauge.findings.evaluators.judge_choices import SPEC as JUDGED
from editgauge.render import words
from editgauge.render.svg import AxisRange
from editgauge.reports.sections.profiles import ProfileRow, plot
from editgauge.stats.intervals import Mean

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from editgauge.core.types import ScoreSpec
    from editgauge.findings.evaluators.choice_agreement import ChosenScore
    from editgauge.findings.evaluators.ranking import RankedScore
    from editgauge.findings.evaluators.rating_agreement import RatedScore
    from editgauge.findings.evaluators.triplets import SelectedScore
    from editgauge.stats.resampling import Estimate

DECIMALS = 2


@dataclass(frozen=True, slots=True)
class PrintedEstimate:
    """One number with its interval, ready to print."""

    text: str
    interval: str
    n: int | None = None
    """Of how many; None where the number is no mean."""
    reason: str = ""
    """Why there is no number."""


@dataclass(frozen=True, slots=True)
class ScoreBesidePeople:
    """One score compared with what people said."""

    protocol: str
    spec: ScoreSpec
    cells: list[PrintedEstimate]
    unscored: int

    @property
    def has_numbers(self) -> bool:
        """Is there anything to read in its row?"""
        return any(cell.text != "–" for cell in self.cells)


@dataclass(frozen=True, slots=True)
class PeopleTable:
    """One question to people, their choices, triplets, or an order: a row for every score, the nearest first."""

    title: str
    about: str
    columns: list[tuple[str, str]]
    """Heading and what it means."""
    rows: list[ScoreBesidePeople]
    plot: Markup

    @property
    def with_numbers(self) -> list[ScoreBesidePeople]:
        """The rows that have a number."""
        return [row for row in self.rows if row.has_numbers]

    @property
    def without_numbers(self) -> list[str]:
        """The scores that have none, which need no row."""
        return [f"{row.protocol}/{row.spec.name}" for row in self.rows if not row.has_numbers]

    @property
    def reasons(self) -> list[str]:
        """Why some fields have no number, each once."""
        return list(dict.fromkeys(cell.reason for row in self.rows for cell in row.cells if cell.reason))


def place(score: RankedScore, method: str) -> PrintedEstimate:
    """The place that a score gives a method."""
    rank = score.ranks.get(method)
    return PrintedEstimate("–", "") if rank is None else PrintedEstimate(str(rank.value), f"[{rank.low}–{rank.high}]")


def types_of(scores: Sequence[ChosenScore | SelectedScore]) -> list[str]:
    """The edit types, where there are several."""
    types = list(dict.fromkeys(name for score in scores for name in score.by_type))
    return types if len(types) > 1 else []


def by_type(score: ChosenScore | SelectedScore, types: Sequence[str]) -> list[PrintedEstimate]:
    """Its share at each edit type."""
    return [share(score.by_type.get(name), "") for name in types]


def p_value(score: ChosenScore | SelectedScore, adjusted: Mapping[str, float | None]) -> PrintedEstimate:
    """Whether it is as good as the first, after Holm."""
    p = adjusted.get(f"{score.protocol}/{score.spec.name}")
    return PrintedEstimate("–", "") if p is None else PrintedEstimate("< 0.001" if p < 0.001 else f"{p:.3f}", "")


def lines_of(
    scores: Sequence[tuple[RatedScore | ChosenScore | SelectedScore | RankedScore, Mean | None]],
) -> list[ProfileRow]:
    """A row of the plot for each; the protocol is added where the name alone is ambiguous."""
    names = [score.spec.name for score, _ in scores]
    return [
        ProfileRow(
            score.spec.name if names.count(score.spec.name) == 1 and score.spec != JUDGED else _with_protocol(score),
            mean,
        )
        for score, mean in scores
    ]


def _with_protocol(score: RatedScore | ChosenScore | SelectedScore | RankedScore) -> str:
    return score.protocol if score.spec == JUDGED else f"{score.protocol}: {score.spec.name}"


def drawn(lines: Sequence[ProfileRow], chance: float, title: str) -> Markup:
    """From chance to perfect agreement, and further down where a score disagrees; nothing without any number."""
    if not any(line.mean for line in lines):
        return Markup()
    ends = [end for line in lines if line.mean for end in (line.mean.value, line.mean.low) if end is not None]
    lowest = min([chance, *ends])
    low = chance if lowest >= chance else max(-1.0, float(int(lowest * 5 - 1)) / 5)
    return plot(lines, AxisRange(low, 1.0), DECIMALS, title)


def as_mean(estimate: Estimate) -> Mean | None:
    """An estimate as a mean that can be drawn; None without a value."""
    return (
        None
        if estimate.value is None
        else Mean(estimate.value, estimate.low, estimate.high, estimate.n, estimate.clusters)
    )


def told(estimate: Estimate) -> PrintedEstimate:
    """A correlation, or why there is none."""
    if estimate.value is None:
        return PrintedEstimate("–", "", estimate.n, estimate.reason)
    return PrintedEstimate(words.number(estimate.value, DECIMALS), interval(estimate), estimate.n)


def share(mean: Mean | None, reason: str) -> PrintedEstimate:
    """A share, or why there is none."""
    if mean is None:
        return PrintedEstimate("–", "", 0, reason)
    return PrintedEstimate(words.number(mean.value, DECIMALS), interval(mean), mean.n)


def interval(estimate: Estimate | Mean) -> str:
    """From where to where; empty without an interval."""
    if estimate.low is None or estimate.high is None:
        return ""
    return f"[{words.number(estimate.low, DECIMALS)}, {words.number(estimate.high, DECIMALS)}]"
