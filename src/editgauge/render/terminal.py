"""Tables for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from editgauge.render.tables import Column, EmptyCell, Label, ResultTable, TableCell, ValueCell, numbers_of

if TYPE_CHECKING:
    from collections.abc import Iterable

STYLES = {"plain": "", "strong": "bold", "weak": "dim"}


def as_terminal(table: ResultTable) -> Table:
    """The table for rich, without its title: a narrow table would break it into lines.

    Every column is at least as wide as its longest word, so that nothing is cut off.
    """
    made = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    rows = [[_text(cell, column) for cell, column in zip(row, table.columns, strict=True)] for row in table.rows]
    for place, column in enumerate(table.columns):
        texts = (column.title, *(row[place].plain for row in rows))
        made.add_column(
            column.title,
            justify=column.align,
            no_wrap=not column.wrap,
            overflow="fold",
            min_width=_longest_word(texts, whole_lines=not column.wrap),
        )
    for row in rows:
        made.add_row(*row)
    return made


def _longest_word(texts: Iterable[str], *, whole_lines: bool) -> int:
    words = (word for text in texts for word in (text.splitlines() if whole_lines else text.split()))
    return max(map(cell_len, words), default=1)


def _text(cell: TableCell, column: Column) -> Text:
    if isinstance(cell, ValueCell):
        return _value(cell, column)
    if isinstance(cell, EmptyCell):
        return Text(cell.text or (f"{cell.unscored} unscored" if cell.unscored else "-"), style="dim")
    if isinstance(cell, Label):
        text = Text(cell.text, style=STYLES[cell.style])
        return text.append(f"\n{cell.note}", style="dim italic") if cell.note else text
    return Text(f"{cell:{column.format}}" if isinstance(cell, float) else str(cell))


def _value(cell: ValueCell, column: Column) -> Text:
    value, interval = numbers_of(cell, column)
    count = "" if cell.n is None else f" n {cell.n:,}"
    text = Text(f"{value}{'†' if cell.few else ''}{count}")
    if interval:
        text.append(f"\n{' … '.join(interval)}", style="dim")
    for note in (f"{cell.unscored:,} unscored" if cell.unscored else "", cell.note):
        if note:
            text.append(f"\n{note}", style="dim italic")
    return text
