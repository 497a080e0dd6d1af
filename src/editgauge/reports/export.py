"""The verb `export`: the scores of a run for other programs, and its summary for a paper."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

from editgauge.analysis.summary import ALL, Cell, edit_types, summarise
from editgauge.core.errors import BadInput, UnknownName
from editgauge.core.files import write_bytes
from editgauge.core.run import Run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

COLUMNS = ("edit", "edit_type", "source", "method", "seed", "protocol", "name", "value", "status", "reason", "detail")
"""Paths and times stay in the run folder: the same scores give the same bytes on every machine."""


def export(run: str | Path, format: str, out: str | Path | None = None) -> bytes:  # noqa: A002
    """The scores (csv, jsonl, parquet) or the summary table (markdown, latex) of a run, as bytes.

    Args:
        run: the run folder.
        format: csv, jsonl, parquet, markdown or latex.
        out: a file to write; without it the bytes are only returned.
    """
    if format not in FORMATS:
        raise UnknownName("format", format, FORMATS, "editgauge export --help")
    content = FORMATS[format](Run.open(Path(run)))
    if out is not None:
        if Path(out).is_dir():
            raise BadInput(f"'{out}' is a folder; give a file such as '{Path(out) / ('scores.' + format)}'.")
        write_bytes(Path(out), content)
    return content


def _rows(run: Run) -> Iterable[dict[str, Any]]:
    table = run.scores.select([column for column in COLUMNS if column != "status"])
    for batch in table.to_batches(max_chunksize=10_000):
        for row in batch.to_pylist():
            status = "unscored" if row["value"] is None else "scored"
            yield {column: status if column == "status" else row[column] for column in COLUMNS}


def _csv(run: Run) -> bytes:
    lines = _Lines()
    writer = csv.DictWriter(lines, COLUMNS, lineterminator="\r\n")
    writer.writeheader()
    writer.writerows(_rows(run))
    return "".join(lines).encode()


class _Lines(list[str]):
    """Ends lines with a line feed only. Were the writer told so, it would not put a field with a carriage return in
    quotes (before Python 3.13), and readers take that for the end of a line."""

    def write(self, line: str) -> None:
        self.append(line.removesuffix("\r\n") + "\n")


def _jsonl(run: Run) -> bytes:
    return b"".join(json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in _rows(run))


def _parquet(run: Run) -> bytes:
    import pyarrow as pa
    import pyarrow.compute as pc

    table = run.scores
    status = pc.if_else(pc.is_null(table["value"]), "unscored", "scored")
    table = table.append_column("status", status).select(list(COLUMNS))
    words = {pa.dictionary(pa.int32(), pa.string())}
    plain = pa.schema([(f.name, pa.string() if f.type in words else f.type) for f in table.schema])
    sink = pa.BufferOutputStream()
    pq.write_table(table.cast(plain), sink, compression="zstd")
    return bytes(sink.getvalue().to_pybytes())


def _markdown(run: Run) -> bytes:
    lines = []
    for title, header, body in _tables(run, _markdown_safe):
        lines += [f"### {title}", "", _markdown_row(header), f"|{'---|' * len(header)}"]
        lines += map(_markdown_row, body)
        lines.append("")
    return "\n".join(lines).encode()


def _latex(run: Run) -> bytes:
    lines = ["% needs \\usepackage{booktabs}"]
    for title, header, body in _tables(run, _latex_safe):
        rows = [" & ".join(row) + r" \\" for row in (header, *body)]
        lines += [
            r"\begin{table}",
            r"\caption{" + title + "}",
            r"\begin{tabular}{l" + "r" * (len(header) - 1) + "}",
            r"\toprule",
            rows[0],
            r"\midrule",
            *rows[1:],
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    return "\n".join(lines).encode()


def _tables(run: Run, safe: Callable[[str], str]) -> Iterable[tuple[str, list[str], list[list[str]]]]:
    """One table per score: a row per edit type, a column per method. `safe` is for names, which may hold any sign."""
    cells = {(cell.protocol, cell.spec.name, cell.method, cell.edit_type): cell for cell in summarise(run)}
    methods = list(run.manifest.methods)
    for protocol, entry in run.manifest.protocols.items():
        for spec in entry.scores:
            better = "higher" if spec.higher_is_better else "lower"
            columns = f"mean [{safe('95 % interval')}] n scored + unscored"
            title = f"{safe(protocol)}: {safe(spec.name)} ({better} is better; {columns})"
            body = [
                [safe(edit_type), *(_cell(cells.get((protocol, spec.name, method, edit_type))) for method in methods)]
                for edit_type in (*edit_types(run), ALL)
            ]
            yield title, ["edit type", *map(safe, methods)], body


def _cell(cell: Cell | None) -> str:
    if cell is None:
        return "-"
    unscored = sum(cell.unscored.values())
    if cell.mean is None:
        return f"unscored {unscored}"
    interval = f" [{cell.mean.low:.3f}, {cell.mean.high:.3f}]" if cell.mean.low is not None else ""
    return f"{cell.mean.value:.3f}{interval} n={cell.mean.n}" + (f"+{unscored}" if unscored else "")


def _markdown_row(texts: Sequence[str]) -> str:
    return f"| {' | '.join(texts)} |"


def _markdown_safe(name: str) -> str:
    """Escapes what would be taken for markup; an underscore inside a word is none."""
    return re.sub(r"[\\|*`<>\[\]]|(?<!\w)_|_(?!\w)", r"\\\g<0>", name)


def _latex_safe(text: str) -> str:
    named = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    return "".join(named.get(sign, f"\\{sign}" if sign in "&%$#_{}" else sign) for sign in text)


FORMATS: dict[str, Callable[[Run], bytes]] = {
    "csv": _csv,
    "jsonl": _jsonl,
    "parquet": _parquet,
    "markdown": _markdown,
    "latex": _latex,
}
