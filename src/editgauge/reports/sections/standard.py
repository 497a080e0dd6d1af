"""The sections every report has, in the same form as those that others add."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from editgauge.findings.aggregations import OF_A_METHOD, OF_ALL_METHODS
from editgauge.methods.card import read_card
from editgauge.reports import methods_text as paper
from editgauge.reports.outcomes import missing_scores
from editgauge.reports.sections.aggregations import aggregated
from editgauge.reports.sections.heat_map import STEPS
from editgauge.reports.sections.heat_map import heat_map as map_of
from editgauge.reports.sections.overview import sentences
from editgauge.reports.sections.people import left_out, people_tables
from editgauge.reports.sections.profiles import of_edit_type, of_method
from editgauge.reports.sections.sets import set_tables
from editgauge.reports.sections.unscored import failures
from editgauge.reports.sections.variants import sweeps
from editgauge.reports.tables import SHADES
from editgauge.reports.tables import overview as overview_tables

if TYPE_CHECKING:
    from collections.abc import Callable

    from markupsafe import Markup

    from editgauge.reports.context import Context

Content = dict[str, Any]


@dataclass(frozen=True, slots=True)
class TemplateSection:
    """A section drawn by one of the report's own templates from what `content` gives; nothing for None."""

    name: str
    title: str
    order: float
    content: Callable[[Context], Content | None]

    def render(self, context: Context) -> Markup | None:
        """What stands under the heading."""
        content = self.content(context)
        return None if content is None else context.render(f"{self.name}.html.j2", **content)


def _overview(context: Context) -> Content:
    counts = {method: context.counts_of(method) for method in context.methods}
    told = sentences(context)
    return {"sentences": told, "overview": overview_tables(context.cells, context.methods), "of_method": counts}


def _heat_map(context: Context) -> Content | None:
    maps = [map_of(table, context.methods) for table in context.tables]
    return {"maps": maps, "STEPS": STEPS} if maps else None


def _methods(context: Context) -> Content | None:
    if not context.tables:
        return None
    plots = {m: [of_method(table, context.methods, m) for table in context.tables] for m in context.methods}
    counts = {method: context.counts_of(method) for method in context.methods}
    cards = {method: read_card(Path(place)) for method, place in context.run.manifest.methods.items()}
    return {"plots": plots, "of_method": counts, "cards": cards}


def _edit_types(context: Context) -> Content | None:
    if not context.tables or not context.edit_types:
        return None
    kinds = context.edit_types
    edits = Counter(edit.get("type") for edit in context.run.edits.values())
    plots = {kind: [of_edit_type(table, context.methods, kind) for table in context.tables] for kind in kinds}
    return {"plots": plots, "edits": edits, "folded": {table.key: table.folded for table in context.tables}}


def _gallery(context: Context) -> Content:
    reasons = [missing.reason for missing in missing_scores(context.incomplete)]
    note = " ".join(filter(None, (context.sample_note, context.gallery_note)))
    return {"edit_types": context.edit_types, "reasons": reasons, "note": note}


def _aggregations(context: Context) -> Content | None:
    found = aggregated(context)
    return {"scores": found, "meanings": OF_A_METHOD | OF_ALL_METHODS} if found else None


def _variants(context: Context) -> Content | None:
    found = sweeps(context.tables, context.methods)
    return {"sweeps": found} if found else None


def _sets(context: Context) -> Content | None:
    found = set_tables(context.run.sets, context.methods)
    return {"set_tables": found} if found else None


def _agreement(context: Context) -> Content | None:
    if context.agreement is None:
        return None
    return {"people": people_tables(context.agreement), "left_out": left_out(context.agreement)}


overview = TemplateSection("overview", "Overview", 10, _overview)
heat_map = TemplateSection("heat_map", "Heat map", 20, _heat_map)
methods = TemplateSection("methods", "Methods", 30, _methods)
edit_types = TemplateSection("edit_types", "Edit types", 40, _edit_types)
summary = TemplateSection("summary", "All numbers", 50, lambda _: {"SHADES": SHADES})
aggregations = TemplateSection("aggregations", "Aggregations", 51, _aggregations)
variants = TemplateSection("variants", "Options", 52, _variants)
sets = TemplateSection("sets", "Sets", 54, _sets)
agreement = TemplateSection("agreement", "People", 55, _agreement)
unscored = TemplateSection("unscored", "Unscored", 60, lambda context: {"failures": failures(context)})
gallery = TemplateSection("gallery", "Gallery", 70, _gallery)
measured = TemplateSection("measured", "Measured", 80, lambda context: {"text": paper.as_text(context.run)})
