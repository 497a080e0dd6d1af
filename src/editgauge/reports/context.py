"""The data that sections of a report share: the run, its summary and its outcomes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from random import Random
from typing import TYPE_CHECKING, Any

from jinja2 import Environment
from markupsafe import Markup, escape

from editgauge._render import text as words
from editgauge._render.text import open_templates
from editgauge._stats.intervals import LEVEL
from editgauge._stats.pairwise import Rank
from editgauge._util.files import write_bytes
from editgauge._util.text import format_count
from editgauge.analysis.headline import Headline, make_headline
from editgauge.analysis.significance import TEST_DESCRIPTION, RunTests
from editgauge.analysis.summary import (
    ALL,
    FEW_SOURCES,
    Cell,
    ScoreKey,
    answers,
    edit_types,
    headlines,
    summarize,
)
from editgauge.errors import BadRunError
from editgauge.reports._outcomes import ScoredCounts, ScoredOutcome, Tally, has_verdicts, read_outcomes
from editgauge.reports._score_tables import ScoreTable, score_tables
from editgauge.reports.pages import frame
from editgauge.types import QUESTIONS, Question

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from editgauge.analysis.agree import Agreement
    from editgauge.results import Run


MAX_OUTCOMES, SAMPLE_SIZE = 100_000, 5_000
"""With more outcomes than the first, the gallery shows a sample of this many edits, so that the page opens quickly."""


@dataclass(frozen=True)
class Context:
    """A run with everything that a report shows, computed on first use."""

    run: Run
    gallery_note: str = ""
    """A note above the gallery."""
    agreement: Agreement | None = None
    """Agreement of the scores with people, if ratings or choices were given."""

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
        return summarize(self.run)

    @cached_property
    def interval_methods(self) -> list[str]:
        """Names of the methods that computed the intervals of the means."""
        return sorted({cell.mean.method for cell in self.cells if cell.mean and cell.mean.method})

    @cached_property
    def headlines(self) -> list[ScoreKey]:
        """The primary scores, by protocol and name."""
        return headlines(cell for cell in self.cells if cell.edit_type == ALL)

    @cached_property
    def answers(self) -> dict[Question, list[ScoreKey]]:
        """The scores that answer each question, the primary one first."""
        return answers(cell for cell in self.cells if cell.edit_type == ALL)

    @cached_property
    def headline(self) -> Headline:
        """The headline of the run."""
        return make_headline(self.cells, self.verdicts)

    @property
    def untouched(self) -> frozenset[str]:
        """The methods that return every source unchanged."""
        return self.verdicts.untouched

    @cached_property
    def tables(self) -> list[ScoreTable]:
        """A table for every score, headline scores first."""
        return score_tables(self.cells, self.methods, self.edit_types)

    def table(self, key: ScoreKey) -> ScoreTable:
        """Return the table of one score."""
        return next(table for table in self.tables if (table.protocol, table.spec.name) == key)

    @cached_property
    def titles(self) -> dict[tuple[str, str], str]:
        """The title of every score, by protocol and name."""
        return {(table.protocol, table.spec.name): table.title for table in self.tables}

    @cached_property
    def verdicts(self) -> RunTests:
        """Which methods differ significantly, for all sections."""
        return RunTests(self.run)

    @cached_property
    def ranks(self) -> dict[tuple[str, str, str], Rank]:
        """The rank of every method over all edits, by protocol, score and method."""
        return {(protocol, name, method): rank for (protocol, name, _, method), rank in self.verdicts.ranks().items()}

    def fragile(self, protocol: str, name: str, method: str) -> bool:
        """Return whether missing scores could make a difference of this method insignificant."""
        verdicts = self.verdicts.of(protocol, name)
        return verdicts is not None and method in verdicts.fragile

    @cached_property
    def sample(self) -> frozenset[str] | None:
        """The edits of the gallery, a random sample if there are very many; None for all."""
        if self.counts.outcomes <= MAX_OUTCOMES or len(self.run.edits) <= SAMPLE_SIZE:
            return None
        indices = set(Random(0).sample(range(len(self.run.edits)), SAMPLE_SIZE))  # noqa: S311 - no secret
        return frozenset(edit for index, edit in enumerate(self.run.edits) if index in indices)

    @property
    def sample_note(self) -> str:
        """A note that the gallery is a sample; empty if it is not."""
        if self.sample is None:
            return ""
        sample, total = f"{len(self.sample):,}", f"{len(self.run.edits):,}"
        return f"A sample of {sample} of {total} edits, drawn at random; all numbers elsewhere are of all edits."

    @cached_property
    def by_edit(self) -> dict[str, list[ScoredOutcome]]:
        """The outcomes of every edit of the gallery, in the benchmark's order."""
        try:
            return read_outcomes(self.run, self.sample)
        except BadRunError:  # damaged evidence, which the page reports
            return read_outcomes(self.run, self.sample, with_notes=False)

    @cached_property
    def outcomes(self) -> list[ScoredOutcome]:
        """All outcomes of the gallery."""
        return [outcome for group in self.by_edit.values() for outcome in group]

    @cached_property
    def incomplete(self) -> list[ScoredOutcome]:
        """Every outcome of the run that lacks a score, even one that does not apply."""
        if self.sample is None:
            return [outcome for outcome in self.outcomes if outcome.unscored]
        by_edit = read_outcomes(self.run, self.tally.incomplete_edits(), with_notes=False)
        return [outcome for group in by_edit.values() for outcome in group if outcome.unscored]

    @cached_property
    def tally(self) -> Tally:
        """Counts over all outcomes of the run."""
        return Tally.of(self.run)

    @cached_property
    def counts(self) -> ScoredCounts:
        """How many outcomes have scores."""
        return self.tally.counts(planned=self.run.planned)

    @cached_property
    def has_verdicts(self) -> bool:
        """Whether a protocol tells if an edit was done, so that outcomes have a verdict."""
        return has_verdicts(self.run)

    @cached_property
    def judged(self) -> int | None:
        """Number of outcomes with a score on whether the edit was done; None without such a protocol."""
        keys = self.answers.get("done")
        return self.tally.with_any(keys) if keys else None

    def counts_of(self, method: str) -> ScoredCounts:
        """Return the counts of one method."""
        return self.tally.counts(method)

    def render(self, template: str, **more: Any) -> Markup:
        """Render a template; the template engine escapes every text of the run."""
        variables = {"context": self, "manifest": self.run.manifest, "methods": self.methods, "tables": self.tables}
        return render(template, **variables, **more)


def write_page(page: Path, template: str, styles: Sequence[str], scripts: Sequence[str], **variables: Any) -> Path:
    """Write a self-contained page and return its path."""
    content = render(template, **frame("img-src data:", styles, scripts), **variables)
    write_bytes(page, content.encode("utf-8", "replace"))
    return page


def render(template: str, **variables: Any) -> Markup:
    """Render a template that needs no run."""
    return Markup(_TEMPLATES.get_template(template).render(**variables))  # noqa: S704 - escaped by the template


def with_code(text: str) -> Markup:
    """Render text between backticks as code; an unpaired backtick stays.

    >>> with_code("models of `lite`"), with_code("a ` b")
    (Markup('models of <code>lite</code>'), Markup('a ` b'))
    """
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escape(text)
    rendered = (Markup("<code>{}</code>").format(part) if index % 2 else part for index, part in enumerate(parts))
    return Markup().join(rendered)


def _templates() -> Environment:
    environment = open_templates(__package__ or "")
    environment.filters |= {"spaced": words.spaced, "plain": words.plain, "meaning": words.meaning}
    environment.filters |= {
        "without_folders": words.without_folders,
        "with_code": with_code,
        "breakable": words.breakable,
    }
    environment.globals |= {"ALL": ALL, "FEW_SOURCES": FEW_SOURCES, "LEVEL": LEVEL, "QUESTIONS": QUESTIONS}
    environment.globals |= {"HOW_TESTED": TEST_DESCRIPTION, "counted": format_count}
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "ensure_ascii": False}
    return environment


_TEMPLATES = _templates()
