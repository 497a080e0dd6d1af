"""Sections that every report has: overview, gallery, methods, edit types, numbers and unscored outcomes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from editgauge._render.text import interval, number
from editgauge.analysis._groups import divisions, group_cells
from editgauge.methods.card import read_card
from editgauge.reports import _paper as paper
from editgauge.reports._figures import plot_method_profile, plot_type_profile, trade_off
from editgauge.reports._gallery import describe_parse
from editgauge.reports._outcomes import NOT_APPLICABLE, missing_scores
from editgauge.reports._score_tables import SHADES, score_tables
from editgauge.reports._score_tables import overview as overview_tables
from editgauge.reports.sections import EDIT_TYPES, METHODS, NUMBERS, SETUP, Content, TemplateSection
from editgauge.reports.sections.agreement import disputes, left_out, people_tables
from editgauge.reports.sections.overview import highlights, in_bold, sentences
from editgauge.reports.sections.verdicts import answers_by_method
from editgauge.results import SetScore
from editgauge.results._records import ALL

if TYPE_CHECKING:
    from markupsafe import Markup

    from editgauge.reports._outcomes import Missing
    from editgauge.reports.context import Context

MAX_DETAILS = 4
"""Maximum number of details quoted per reason; the gallery lists all of them."""


@dataclass(slots=True)
class UnscoredReason:
    """One reason for missing scores, with counts by method, protocol, edit type and detail."""

    missing: Missing
    methods: Counter[str] = field(default_factory=Counter)
    protocols: Counter[str] = field(default_factory=Counter)
    edit_types: Counter[str] = field(default_factory=Counter)
    details: Counter[str] = field(default_factory=Counter)
    """Details without local folders. All counters count scores."""

    @property
    def top_details(self) -> list[tuple[str, int]]:
        """The most frequent details."""
        return self.details.most_common(MAX_DETAILS)

    @property
    def more_details(self) -> int:
        """The number of details that are not quoted."""
        return max(0, len(self.details) - MAX_DETAILS)


def failures(context: Context) -> list[UnscoredReason]:
    """Return every reason for missing scores, the most frequent first."""
    by_reason = {missing.reason: UnscoredReason(missing) for missing in missing_scores(context.incomplete)}
    for outcome in context.incomplete:
        edit_type = context.run.edits.get(outcome.edit, {}).get("type", "")
        for record in outcome.unscored:
            failure = by_reason[str(record.reason)]
            failure.methods[outcome.method] += 1
            failure.protocols[record.protocol] += 1
            if edit_type:
                failure.edit_types[edit_type] += 1
            if record.detail:
                failure.details[record.detail] += 1
    return list(by_reason.values())


def _unscored(context: Context) -> Content:
    reasons = failures(context)
    return {
        "failures": [failure for failure in reasons if failure.missing.reason != NOT_APPLICABLE],
        "not_applicable": next((failure for failure in reasons if failure.missing.reason == NOT_APPLICABLE), None),
    }


def _overview(context: Context) -> Content:
    counts = {method: context.counts_of(method) for method in context.methods}
    return {
        "answer": in_bold(context.headline.parts),
        "trade_off": _trade_off(context),
        "highlights": highlights(context),
        "sentences": sentences(context),
        "overview": overview_tables(context.cells, context.methods),
        "of_method": counts,
        "untouched": context.untouched,
        "done_counts": _done_counts(context),
    }


def _trade_off(context: Context) -> Markup | None:
    """Plot the main score of `done` against that of `kept`; None if the run lacks one of them."""
    done_scores, kept_scores = context.answers.get("done"), context.answers.get("kept")
    if not done_scores or not kept_scores:
        return None
    return trade_off(context.cells, done_scores[0], kept_scores[0], context.methods, context.untouched)


def _done_counts(context: Context) -> dict[str, dict[str, int]]:
    """Count the verdicts on whether edits were done, by method; empty without verdicts on all outcomes."""
    if not context.has_verdicts or context.sample is not None:
        return {}
    return {method: counts[0] for method, counts in answers_by_method(context).items()}


def _methods(context: Context) -> Content | None:
    if not context.tables:
        return None
    plots = {
        method: [plot_method_profile(table, context.methods, method) for table in context.tables]
        for method in context.methods
    }
    counts = {method: context.counts_of(method) for method in context.methods}
    cards = {method: read_card(Path(folder)) for method, folder in context.run.manifest.methods.items()}
    return {"plots": plots, "of_method": counts, "cards": cards}


def _edit_types(context: Context) -> Content | None:
    if not context.tables or not context.edit_types:
        return None
    edit_counts = Counter(edit.get("type") for edit in context.run.edits.values())
    plots = {
        edit_type: [plot_type_profile(table, context.methods, edit_type) for table in context.tables]
        for edit_type in context.edit_types
    }
    return {"plots": plots, "edits": edit_counts, "folded": {table.key: table.folded for table in context.tables}}


def _groups(context: Context) -> Content | None:
    """Return score tables by division: one row for all edits, then one for each group."""
    all_groups = group_cells(context.run)
    overall = [cell for cell in context.cells if cell.edit_type == ALL]
    tables = {}
    for division in divisions(context.run):
        division_groups = [group for group in all_groups if group.division == division]
        cells = [replace(group.cell, edit_type=group.label) for group in division_groups]
        values = {group.label: group.value for group in division_groups}
        tables[division] = (score_tables([*overall, *cells], context.methods, list(values)), values)
    return {"by_division": tables} if tables else None


def _gallery(context: Context) -> Content:
    return {
        "edit_types": context.edit_types,
        "divisions": divisions(context.run),
        "readings": sorted({describe_parse(edit) for edit in context.run.edits.values()} - {""}),
        "reasons": [missing.reason for missing in missing_scores(context.incomplete)],
        "note": " ".join(filter(None, (context.sample_note, context.gallery_note))),
    }


def _sets(context: Context) -> Content | None:
    tables = set_tables(context.run.sets, context.methods)
    return {"set_tables": tables} if tables else None


def _agreement(context: Context) -> Content | None:
    if context.agreement is None:
        return None
    return {
        "people": people_tables(context.agreement),
        "disputes": disputes(context.agreement, context.run),
        "left_out": left_out(context.agreement),
    }


@dataclass(frozen=True, slots=True)
class SetTable:
    """Values of one score of sets of outcomes, such as FID, by method and edit type."""

    protocol: str
    name: str
    about: str
    higher_is_better: bool
    kinds: tuple[str, ...]
    rows: dict[str, tuple[tuple[str, str], ...]]
    """By method: formatted value and number of outcomes for each edit type."""
    warnings: tuple[str, ...]


def set_tables(scores: Sequence[SetScore], methods: Sequence[str]) -> list[SetTable]:
    """Return one table for each score of sets; empty if no protocol has any."""
    return [
        _set_table([score for score in scores if (score.protocol, score.name) == key], methods)
        for key in dict.fromkeys((score.protocol, score.name) for score in scores)
    ]


def _set_table(scores: Sequence[SetScore], methods: Sequence[str]) -> SetTable:
    """Return the table of one score, given its values by method and edit type."""
    kinds = (ALL, *sorted({score.edit_type for score in scores} - {ALL}))
    by_cell = {(score.method, score.edit_type): score for score in scores}
    warnings = dict.fromkeys(score.detail for score in scores if score.edit_type == ALL and score.detail)
    return SetTable(
        protocol=scores[0].protocol,
        name=scores[0].name,
        about=scores[0].about,
        higher_is_better=scores[0].higher_is_better,
        kinds=kinds,
        rows={method: tuple(_format_cell(by_cell.get((method, kind))) for kind in kinds) for method in methods},
        warnings=tuple(warnings),
    )


def _format_cell(score: SetScore | None) -> tuple[str, str]:
    """Return the value with its interval, and the number of outcomes with those missing by reason."""
    if score is None:
        return "", ""
    count = f"n {score.n:,}"
    if score.missing:
        count += f", {score.missing:,} missing{_format_reasons(score)}"
    if score.value is None:
        return "unscored", count
    return f"{number(score.value, 3)} {interval(score.low, score.high, 3)}".rstrip(), count


def _format_reasons(score: SetScore) -> str:
    counts = (f"{reason.replace('_', ' ')} {count:,}" for reason, count in score.reasons.items())
    return f" ({', '.join(counts)})" if score.reasons else ""


overview = TemplateSection("overview", "Answer", 10, _overview)
gallery = TemplateSection("gallery", "Gallery", 15, _gallery)
methods = TemplateSection("methods", "Methods", 30, _methods, METHODS)
edit_types = TemplateSection("edit_types", "Edit types", 40, _edit_types, EDIT_TYPES)
groups = TemplateSection("groups", "Groups", 45, _groups, EDIT_TYPES)
summary = TemplateSection("summary", "All numbers", 50, lambda _: {"SHADES": SHADES}, NUMBERS)
sets = TemplateSection("sets", "Sets", 54, _sets, NUMBERS)
agreement = TemplateSection("agreement", "People", 55, _agreement)
unscored = TemplateSection("unscored", "Unscored", 60, _unscored)
measured = TemplateSection("measured", "Measured", 80, lambda context: {"text": paper.methods_text(context.run)}, SETUP)
