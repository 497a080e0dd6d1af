"""The heat map: methods by edit types for one score, darker for better whatever the score's direction."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from editgauge._render import text as words
from editgauge._render.svg import drawing
from editgauge.analysis.summary import ALL, FEW_SOURCES
from editgauge.reports.sections import EDIT_TYPES, TemplateSection

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from editgauge.reports._score_tables import PrintedCell, ScoreTable
    from editgauge.reports.context import Context

COLOR_STEPS = 7
"""Steps of the color scale, light to dark in one hue: the order survives gray printing and color blindness."""
NAMES, WIDTH, HEIGHT, GAP = 150, 56, 26, 2
HEADER_ANGLE = 35
"""Rotation of column names in degrees, so that long ones do not overlap."""
TOP, RIGHT, FOOTER = 96, 70, 24
MAX_NAME_CHARACTERS = 22
COLORS = ("#f1f6fb", "#d9e7f4", "#b7d2ea", "#8ab8dc", "#3775aa", "#1d5c96", "#0b3a69")
"""The same steps as in the page."""
DARK_STEP = 4
"""From this step on the number is white."""


@dataclass(frozen=True, slots=True)
class HeatCell:
    """One field of the map."""

    text: str
    step: int | None
    """0 for the worst to COLOR_STEPS - 1 for the best; None for what has no score."""
    tooltip: str
    """Interval, counts, reasons."""
    few: bool = False
    reference: bool = False
    """Whether the method leaves every source as it is: a number to compare with, without a color."""


@dataclass(frozen=True, slots=True)
class HeatMap:
    """One score: a row for every method, a column for all edits and every edit type that has this score."""

    table: ScoreTable
    columns: list[str]
    rows: dict[str, list[HeatCell]]
    worst: str
    best: str

    @property
    def folded(self) -> list[str]:
        """The edit types without a column, because no method has a score."""
        return self.table.folded

    @property
    def has_gaps(self) -> bool:
        """Whether any cell has no score."""
        return any(cell.step is None for row in self.rows.values() for cell in row)

    @property
    def has_few(self) -> bool:
        """Whether any cell has too few source images."""
        return any(cell.few for row in self.rows.values() for cell in row)


def heat_map(table: ScoreTable, methods: Sequence[str], untouched: Collection[str] = ()) -> HeatMap:
    """Return the heat map of one score; colors range from the worst to the best mean of a method that edits."""
    values = [
        printed.cell.mean.value
        for row in table.rows.values()
        for printed in row
        if printed and printed.cell.mean and printed.cell.method not in untouched
    ]
    ends = (min(values), max(values)) if values else (0.0, 0.0)
    worst, best = ends if table.spec.higher_is_better else ends[::-1]
    columns = [kind for kind in table.rows if kind not in table.folded]
    rows = {
        method: [
            replace(_cell(table.rows[kind][column], kind, worst, best), reference=method in untouched)
            for kind in columns
        ]
        for column, method in enumerate(methods)
    }
    return HeatMap(table, columns, rows, words.number(worst, table.decimals), words.number(best, table.decimals))


def _cell(printed: PrintedCell | None, edit_type: str, worst: float, best: float) -> HeatCell:
    where = "all edits" if edit_type == ALL else words.spaced(edit_type)
    if printed is None:
        return HeatCell("none", None, f"{where}: no outcomes")
    mean = printed.cell.mean
    if mean is None:
        return HeatCell("none", None, f"{where}: no score; {printed.unscored}")
    share = (mean.value - worst) / (best - worst) if best != worst else 0.5
    label = f"{where}: {printed.text(mean.value)}{words.spoken_interval(mean, printed.decimals)}"
    label += f", {printed.cell.scored} scored" + (f", {printed.unscored}" if printed.unscored else "")
    return HeatCell(
        printed.text(mean.value), min(max(int(share * COLOR_STEPS), 0), COLOR_STEPS - 1), label, printed.few
    )


def draw(heat_map: HeatMap) -> Markup:
    """Draw the map for a paper; cells without a score are empty frames."""
    width = NAMES + len(heat_map.columns) * (WIDTH + GAP) + RIGHT
    bottom = TOP + len(heat_map.rows) * (HEIGHT + GAP)
    heads = [_head(kind, index) for index, kind in enumerate(heat_map.columns)]
    rows = [
        _row(method, cells, TOP + index * (HEIGHT + GAP)) for index, (method, cells) in enumerate(heat_map.rows.items())
    ]
    better = "higher is better" if heat_map.table.spec.higher_is_better else "lower is better"
    few = f" * fewer than {FEW_SOURCES} source images." if heat_map.has_few else ""
    foot = f"{heat_map.table.spec.name}, {better}; darker is better, from {heat_map.worst} to {heat_map.best}.{few}"
    note = Markup('<text x="0" y="{}" font-size="10.5" fill="#59636e">{}</text>').format(bottom + 16, foot)
    spoken = f"{heat_map.table.spec.name} by method and edit type"
    return drawing([*heads, *rows, note], max(width, 7 * len(foot)), bottom + FOOTER, spoken, "heat-map")


def _head(kind: str, index: int) -> Markup:
    x, y = NAMES + index * (WIDTH + GAP) + WIDTH / 2, TOP - 8
    text = "all edits" if kind == ALL else words.spaced(kind)
    return Markup('<text x="{x:g}" y="{y:g}" transform="rotate(-{angle} {x:g} {y:g})">{text}</text>').format(
        x=x, y=y, angle=HEADER_ANGLE, text=text
    )


def _row(method: str, cells: list[HeatCell], top: float) -> Markup:
    name = words.shortened(method, MAX_NAME_CHARACTERS)
    label = Markup('<text class="label" x="{}" y="{:g}">{}</text>').format(NAMES - 10, top + HEIGHT / 2 + 4, name)
    return Markup().join([label, *(_draw_cell(cell, index, top) for index, cell in enumerate(cells))])


def _draw_cell(cell: HeatCell, index: int, top: float) -> Markup:
    left = NAMES + index * (WIDTH + GAP)
    fill = "none" if cell.step is None else COLORS[cell.step]
    ink = "#59636e" if cell.step is None else "#ffffff" if cell.step >= DARK_STEP else "#10233a"
    return Markup(
        '<rect x="{}" y="{:g}" width="{}" height="{}" fill="{}" stroke="#c9d6e2" stroke-width="0.5"/>'
        '<text x="{:g}" y="{:g}" text-anchor="middle" fill="{}">{}</text>'
    ).format(left, top, WIDTH, HEIGHT, fill, left + WIDTH / 2, top + HEIGHT / 2 + 4, ink, cell.text + "*" * cell.few)


def _content(context: Context) -> dict[str, Any] | None:
    maps = [heat_map(table, context.methods, context.untouched) for table in context.tables]
    return {"maps": maps, "STEPS": COLOR_STEPS} if maps else None


section = TemplateSection("heat_map", "Heat map", 20, _content, EDIT_TYPES)
