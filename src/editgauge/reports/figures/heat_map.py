"""The heat map as a drawing, for a paper; the page itself has it as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from markupsafe import Markup

from editgauge.findings.summary import ALL, FEW_SOURCES
from editgauge.render import words

if TYPE_CHECKING:
    from editgauge.reports.sections.heat_map import HeatCell, HeatMap

NAMES, WIDTH, HEIGHT, GAP = 150, 56, 26, 2
SLANT = 35
"""Degrees by which the names of the columns rise: long ones then stay apart."""
TOP, RIGHT, FOOT = 96, 70, 24
LONGEST_NAME = 22
COLORS = ("#f1f6fb", "#d9e7f4", "#b7d2ea", "#8ab8dc", "#3f7fb5", "#1d5c96", "#0b3a69")
"""The same steps as in the page."""
DARK_FROM = 4
"""From this step on the number is white."""


def drawing(heat_map: HeatMap) -> Markup:
    """Methods by edit types; darker is better, and what has no score is an empty frame."""
    width = NAMES + len(heat_map.columns) * (WIDTH + GAP) + RIGHT
    bottom = TOP + len(heat_map.rows) * (HEIGHT + GAP)
    heads = [_head(kind, place) for place, kind in enumerate(heat_map.columns)]
    rows = [
        _row(method, cells, TOP + place * (HEIGHT + GAP)) for place, (method, cells) in enumerate(heat_map.rows.items())
    ]
    better = "higher is better" if heat_map.table.spec.higher_is_better else "lower is better"
    few = f" * fewer than {FEW_SOURCES} source images." if heat_map.has_few else ""
    foot = f"{heat_map.table.spec.name}, {better}; darker is better, from {heat_map.worst} to {heat_map.best}.{few}"
    note = Markup('<text x="0" y="{}" font-size="10.5" fill="#59636e">{}</text>').format(bottom + 16, foot)
    return Markup(
        '<svg viewBox="0 0 {w} {h}" width="{w}" height="{h}" role="img" aria-label="{title}">{body}</svg>'
    ).format(
        w=max(width, 7 * len(foot)),
        h=bottom + FOOT,
        title=f"{heat_map.table.spec.name} by method and edit type",
        body=Markup().join([*heads, *rows, note]),
    )


def _head(kind: str, place: int) -> Markup:
    x, y = NAMES + place * (WIDTH + GAP) + WIDTH / 2, TOP - 8
    text = "all edits" if kind == ALL else words.spaced(kind)
    return Markup('<text x="{x:g}" y="{y:g}" transform="rotate(-{angle} {x:g} {y:g})">{text}</text>').format(
        x=x, y=y, angle=SLANT, text=text
    )


def _row(method: str, cells: list[HeatCell], top: float) -> Markup:
    name = method if len(method) <= LONGEST_NAME else method[: LONGEST_NAME - 1] + "…"
    label = Markup('<text class="label" x="{}" y="{:g}">{}</text>').format(NAMES - 10, top + HEIGHT / 2 + 4, name)
    return Markup().join([label, *(_cell(cell, place, top) for place, cell in enumerate(cells))])


def _cell(cell: HeatCell, place: int, top: float) -> Markup:
    left = NAMES + place * (WIDTH + GAP)
    fill = "none" if cell.step is None else COLORS[cell.step]
    ink = "#59636e" if cell.step is None else "#ffffff" if cell.step >= DARK_FROM else "#10233a"
    return Markup(
        '<rect x="{}" y="{:g}" width="{}" height="{}" fill="{}" stroke="#c9d6e2" stroke-width="0.5"/>'
        '<text x="{:g}" y="{:g}" text-anchor="middle" fill="{}">{}</text>'
    ).format(left, top, WIDTH, HEIGHT, fill, left + WIDTH / 2, top + HEIGHT / 2 + 4, ink, cell.text + "*" * cell.few)
