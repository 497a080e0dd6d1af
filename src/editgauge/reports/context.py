"""What a section of the report may show: the run, its summary, its outcomes; and the templates to show them with."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from editgauge.analysis.intervals import LEVEL, RESAMPLES
from editgauge.analysis.ranks import Rank, ranks
from editgauge.analysis.summary import ALL, FEW_SOURCES, Cell, edit_types, summarise
from editgauge.reports import words
from editgauge.reports.outcomes import ScoredOutcome, collect
from editgauge.reports.tables import ScoreTable, headlines, score_tables

if TYPE_CHECKING:
    from collections.abc import Sequence

    from editgauge.analysis.agree import Agreement
    from editgauge.core.run import Run


@dataclass(frozen=True, slots=True)
class Counts:
    """How many outcomes have all scores, some, or none, and how many records are still to come."""

    scored: int
    partly: int
    unscored: int
    records: int
    planned: int

    @property
    def outcomes(self) -> int:
        """All outcomes of the run so far."""
        return self.scored + self.partly + self.unscored

    @classmethod
    def of(cls, outcomes: Sequence[ScoredOutcome], planned: int) -> Counts:
        """Counts them."""
        found = [outcome.status for outcome in outcomes]
        each = (found.count("scored"), found.count("partly scored"), found.count("unscored"))
        return cls(*each, sum(len(outcome.protocols) for outcome in outcomes), planned)


@dataclass(frozen=True)
class Context:
    """A run as a report sees it. Everything is computed once, when it is first asked for."""

    run: Run
    gallery_note: str = ""
    """What a reader of the gallery should know first."""
    agreement: Agreement | None = None
    """How far the scores agree with people, when it is known what people said."""

    @cached_property
    def methods(self) -> list[str]:
        """The methods, in the run's order."""
        return list(self.run.manifest.methods)

    @cached_property
    def edit_types(self) -> list[str]:
        """The edit types that occur, in the project's order."""
        return edit_types(self.run)

    @cached_property
    def cells(self) -> list[Cell]:
        """Every mean with its interval, by score, method and edit type."""
        return summarise(self.run)

    @cached_property
    def headlines(self) -> list[tuple[str, str]]:
        """The (protocol, score) pairs that tell most at a glance."""
        return headlines(cell for cell in self.cells if cell.edit_type == ALL)

    @cached_property
    def tables(self) -> list[ScoreTable]:
        """A table for every score, headline scores first."""
        return score_tables(self.cells, self.methods, self.edit_types)

    @cached_property
    def titles(self) -> dict[tuple[str, str], str]:
        """What every score is called in this report, by protocol and name."""
        return {(table.protocol, table.spec.name): table.title for table in self.tables}

    @cached_property
    def ranks(self) -> dict[tuple[str, str, str], Rank]:
        """The place of every method over all edits, by protocol, score and method."""
        return {(protocol, name, method): rank for (protocol, name, _, method), rank in ranks(self.run).items()}

    @cached_property
    def by_edit(self) -> dict[str, list[ScoredOutcome]]:
        """The outcomes of every edit, edits in the benchmark's order."""
        return collect(self.run)

    @cached_property
    def outcomes(self) -> list[ScoredOutcome]:
        """All outcomes."""
        return [outcome for group in self.by_edit.values() for outcome in group]

    @cached_property
    def counts(self) -> Counts:
        """How many outcomes have scores."""
        return Counts.of(self.outcomes, self.run.planned)

    def counts_of(self, method: str) -> Counts:
        """The same for one method."""
        return Counts.of([outcome for outcome in self.outcomes if outcome.method == method], 0)

    def render(self, template: str, **more: Any) -> Markup:
        """One of the report's own templates. Every text of the run is escaped by the template engine."""
        shown = {"context": self, "manifest": self.run.manifest, "methods": self.methods, "tables": self.tables}
        return render(template, **shown, **more)


def render(template: str, **shown: Any) -> Markup:
    """One of the report's own templates, which needs no run."""
    return Markup(_TEMPLATES.get_template(template).render(**shown))  # noqa: S704 - escaped by the template


def _templates() -> Environment:
    environment = Environment(
        loader=PackageLoader(__package__ or ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"spaced": words.spaced, "plain": words.plain, "meaning": words.meaning}
    environment.filters |= {"without_folders": words.without_folders}
    environment.globals |= {"ALL": ALL, "FEW_SOURCES": FEW_SOURCES, "LEVEL": LEVEL, "RESAMPLES": RESAMPLES}
    environment.globals |= {"counted": words.counted}
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "ensure_ascii": False}
    return environment


_TEMPLATES = _templates()
