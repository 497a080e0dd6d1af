"""Print tables and paragraphs to the terminal."""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Sequence
from typing import Literal

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Column as RichColumn
from rich.table import Table
from rich.text import Text

from editgauge._render.tables import Column, EmptyCell, Label, ResultTable, TableCell, ValueCell, format_numbers

TEXT_WIDTH = 100
"""Columns at which paragraphs are wrapped when the output is a file or a pipe."""
UNLIMITED_WIDTH = 100_000
STYLES = {"plain": "", "strong": "bold", "weak": "dim"}


def make_columns(
    text: Sequence[str] = (), numbers: Sequence[str] = (), *, number_format: str = ".3f", wrap: bool = True
) -> list[Column]:
    """Return left-aligned columns of text followed by right-aligned columns of numbers."""
    return [
        *(Column(header, "left", wrap=wrap) for header in text),
        *(Column(header, format=number_format, wrap=wrap) for header in numbers),
    ]


def print_text(text: str, style: Literal["", "bold", "dim"] = "") -> None:
    """Print a paragraph, wrapped to the width of the terminal; in a pipe, paths and commands stay in one piece."""
    if sys.stdout.isatty():
        _console(None).print(Text(text, style=style))
        return
    width = _columns_variable() or TEXT_WIDTH
    lines = (textwrap.fill(line, width, break_long_words=False, break_on_hyphens=False) for line in text.splitlines())
    _console(UNLIMITED_WIDTH).print(Text("\n".join(lines), style=style), soft_wrap=True)


def print_table(table: ResultTable, *, stacked: bool = False) -> None:
    """Print a table under its title, followed by its legend.

    In a terminal, columns are narrowed to fit, but no word is cut. In a file or pipe, the table is as wide as its
    content, or as the environment variable `COLUMNS` says.

    Args:
        table: the table.
        stacked: whether intervals and counts go below their numbers instead of beside them.

    """
    if table.title:
        print_text(table.title, "bold")
    rendered = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for column in table.columns:
        rendered.add_column(column.title, justify=column.align, no_wrap=not column.wrap)
    for row in table.rows:
        rendered.add_row(
            *(_cell_text(cell, column, stacked=stacked) for cell, column in zip(row, table.columns, strict=True))
        )
    natural = _console(UNLIMITED_WIDTH).measure(rendered).maximum
    limit = _console(None).width if sys.stdout.isatty() else _columns_variable() or UNLIMITED_WIDTH
    _console(max(limit, _fit_columns(rendered, limit, natural))).print(rendered)
    if table.legend:
        print_text(table.legend, "dim")


def _console(width: int | None) -> Console:
    return Console(highlight=False, markup=False, emoji=False, width=width)  # `imagic[eta=0.8]` is a name, not markup


def _columns_variable() -> int | None:
    columns = os.environ.get("COLUMNS", "")
    return int(columns) if columns.isdecimal() and int(columns) > 0 else None


def _cell_text(cell: TableCell, column: Column, *, stacked: bool) -> Text:
    if isinstance(cell, ValueCell):
        return _value_text(cell, column, stacked=stacked)
    if isinstance(cell, EmptyCell):
        return Text(cell.text or (f"{cell.unscored} unscored" if cell.unscored else "-"), style="dim")
    if isinstance(cell, Label):
        text = Text(cell.text, style=STYLES[cell.style])
        return text.append(f"\n{cell.note}", style="dim") if cell.note else text
    return Text(f"{cell:{column.format}}" if isinstance(cell, float) else str(cell))


def _value_text(cell: ValueCell, column: Column, *, stacked: bool) -> Text:
    value, interval = format_numbers(cell, column)
    text = Text(value + ("†" if cell.few else ""))
    count = "" if cell.n is None else f" n {cell.n:,}"
    ends = "" if interval is None else f"{interval[0]}…{interval[1]}"
    if stacked:
        text.append(count + (f"\n{ends}" if ends else ""), style="dim")
    else:
        text.append((f" {ends}" if ends else "") + count, style="dim")
    for note in (f"{cell.unscored:,} unscored" if cell.unscored else "", cell.note):
        if note:
            text.append(f"\n{note}", style="dim italic")
    return text


def _fit_columns(table: Table, limit: int, natural: int) -> int:
    """Narrow the columns that can wrap until the table fits, and return its width.

    Rich narrows the widest column even below its longest word; this keeps every word in one piece.
    """
    widths = [_longest_line(column) for column in table.columns]
    minimums = [_longest_word(column) for column in table.columns]
    borders = natural - sum(widths)
    while sum(widths) + borders > limit:
        slack, index = max((widths[i] - minimums[i], i) for i in range(len(widths)))
        if slack <= 0:
            break
        widths[index] -= 1
    for column, width in zip(table.columns, widths, strict=True):
        column.width = width
    return sum(widths) + borders


def _longest_line(column: RichColumn) -> int:
    texts = [str(cell) for cell in (column.header, *column.cells)]
    return max((cell_len(line) for text in texts for line in text.splitlines()), default=1)


def _longest_word(column: RichColumn) -> int:
    texts = [str(cell) for cell in (column.header, *column.cells)]
    words = [word for text in texts for word in (text.splitlines() if column.no_wrap else text.split())]
    return max(map(cell_len, words), default=1)
