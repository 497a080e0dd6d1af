"""The verb `export`: the scores of a run for other programs, and what a paper needs of it."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from editgauge.analysis.summary import ALL, FEW_SOURCES, Cell, edit_types, summarise
from editgauge.core.errors import BadInput, UnknownName
from editgauge.core.files import write_bytes
from editgauge.core.run import Run
from editgauge.reports import paper
from editgauge.reports.words import without_folders

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

COLUMNS = ("edit", "edit_type", "source", "method", "seed", "protocol", "name", "value", "status", "reason", "detail")
"""Paths and times stay in the run folder: the same scores give the same bytes on every machine. A path that a detail
quotes is cut to the file and its folder."""
MEAN = ("mean", "low", "high")
MEANS = ("protocol", "name", "method", "edit_type", *MEAN, "n", "source_images", "unscored", "reasons")


def export(run: str | Path, format: str, out: str | Path | None = None, summary: bool = False) -> bytes:  # noqa: A002
    """The scores or the summary of a run for other programs and papers, as bytes.

    Args:
        run: the run folder.
        format: csv, jsonl or parquet: a row for every score; markdown or latex: a table of means for every score;
            methods-text, methods-markdown or methods-latex: how it was measured, to be pasted into a paper; paper: a
            folder with these, the tables, and every plot as SVG and PDF, whose list of files is given.
        out: a file to write, for paper a folder; without it the bytes are only returned.
        summary: in csv, jsonl and parquet too, the means with intervals and counts instead of every score.
    """
    if format != PAPER and format not in FORMATS:
        raise UnknownName("format", format, (*FORMATS, PAPER), "editgauge export --help")
    opened = Run.open(Path(run))
    if format == PAPER:
        return _paper(opened, out)
    content = SUMMARY_FORMATS[format](opened) if summary and format in SUMMARY_FORMATS else FORMATS[format](opened)
    if out is not None:
        if Path(out).is_dir():
            raise BadInput(f"'{out}' is a folder; give a file such as '{Path(out) / ('scores.' + format)}'.")
        write_bytes(Path(out), content)
    return content


def _paper(run: Run, out: str | Path | None) -> bytes:
    if out is None:
        raise BadInput("The format 'paper' is a folder of files: say where with --out FOLDER.")
    if Path(out).is_file():
        raise BadInput(f"'{out}' is a file; the format 'paper' writes a folder.")
    files = {"tables.tex": _latex(run), "tables.md": _markdown(run), **paper.files(run)}
    for name, content in files.items():
        write_bytes(Path(out) / name, content)
    return "".join(f"{name}\n" for name in sorted(files)).encode()


def _means(run: Run) -> list[dict[str, Any]]:
    """The summary, a row for every mean; `reasons` tells how many of each kind have no score."""
    rows = []
    for cell in summarise(run):
        mean = cell.mean
        told = {"protocol": cell.protocol, "name": cell.spec.name, "method": cell.method, "edit_type": cell.edit_type}
        interval = {"mean": mean.value, "low": mean.low, "high": mean.high} if mean else dict.fromkeys(MEAN)
        counts = {
            "n": cell.scored,
            "source_images": mean.clusters if mean else 0,
            "unscored": sum(cell.unscored.values()),
        }
        reasons = "; ".join(f"{reason} {count}" for reason, count in cell.unscored.items())
        rows.append({**told, **interval, **counts, "reasons": reasons})
    return rows


def _rows(run: Run) -> Iterable[dict[str, Any]]:
    table = _without_folders(run.scores).select([column for column in COLUMNS if column != "status"])
    for batch in table.to_batches(max_chunksize=10_000):
        for row in batch.to_pylist():
            status = "unscored" if row["value"] is None else "scored"
            yield {column: status if column == "status" else row[column] for column in COLUMNS}


def _without_folders(scores: pa.Table) -> pa.Table:
    """The scores with details that tell nothing of the machine they were made on."""
    detail = scores["detail"].unify_dictionaries().combine_chunks()
    cut = [without_folders(text) for text in detail.dictionary.to_pylist()]
    words = pa.array(cut, pa.string()).take(detail.indices)
    return scores.set_column(scores.schema.get_field_index("detail"), "detail", words)


def _csv(rows: Iterable[dict[str, Any]], columns: Sequence[str]) -> bytes:
    lines = _Lines()
    writer = csv.DictWriter(lines, columns, lineterminator="\r\n")
    writer.writeheader()
    writer.writerows(rows)
    return "".join(lines).encode()


class _Lines(list[str]):
    """Ends lines with a line feed only. Were the writer told so, it would not put a field with a carriage return in
    quotes (before Python 3.13), and readers take that for the end of a line."""

    def write(self, line: str) -> None:
        self.append(line.removesuffix("\r\n") + "\n")


def _jsonl(rows: Iterable[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in rows)


def _parquet(run: Run) -> bytes:
    table = _without_folders(run.scores)
    status = pc.if_else(pc.is_null(table["value"]), "unscored", "scored")
    table = table.append_column("status", status).select(list(COLUMNS))
    words = {pa.dictionary(pa.int32(), pa.string())}
    plain = pa.schema([(f.name, pa.string() if f.type in words else f.type) for f in table.schema])
    return _parquet_of(table.cast(plain))


def _parquet_of(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    return bytes(sink.getvalue().to_pybytes())


def _means_table(run: Run) -> pa.Table:
    kinds = {**dict.fromkeys(MEAN, pa.float64()), **dict.fromkeys(("n", "source_images", "unscored"), pa.int64())}
    schema = pa.schema([(column, kinds.get(column, pa.string())) for column in MEANS])
    return pa.Table.from_pylist(_means(run), schema=schema)


def _markdown(run: Run) -> bytes:
    lines = []
    for title, header, body in _tables(run, paper.markdown_safe):
        lines += [f"### {title}", "", _markdown_row(header), f"|{'---|' * len(header)}"]
        lines += map(_markdown_row, body)
        lines.append("")
    return "\n".join(lines).encode()


def _latex(run: Run) -> bytes:
    lines = ["% needs \\usepackage{booktabs}"]
    for title, header, body in _tables(run, paper.latex_safe):
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
            columns = f"mean [{safe('95 % interval')}] n scored + unscored; few: under {FEW_SOURCES} source images"
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
    few = " (few)" if cell.mean.clusters < FEW_SOURCES else ""
    interval = f" [{cell.mean.low:.3f}, {cell.mean.high:.3f}]{few}" if cell.mean.low is not None else ""
    return f"{cell.mean.value:.3f}{interval} n={cell.mean.n}" + (f"+{unscored}" if unscored else "")


def _markdown_row(texts: Sequence[str]) -> str:
    return f"| {' | '.join(texts)} |"


FORMATS: dict[str, Callable[[Run], bytes]] = {
    "csv": lambda run: _csv(_rows(run), COLUMNS),
    "jsonl": lambda run: _jsonl(_rows(run)),
    "parquet": _parquet,
    "markdown": _markdown,
    "latex": _latex,
    "methods-text": lambda run: paper.as_text(run).encode(),
    "methods-markdown": lambda run: paper.as_markdown(run).encode(),
    "methods-latex": lambda run: paper.as_latex(run).encode(),
}
PAPER = "paper"
SUMMARY_FORMATS: dict[str, Callable[[Run], bytes]] = {
    "csv": lambda run: _csv(_means(run), MEANS),
    "jsonl": lambda run: _jsonl(_means(run)),
    "parquet": lambda run: _parquet_of(_means_table(run)),
}
