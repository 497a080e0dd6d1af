"""One model for every table: columns and rows of typed cells, rendered as Markdown, LaTeX, HTML or plain text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from markupsafe import Markup

if TYPE_CHECKING:
    from editgauge._stats.intervals import Mean
    from editgauge._stats.resampling import Estimate


@dataclass(frozen=True, slots=True)
class Column:
    """The header of a column and how its cells are written."""

    header: str
    align: Literal["left", "right"] = "right"
    format: str = ".3f"
    """Format specification of the numbers, such as `.2f`, `+.3f` or `.0%`."""
    higher_is_better: bool | None = None
    """Adds ↑ or ↓ to the header."""
    about: str = ""
    """What the column means; HTML shows it as a tooltip."""
    wrap: bool = True
    """Whether a terminal may break its lines."""

    @property
    def title(self) -> str:
        """Return the header with its direction arrow."""
        return directed(self.header, higher_is_better=self.higher_is_better)


@dataclass(frozen=True, slots=True)
class Label:
    """Text with an optional second line; `style` is for HTML and terminals."""

    text: str
    note: str = ""
    style: Literal["plain", "strong", "weak"] = "plain"


@dataclass(frozen=True, slots=True)
class ValueCell:
    """A number, with its interval and counts where they are known."""

    value: float
    low: float | None = None
    high: float | None = None
    n: int | None = None
    """How many scores the number is from; None leaves it out."""
    unscored: int = 0
    """How many more have no score."""
    few: bool = False
    """Whether the interval is from too few source images to be reliable."""
    format: str = ""
    """Overrides the format of the column."""
    mark: str = ""
    """Written right after the number, such as stars of significance."""
    note: str = ""
    """A further line."""


@dataclass(frozen=True, slots=True)
class EmptyCell:
    """A missing value: how many scores are missing, and why."""

    unscored: int = 0
    reason: str = ""
    text: str = ""
    """Overrides the text of the cell."""


TableCell = str | int | float | Label | ValueCell | EmptyCell


@dataclass(frozen=True, slots=True)
class ResultTable:
    """A table of results, ready for every renderer."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[TableCell]]
    """A cell for every column. A plain `int` is written as it is, a `float` in the format of its column."""
    title: str = ""
    legend: str = ""
    """How to read the cells, in words without markup."""

    def __post_init__(self) -> None:
        """Raise `ValueError` if a row does not have one cell per column."""
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"a row has {len(row)} cells, but the table has {len(self.columns)} columns: {row}")


def value_cell(
    estimate: Mean | Estimate | None, *, n: int | None = None, unscored: int = 0, form: str = ""
) -> ValueCell | EmptyCell:
    """Return the cell of a mean or estimate; an `EmptyCell` with the reason if it has no value."""
    if estimate is None or estimate.value is None:
        return EmptyCell(unscored, reason=getattr(estimate, "reason", ""))
    from editgauge._stats.intervals import MIN_SOURCES  # imports scipy, which plain tables do not need

    few = estimate.clusters < MIN_SOURCES
    return ValueCell(estimate.value, estimate.low, estimate.high, n, unscored, few, format=form)


def directed(name: str, *, higher_is_better: bool | None) -> str:
    """Append an arrow for the direction of a score to its name.

    >>> directed("ssim", higher_is_better=True), directed("l1", higher_is_better=False)
    ('ssim ↑', 'l1 ↓')
    """
    return name if higher_is_better is None else f"{name} {'↑' if higher_is_better else '↓'}"


def as_markdown(table: ResultTable) -> str:
    """Render a pipe table under a level-three heading."""
    header = [markdown_safe(column.title) for column in table.columns]
    lines = [_pipes(header), "|" + "---|" * len(header), *(_pipes(row) for row in _texts(table, markdown_safe))]
    legend = f" ({table.legend})" if table.legend else ""
    return "\n".join([*([f"### {markdown_safe(table.title)}{legend}", ""] if table.title else []), *lines, ""])


def as_latex(table: ResultTable) -> str:
    """Render a `table` environment; needs the package booktabs."""
    rows = [[latex_safe(column.title) for column in table.columns], *_texts(table, latex_safe)]
    header, *body = (" & ".join(row) + r" \\" for row in rows)
    legend = f" ({latex_safe(table.legend)})" if table.legend else ""
    alignment = "".join(column.align[0] for column in table.columns)
    return "\n".join(
        [
            r"\begin{table}",
            r"\caption{" + latex_safe(table.title) + legend + "}",
            r"\begin{tabular}{" + alignment + "}",
            *(r"\toprule", header, r"\midrule", *body, r"\bottomrule"),
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )


def as_html(table: ResultTable, style: str = "numbers") -> Markup:
    """Render a table in a region that scrolls sideways.

    The first cell of a row is its heading.

    Args:
        table: the table.
        style: CSS class of the table element.

    """
    header = Markup().join(_html_header(column) for column in table.columns)
    rows = Markup("\n").join(_html_row(table.columns, row) for row in table.rows)
    return Markup(
        '<div class="scroll" tabindex="0" role="region" aria-label="{title}">\n<table class="{style}">\n'
        "<thead><tr>{header}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table>\n</div>"
    ).format(title=table.title, style=style, header=header, rows=rows)


def markdown_safe(text: str) -> str:
    """Escape Markdown markup; an underscore inside a word is not markup."""
    return re.sub(r"[\\|*`<>\[\]]|(?<!\w)_|_(?!\w)", r"\\\g<0>", text)


def latex_safe(text: str) -> str:
    """Escape every character that is special in LaTeX."""
    return "".join(_LATEX.get(character, character) for character in text)


_LATEX: Mapping[str, str] = {
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
}


def format_numbers(cell: ValueCell, column: Column) -> tuple[str, tuple[str, str] | None]:
    """Format the value with its mark, and the ends of its interval, as the cell or its column says."""
    form = cell.format or column.format
    interval = None if cell.low is None or cell.high is None else (f"{cell.low:{form}}", f"{cell.high:{form}}")
    return f"{cell.value:{form}}{cell.mark}", interval


def _pipes(texts: Iterable[str]) -> str:
    return f"| {' | '.join(texts)} |"


def _texts(table: ResultTable, safe: Callable[[str], str]) -> list[list[str]]:
    """Render every cell on one line."""
    return [
        [_inline(cell, column, safe) for cell, column in zip(row, table.columns, strict=True)] for row in table.rows
    ]


def _inline(cell: TableCell, column: Column, safe: Callable[[str], str]) -> str:
    if isinstance(cell, ValueCell):
        value, interval = format_numbers(cell, column)
        parts = [safe(value)]
        if interval:
            parts.append(f"[{safe(', '.join(interval))}]" + (" (few)" if cell.few else ""))
        if cell.n is not None:
            parts.append(f"n={cell.n}" + (f"+{cell.unscored}" if cell.unscored else ""))
        return " ".join([*parts, *([safe(cell.note)] if cell.note else [])])
    if isinstance(cell, EmptyCell):
        return safe(cell.text) or (f"unscored {cell.unscored}" if cell.unscored else "-")
    if isinstance(cell, Label):
        return safe(f"{cell.text} {cell.note}".rstrip())
    return safe(f"{cell:{column.format}}" if isinstance(cell, float) else str(cell))


def _html_header(column: Column) -> Markup:
    number = Markup(' class="number"') if column.align == "right" else ""
    about = Markup(' title="{}"').format(column.about) if column.about else ""
    return Markup('<th scope="col"{}{}>{}</th>').format(number, about, column.title)


def _html_row(columns: Sequence[Column], row: Sequence[TableCell]) -> Markup:
    cells = (_html_cell(cell, column) for cell, column in zip(row[1:], columns[1:], strict=True))
    heading = Markup('<th scope="row"><bdi>{}</bdi></th>').format(_html_text(row[0], columns[0]))
    return Markup("<tr>{}{}</tr>").format(heading, Markup().join(cells))


def _html_cell(cell: TableCell, column: Column) -> Markup:
    number = Markup(' class="number"') if column.align == "right" else ""
    reason = Markup(' title="{}"').format(cell.reason) if isinstance(cell, EmptyCell) and cell.reason else ""
    return Markup("<td{}{}>{}</td>").format(number, reason, _html_text(cell, column))


def _html_text(cell: TableCell, column: Column) -> Markup:
    if isinstance(cell, ValueCell):
        value, interval = format_numbers(cell, column)
        parts = [Markup("{}").format(value.replace("-", "−"))]
        if interval:
            few = Markup('<sup class="few">†</sup>') if cell.few else ""
            ends = f"[{', '.join(interval)}]".replace("-", "−")
            parts.append(Markup('<span class="interval">{}{}</span>').format(ends, few))
        notes = [f"n {cell.n:,}" if cell.n is not None else "", f"{cell.unscored:,} unscored" if cell.unscored else ""]
        parts += [_html_note(note) for note in (*notes, cell.note) if note]
        return Markup(" ").join(parts)
    if isinstance(cell, EmptyCell):
        return _html_note(cell.text or (f"{cell.unscored:,} unscored" if cell.unscored else "no score"))
    if isinstance(cell, Label):
        tag = Markup("<b>{}</b>") if cell.style == "strong" else Markup("{}")
        text = _html_note(cell.text) if cell.style == "weak" else tag.format(cell.text)
        return Markup(" ").join([text, _html_note(cell.note)]) if cell.note else text
    return Markup("{}").format(f"{cell:{column.format}}" if isinstance(cell, float) else cell)


def _html_note(text: str) -> Markup:
    return Markup('<span class="n">{}</span>').format(text)
