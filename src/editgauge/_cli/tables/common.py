"""Tables for the terminal."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

if TYPE_CHECKING:
    from editgauge.engine.result import ScoreResult
    from editgauge.results import ScoreRecord
    from editgauge.types import ScoreSpec

ENDLESS = 100_000
"""Columns of a terminal as wide as any table needs."""


def show_verdict(scored: ScoreResult, short: bool) -> None:
    """The verdict in one line, how the instruction was read, and in short the scores behind it."""
    from editgauge._cli.tables.look import step_lines

    show(Text(scored.verdict.sentence, style="bold"))
    if scored.edit.reading:
        show(Text(f"Read as: {step_lines(scored.edit.reading)}", style="dim"))
    rows = scored.headlines
    if not short or not rows:
        return
    table = new_table(text=("protocol", "score"), numbers=("value",))
    table.add_column("why not")
    for each in rows:
        value = "-" if each.value is None else f"{each.value:.2f}"
        table.add_row(each.protocol, each.name, value, each.reason or "")
    show(table)
    show(Text("--explain shows all scores and what they are based on.", style="dim"))


def show_verdicts(verdicts: ScoreResult) -> None:
    """The scores of one edited image, then what can be said about them."""
    table = new_table()
    for column in ("protocol", "score", "value", "range", "better"):
        table.add_column(column, justify="right" if column == "value" else "left", no_wrap=True)
    for verdict in verdicts:
        low, high = verdict.range
        value = Text("unscored", style="dim") if verdict.value is None else Text(f"{verdict.value:.4f}")
        better = "higher" if verdict.higher_is_better else "lower"
        table.add_row(verdict.protocol, verdict.name, value, f"{low:g} to {high:g}", better)
    show(table)
    for sentence in dict.fromkeys(map(_sentence, verdicts)):
        if sentence:
            show(Text(sentence))


def _sentence(verdict: ScoreRecord) -> str:
    return f"unscored ({verdict.reason}): {verdict.note}" if verdict.reason else verdict.note


def show_names(kind: str, names: Sequence[dict[str, Any]]) -> None:
    """What there is of a kind."""
    if not names:
        show(Text(f"There are no {kind} yet; plug-ins can bring some."))
        return
    keys = dict.fromkeys(key for each in names for key in each)  # a plug-in that is broken tells less than the others
    shown = [column for column in keys if column not in {"scores", "formula", "released"}]
    columns = [c for c in shown if c != "from" or any(each["from"] != "editgauge" for each in names)]
    table = new_table(text=[column.replace("_", " ") for column in columns])
    for each in names:
        table.add_row(*(_entry(column, each.get(column, "")) for column in columns))
    show(table)


def _entry(column: str, value: Any) -> str:
    """In full, except that a paper is named by authors and year; `--json` has its title."""
    return str(value).partition(",")[0] if column == "paper" else short(value, most=ENDLESS)


def named(spec: ScoreSpec) -> str:
    """The score's name with an arrow for its direction."""
    return f"{spec.name} {'↑' if spec.higher_is_better else '↓'}"


def number(value: float | None, spec: ScoreSpec, sign: str = "") -> str:
    """Three decimals, one where the range is wide (decibels)."""
    low, high = spec.range
    return "-" if value is None else f"{value:{sign}.{1 if high - low > 10 else 3}f}"


def short(value: Any, most: int = 100) -> str:
    """A value in few words; what is longer is cut."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        numbers = all(isinstance(each, float | int) for each in value)
        return " to ".join(f"{each:g}" for each in value) if numbers else ", ".join(map(str, value))
    text = str(value)
    return text if len(text) <= most else text[: most - 1] + "…"


def new_table(
    title: str = "",
    text: Sequence[str] = (),
    numbers: Sequence[str] = (),
    *,
    wrap_text: bool = True,
    wrap_numbers: bool = True,
) -> Table:
    """A table to be filled, with columns of text, then columns of numbers, which are aligned to the right.

    The title is a line of its own, which a narrow table does not break.
    """
    if title:
        show(Text(title, style="bold"))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in text:
        table.add_column(column, no_wrap=not wrap_text)
    for column in numbers:
        table.add_column(column, justify="right", no_wrap=not wrap_numbers)
    return table


def with_interval(value: float, low: float | None, high: float | None, sign: str = "") -> str:
    """A value with its interval, where it has one."""
    if low is None or high is None:
        return f"{value:{sign}.3f}"
    return f"{value:{sign}.3f} ({low:{sign}.3f} … {high:{sign}.3f})"


def show(thing: Table | Text) -> None:
    """As wide as the terminal, or a hundred columns in a file or pipe; wider only where a single number needs it.

    Text is wrapped, and nothing is cut off.
    """
    console = Console(highlight=False, markup=False, emoji=False)  # `imagic[eta=0.8]` is a name, not markup
    width = console.width if sys.stdout.isatty() else 100
    if isinstance(thing, Table):
        console.width = ENDLESS
        width = max(width, _fitted(thing, width, console.measure(thing).maximum))
    console.width = width
    console.print(thing)


def _fitted(table: Table, width: int, whole: int) -> int:
    """Narrows the columns that can wrap, those with most room first; the width that the table then has.

    Rich would narrow the widest column instead, also below its longest word, and cut off the last one.
    """
    widths = [_longest_line(column) for column in table.columns]
    least = [_longest_word(column) for column in table.columns]
    borders = whole - sum(widths)
    while sum(widths) + borders > width:
        room, place = max((widths[place] - least[place], place) for place in range(len(widths)))
        if room <= 0:
            break
        widths[place] -= 1
    for column, its in zip(table.columns, widths, strict=True):
        column.width = its
    return sum(widths) + borders


def _longest_line(column: Column) -> int:
    texts = [str(cell) for cell in (column.header, *column.cells)]
    return max((cell_len(line) for text in texts for line in text.splitlines()), default=1)


def _longest_word(column: Column) -> int:
    texts = [str(cell) for cell in (column.header, *column.cells)]
    words = [word for text in texts for word in (text.splitlines() if column.no_wrap else text.split())]
    return max(map(cell_len, words), default=1)
