"""The sections that every report has."""

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
    from editgauge.reports._outcomes import Missing
    from editgauge.reports.context import Context

MAX_DETAILS = 4
"""This many different details are quoted; the gallery has all."""


@dataclass(slots=True)
class UnscoredReason:
    """One reason for having no score."""

    missing: Missing
    methods: Counter[str] = field(default_factory=Counter)
    protocols: Counter[str] = field(default_factory=Counter)
    edit_types: Counter[str] = field(default_factory=Counter)
    details: Counter[str] = field(default_factory=Counter)
    """All counters count scores; details come without the folders of the machine."""

    @property
    def top_details(self) -> list[tuple[str, int]]:
        """The most frequent details."""
        return self.details.most_common(MAX_DETAILS)

    @property
    def more_details(self) -> int:
        """The number of other details."""
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
    done, preserved = (context.answers.get(question, [None])[0] for question in ("done", "kept"))
    return {
        "answer": in_bold(context.headline.parts),
        "trade_off": done
        and preserved
        and trade_off(context.cells, done, preserved, context.methods, context.untouched),
        "highlights": highlights(context),
        "sentences": sentences(context),
        "overview": overview_tables(context.cells, context.methods),
        "of_method": counts,
        "untouched": context.untouched,
        "done_counts": _done_counts(context),
    }


def _done_counts(context: Context) -> dict[str, dict[str, int]]:
    """Return the answers whether edits were done, by method; empty without verdicts on all outcomes."""
    if not context.has_verdicts or context.sample is not None:
        return {}
    return {method: counts[0] for method, counts in answers_by_method(context).items()}


def _methods(context: Context) -> Content | None:
    if not context.tables:
        return None
    plots = {m: [plot_method_profile(table, context.methods, m) for table in context.tables] for m in context.methods}
    counts = {method: context.counts_of(method) for method in context.methods}
    cards = {method: read_card(Path(folder)) for method, folder in context.run.manifest.methods.items()}
    return {"plots": plots, "of_method": counts, "cards": cards}


def _edit_types(context: Context) -> Content | None:
    if not context.tables or not context.edit_types:
        return None
    kinds = context.edit_types
    edits = Counter(edit.get("type") for edit in context.run.edits.values())
    plots = {kind: [plot_type_profile(table, context.methods, kind) for table in context.tables] for kind in kinds}
    return {"plots": plots, "edits": edits, "folded": {table.key: table.folded for table in context.tables}}


def _groups(context: Context) -> Content | None:
    """Return every score in every group of the benchmark's own divisions, below that of all edits."""
    cells = group_cells(context.run)
    overall = [cell for cell in context.cells if cell.edit_type == ALL]
    tables = {}
    for division in divisions(context.run):
        of_division = [group for group in cells if group.division == division]
        rows = [replace(group.cell, edit_type=group.label) for group in of_division]
        values = {group.label: group.value for group in of_division}
        tables[division] = (score_tables([*overall, *rows], context.methods, list(values)), values)
    return {"by_division": tables} if tables else None


def _gallery(context: Context) -> Content:
    reasons = [missing.reason for missing in missing_scores(context.incomplete)]
    note = " ".join(filter(None, (context.sample_note, context.gallery_note)))
    readings = sorted({describe_parse(edit) for edit in context.run.edits.values()} - {""})
    return {
        "edit_types": context.edit_types,
        "divisions": divisions(context.run),
        "readings": readings,
        "reasons": reasons,
        "note": note,
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


@dataclass(frozen=True, slots=True)
class SetTable:
    """One score of one protocol."""

    protocol: str
    name: str
    about: str
    higher_is_better: bool
    kinds: tuple[str, ...]
    rows: dict[str, tuple[tuple[str, str], ...]]
    """Method to the value and the number of outcomes, per edit type."""
    warnings: tuple[str, ...]


def set_tables(scores: Sequence[SetScore], methods: Sequence[str]) -> list[SetTable]:
    """Return the tables of scores of sets; empty if no protocol has any."""
    return [
        _table(protocol, name, scores, methods)
        for protocol, name in dict.fromkeys((s.protocol, s.name) for s in scores)
    ]


def _table(protocol: str, name: str, scores: Sequence[SetScore], methods: Sequence[str]) -> SetTable:
    mine = [score for score in scores if (score.protocol, score.name) == (protocol, name)]
    kinds = (ALL, *sorted({score.edit_type for score in mine} - {ALL}))
    by_cell = {(score.method, score.edit_type): score for score in mine}
    rows = {method: tuple(_written(by_cell.get((method, kind))) for kind in kinds) for method in methods}
    warnings = dict.fromkeys(score.detail for score in mine if score.edit_type == ALL and score.detail)
    return SetTable(protocol, name, mine[0].about, mine[0].higher_is_better, kinds, rows, tuple(warnings))


def _written(score: SetScore | None) -> tuple[str, str]:
    if score is None:
        return "", ""
    count = f"n {score.n:,}" + (f", {score.missing:,} missing{_why(score)}" if score.missing else "")
    if score.value is None:
        return "unscored", count
    return f"{number(score.value, 3)} {interval(score.low, score.high, 3)}".rstrip(), count


def _why(score: SetScore) -> str:
    counts = (f"{reason.replace('_', ' ')} {count:,}" for reason, count in score.reasons.items())
    return f" ({', '.join(counts)})" if score.reasons else ""
