"""Scores beside people: how far each agrees with ratings and choices, as tables and plots."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from editgauge.analysis.agree import LEVELS
from editgauge.analysis.intervals import Mean
from editgauge.reports import words
from editgauge.reports.marks import Scale
from editgauge.reports.profiles import Line, plot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markupsafe import Markup

    from editgauge.analysis.agree import Agreement
    from editgauge.analysis.matching import Matched
    from editgauge.analysis.ratings import Choice, Rating
    from editgauge.analysis.resampling import Estimate
    from editgauge.core.types import ScoreSpec

DECIMALS = 2
NO_AGREEMENT, GUESSING = 0.0, 0.5


@dataclass(frozen=True, slots=True)
class Told:
    """One number with its interval, ready to print."""

    text: str
    interval: str
    n: int
    reason: str = ""
    """Why there is no number."""


@dataclass(frozen=True, slots=True)
class Beside:
    """One score beside what people said."""

    protocol: str
    spec: ScoreSpec
    cells: list[Told]
    unscored: int


@dataclass(frozen=True, slots=True)
class PeopleTable:
    """One question to people, or their choices: a row for every score, the one that agrees most first."""

    title: str
    about: str
    columns: list[tuple[str, str]]
    """Heading and what it means."""
    rows: list[Beside]
    plot: Markup

    @property
    def reasons(self) -> list[str]:
        """Why some fields have no number, each once."""
        return list(dict.fromkeys(cell.reason for row in self.rows for cell in row.cells if cell.reason))


def people_tables(found: Agreement) -> list[PeopleTable]:
    """A table for every question that was asked, and one for the choices."""
    questions = dict.fromkeys(score.question for score in found.rated)
    tables = [_ratings(question, found) for question in questions]
    return [*tables, *([_choices(found)] if found.chosen else [])]


def left_out(found: Agreement) -> list[str]:
    """How much of what people said is of this run, in a sentence each."""
    both = (("Ratings", found.ratings), ("Choices", found.choices))
    return [f"{what}: {'; '.join(_counts(matched))}." for what, matched in both if matched]


def _counts(matched: Matched[Rating] | Matched[Choice]) -> list[str]:
    told = [f"{len(matched.found):,} of outcomes of this run"]
    if matched.strangers:
        told.append(f"{matched.strangers:,} of others, left out")
    if matched.undecided:
        told.append(f"{matched.undecided:,} without a seed where the run has several, left out")
    return told


def _ratings(question: str, found: Agreement) -> PeopleTable:
    scores = [score for score in found.rated if score.question == question]
    title = f"Ratings: {question}" if question else "Ratings"
    rows = [
        Beside(score.protocol, score.spec, [_told(score.levels[level].spearman) for level in LEVELS], score.unscored)
        for score in scores
    ]
    lines = [Line(score.spec.name, _mean(score.levels["pooled"].spearman)) for score in scores]
    about = "Spearman's correlation between a score and people's ratings; 0 is no agreement, 1 the same order."
    columns = [(words.spaced(level), meaning) for level, meaning in LEVELS.items()]
    return PeopleTable(title, about, columns, rows, _plot(lines, NO_AGREEMENT, f"{title}, pooled"))


def _choices(found: Agreement) -> PeopleTable:
    chosen = found.chosen
    assert chosen is not None  # noqa: S101 - asked for only then
    rows = [Beside(score.protocol, score.spec, [_share(score.share)], score.unscored) for score in chosen.scores]
    lines = [Line(score.spec.name, score.share) for score in chosen.scores]
    about = (
        "The share of people's choices between two outcomes that a score agrees with; 0.5 is guessing. "
        f"Equal scores count half; choices in which people found both alike are left out: {chosen.ties:,}."
    )
    return PeopleTable("Choices", about, [("share", "of choices")], rows, _plot(lines, GUESSING, "Choices"))


def _plot(lines: Sequence[Line], chance: float, title: str) -> Markup:
    """From chance to perfect agreement, and further down where a score disagrees."""
    ends = [end for line in lines if line.mean for end in (line.mean.value, line.mean.low) if end is not None]
    lowest = min([chance, *ends])
    low = chance if lowest >= chance else max(-1.0, float(int(lowest * 5 - 1)) / 5)
    return plot(lines, Scale(low, 1.0), DECIMALS, title)


def _mean(found: Estimate) -> Mean | None:
    return None if found.value is None else Mean(found.value, found.low, found.high, found.n, found.clusters)


def _told(found: Estimate) -> Told:
    if found.value is None:
        return Told("–", "", found.n, found.reason)
    return Told(words.number(found.value, DECIMALS), _interval(found), found.n)


def _share(found: Mean | None) -> Told:
    if found is None:
        return Told("–", "", 0, "no choice has both scores")
    return Told(words.number(found.value, DECIMALS), _interval(found), found.n)


def _interval(found: Estimate | Mean) -> str:
    if found.low is None or found.high is None:
        return ""
    return f"[{words.number(found.low, DECIMALS)}, {words.number(found.high, DECIMALS)}]"
