"""EditVal's checklist, one table per method: automatic scores, human levels, context, FID, and what is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from editgauge._render.tables import (
    Column,
    EmptyCell,
    ResultTable,
    TableCell,
    as_html,
    as_latex,
    as_markdown,
    value_cell,
)
from editgauge.analysis.checklist import ChecklistEntry, Measure, MethodChecklist, checklists
from editgauge.analysis.summary import ALL
from editgauge.reports.sections import METHODS, Content, TemplateSection

if TYPE_CHECKING:
    from editgauge.reports.context import Context

SOURCES: dict[Measure, str] = {
    "score": "rules on detected objects, 0 to 1",
    "rating": "people, 0 to 3",
    "context": "similarity of both images",
    "distance": "distance of outcomes and sources, lower is better",
}
COLUMNS = (
    Column("edit type", "left"),
    Column("measured by", "left"),
    Column("mean", format=".2f"),
    Column("missing", "left"),
)


def checklist_table(checklist: MethodChecklist) -> ResultTable:
    """Return the checklist of a method as a table for every renderer."""
    rows = [_row(entry) for entry in checklist.entries]
    return ResultTable(COLUMNS, rows, checklist.method, "Means with 95% intervals, clustered by source image.")


def _row(entry: ChecklistEntry) -> list[TableCell]:
    edit_type = entry.name if entry.edit_type == ALL else entry.edit_type.replace("_", " ")
    n = entry.mean.n if entry.mean else None
    value = value_cell(entry.mean, n=n) if entry.mean else EmptyCell(text="-")
    return [edit_type, SOURCES[entry.measure], value, entry.missing]


def _content(context: Context) -> Content | None:
    """Return the checklists when people's ratings are known; the other numbers are in other sections too."""
    if context.agreement is None or context.agreement.ratings is None:
        return None
    tables = [checklist_table(entry) for entry in checklists(context.run, context.agreement.ratings)]
    if not tables:
        return None
    return {
        "checklists": [(table.title, as_html(table)) for table in tables],
        "markdown": "\n".join(map(as_markdown, tables)),
        "latex": "\n".join(map(as_latex, tables)),
    }


checklist = TemplateSection("checklist", "Checklist", 35, _content, METHODS)
