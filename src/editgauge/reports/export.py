"""Exports of a run for other programs, streamed so that a million rows are never in memory at once."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator
from io import RawIOBase
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from editgauge._render.tables import (
    Column,
    EmptyCell,
    Label,
    ResultTable,
    TableCell,
    ValueCell,
    as_latex,
    as_markdown,
    value_cell,
)
from editgauge._render.text import without_folders
from editgauge._stats.intervals import Mean
from editgauge._stats.pairwise import Rank
from editgauge._stats.resampling import Estimate
from editgauge._util.files import write_bytes, write_parts
from editgauge._util.text import csv_text
from editgauge._util.variants import base_name
from editgauge.analysis._groups import divisions, group_cells, values_of
from editgauge.analysis.aggregation import MeasuredFigure, measured_figures
from editgauge.analysis.significance import RunTests
from editgauge.analysis.summary import ALL, FEW_SOURCES, Cell, edit_types, summarize
from editgauge.edit_types import vocabulary
from editgauge.errors import BadInputError, UnknownNameError
from editgauge.protocols.unibench._rules import CONSISTENCY, FIDELITY, average, total
from editgauge.reports import _paper as paper
from editgauge.reports._outcomes import has_verdicts, read_verdicts
from editgauge.reports.sections.standard import set_tables
from editgauge.results import OutcomeKey, Run, SetScore

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from editgauge.protocols.unibench._rules import Means

COLUMNS = ("edit", "edit_type", "source", "method", "seed", "protocol", "name", "value", "status", "reason", "detail")
"""No paths or times, so that the same scores give the same bytes on every machine; paths in details are shortened."""
ROWS_AT_ONCE = 10_000
ROWS_PER_CHUNK = 1 << 15
"""A multiple of the 1,024 rows that pyarrow writes at a time, so that the bytes of a Parquet file are those of a table
written in one piece."""
CHUNKS_PER_GROUP = 32
"""Chunks per row group of a Parquet file: a million rows, the default of pyarrow."""
TYPES = {"seed": pa.int64(), "value": pa.float64()}
GROUP = "group_"
"""Prefix of columns with the groups that the benchmark defines."""


VERDICT_COLUMNS = ("done", "kept", "quality", "confidence", "because")
"""The verdict on the outcome of a row, in runs with a protocol that tells if an edit was done."""


def columns_of(run: Run) -> tuple[str, ...]:
    """Return the columns of a run's rows, with one for each division of its benchmark, and the verdict."""
    groups = (f"{GROUP}{name}" for name in divisions(run))
    return (*COLUMNS, *groups, *(VERDICT_COLUMNS if has_verdicts(run) else ()))


def schema_of(run: Run) -> pa.Schema:
    """Return the columns with their types."""
    return pa.schema([(column, TYPES.get(column, pa.string())) for column in columns_of(run)])


def tables_of(run: Run) -> Iterator[pa.Table]:
    """Yield every score in the run's order, a bounded number of rows at a time."""
    verdicts = {key: verdict.columns for key, verdict in read_verdicts(run).items()} if has_verdicts(run) else None
    groups = {name: values_of(run, name) for name in divisions(run)}
    for scores in run.iter_scores([column for column in COLUMNS if column != "status"]):
        status = pc.if_else(pc.is_null(scores["value"]), "unscored", "scored")
        detail = pa.chunked_array([pa.array(map(without_folders, scores["detail"].to_pylist()), pa.string())])
        index = scores.schema.get_field_index("detail")
        rows = scores.set_column(index, "detail", detail).append_column("status", status).select(list(COLUMNS))
        for name, values in groups.items():
            column = pa.array(map(values.get, scores["edit"].to_pylist()), pa.string())
            rows = rows.append_column(f"{GROUP}{name}", column)
        if verdicts is not None:
            keys = list(map(OutcomeKey, *(scores[column].to_pylist() for column in OutcomeKey._fields)))
            for name in VERDICT_COLUMNS:
                rows = rows.append_column(name, pa.array((verdicts[key][name] for key in keys), pa.string()))
        yield rows
    if run.sets:
        yield pa.Table.from_pylist([_of_set(score) for score in run.sets], schema=schema_of(run))


def _of_set(score: SetScore) -> dict[str, Any]:
    """Return the row of a score of a set of outcomes, such as FID, which has no edit."""
    return {
        "edit_type": score.edit_type,
        "method": score.method,
        "protocol": score.protocol,
        "name": score.name,
        "value": score.value,
        "status": "scored" if score.value is not None else "unscored",
        "reason": score.reason or None,
        "detail": without_folders(score.detail) or None,
    }


def rows_of(run: Run) -> Iterator[dict[str, Any]]:
    """Yield one mapping per score."""
    for table in tables_of(run):
        for batch in table.to_batches(max_chunksize=ROWS_AT_ONCE):
            yield from batch.to_pylist()


def as_csv(rows: Iterable[dict[str, Any]], columns: Sequence[str]) -> Iterator[bytes]:
    """Yield CSV with a header; texts that a spreadsheet would take for a formula are escaped."""
    lines = _Lines()
    writer = csv.DictWriter(lines, columns, lineterminator="\r\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({name: csv_text(cell) if isinstance(cell, str) else cell for name, cell in row.items()})
        if len(lines) >= ROWS_AT_ONCE:
            yield lines.taken()
    yield lines.taken()


class _Lines(list[str]):
    """Lines of CSV that end with a line feed only.

    A writer with that line terminator would not quote a field with a carriage return (before Python 3.13), which
    readers take for the end of a line.
    """

    def write(self, line: str) -> None:
        self.append(line.removesuffix("\r\n") + "\n")

    def taken(self) -> bytes:
        """Return the content since the last call."""
        content = "".join(self).encode()
        self.clear()
        return content


def as_jsonl(rows: Iterable[dict[str, Any]]) -> Iterator[bytes]:
    """Yield one line of JSON per row."""
    return (json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in rows)


def as_parquet(tables: Iterable[pa.Table], schema: pa.Schema) -> Iterator[bytes]:
    """Yield Parquet, one row group after the other; one empty group if there are no rows."""
    sink = _Sink()
    chunks = _chunks(tables, schema)
    with pq.ParquetWriter(sink, schema, compression="zstd") as writer:
        group = list(islice(chunks, CHUNKS_PER_GROUP)) or [schema.empty_table()]
        while group:
            writer.write_table(pa.concat_tables(group), CHUNKS_PER_GROUP * ROWS_PER_CHUNK)
            yield sink.taken()
            group = list(islice(chunks, CHUNKS_PER_GROUP))
    yield sink.taken()


class _Sink(RawIOBase):
    """A stream that buffers content until it is taken."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, content: Any) -> int:
        self._parts.append(bytes(content))
        return len(self._parts[-1])

    def taken(self) -> bytes:
        """Return the content since the last call."""
        content = b"".join(self._parts)
        self._parts.clear()
        return content


def _chunks(tables: Iterable[pa.Table], schema: pa.Schema) -> Iterator[pa.Table]:
    """Yield the rows in chunks of equal size, except for the last."""
    left = schema.empty_table()
    for table in tables:
        left = pa.concat_tables([left, table])
        while left.num_rows >= ROWS_PER_CHUNK:
            yield left.slice(0, ROWS_PER_CHUNK).combine_chunks()
            left = left.slice(ROWS_PER_CHUNK)
    if left.num_rows:
        yield left.combine_chunks()


UNIBENCH = "unibench"
UNIBENCH_COLUMNS = (
    Column("model", align="left"),
    Column("task", align="left"),
    Column("target fidelity"),
    Column("position fidelity"),
    Column("fidelity, average"),
    Column("target consistency"),
    Column("background consistency"),
    Column("consistency, average"),
)
LEGEND = "Averages are means of the scores that a task has; totals are means over tasks, taken before rounding."


def unibench_table(run: Run) -> str:
    """Render table 1 of UniBench for every variant of the protocol: methods by tasks, with averages and totals."""
    readings = [name for name in run.manifest.protocols if base_name(name) == UNIBENCH]
    if not readings:
        raise BadInputError(
            f"The run '{run.folder}' has no scores of the protocol 'unibench', which table 1 is made of; "
            f"its protocols are {', '.join(run.manifest.protocols)}."
        )
    return "\n".join(as_markdown(_unibench_reading(run, reading)) for reading in readings)


def _unibench_reading(run: Run, reading: str) -> ResultTable:
    means = _unibench_means(run, reading)
    rows = [row for method in run.manifest.methods for row in _unibench_rows(method, means.get(method, {}))]
    return ResultTable(UNIBENCH_COLUMNS, rows, f"{reading}: table 1 of UniBench", LEGEND)


def _unibench_means(run: Run, reading: str) -> Mapping[str, Means]:
    """Return method to task to score to mean."""
    tasks = {edit_type: task for task, edit_type in vocabulary(UNIBENCH).items()}
    means: dict[str, dict[str, dict[str, float]]] = {}
    for cell in summarize(run):
        if cell.protocol == reading and cell.edit_type != ALL and cell.edit_type in tasks and cell.mean:
            of_task = means.setdefault(cell.method, {}).setdefault(tasks[cell.edit_type], {})
            of_task[cell.spec.name] = cell.mean.value
    return means


def _unibench_rows(method: str, means: Means) -> list[list[TableCell]]:
    rows: list[list[TableCell]] = []
    for task in FIDELITY:
        scores = means.get(task)
        if scores is None:
            continue
        numbers = [
            *map(scores.get, ("target_fidelity", "position_fidelity")),
            average(scores, FIDELITY[task]),
            *map(scores.get, ("target_consistency", "background_consistency")),
            average(scores, CONSISTENCY[task]),
        ]
        rows.append([method, task.replace("_", " "), *map(_number, numbers)])
    empty = EmptyCell(text="")
    head = Label(method, style="strong"), Label("total", style="strong")
    fidelity, consistency = _number(total(means, FIDELITY)), _number(total(means, CONSISTENCY))
    return [*rows, [*head, empty, empty, fidelity, empty, empty, consistency]]


def _number(value: float | None) -> TableCell:
    return EmptyCell(text="-") if value is None else value


INTERVAL_COLUMNS = ("mean", "low", "high")
RANK_COLUMNS = ("place", "place_low", "place_high")
MEANS = (
    *(
        "protocol",
        "name",
        "method",
        "edit_type",
        "group",
        "figure",
        *INTERVAL_COLUMNS,
        "n",
        "source_images",
        "unscored",
        "reasons",
    ),
    *("interval_method", *RANK_COLUMNS),
)


def export(run: str | Path, *, format: str, out: str | Path | None = None, summary: bool = False) -> bytes:  # noqa: A002
    """Export the scores of a run for other programs, or its summary for a paper.

    Example:
        $ editgauge export run --format csv > scores.csv
        $ editgauge export run --format paper --out paper
        >>> editgauge.export("run", format="csv")

    Args:
        run: run folder.
        format: `csv`, `jsonl`, `parquet`: every score; `markdown`, `latex`: the summary; `unibench`: its table 1;
            `methods-text`, `methods-markdown`, `methods-latex`: how it was measured; `paper`: a folder with all of this
            and the figures.
        out: file to write, for paper a folder; default: standard output, in Python the bytes.
        summary: means with intervals and n, in csv, jsonl and parquet too.

    """
    if format == PAPER:
        return _paper(Run.open(Path(run)), out)
    parts = export_parts(run, format, summary=summary)
    if out is None:
        return b"".join(parts)
    if Path(out).is_dir():
        raise BadInputError(f"'{out}' is a folder; give a file such as '{Path(out) / ('scores.' + format)}'.")
    write_parts(Path(out), parts)
    return f"{Path(out).name}\n".encode()


def export_parts(run: str | Path, format: str, *, summary: bool = False) -> Iterable[bytes]:  # noqa: A002
    """Yield the content of an export part by part."""
    if format in PAPER_TABLES:
        return PAPER_TABLES[format](Run.open(Path(run)))
    if format not in FORMATS:
        raise UnknownNameError("format", format, (*FORMATS, *PAPER_TABLES, PAPER), "editgauge export --help")
    formats = SUMMARY_FORMATS if summary and format in SUMMARY_FORMATS else FORMATS
    return formats[format](Run.open(Path(run)))


def _paper(run: Run, out: str | Path | None) -> bytes:
    if out is None:
        raise BadInputError("The format 'paper' writes a folder of files: pass `out`.")
    if Path(out).is_file():
        raise BadInputError(f"'{out}' is a file; the format 'paper' writes a folder.")
    files = {"tables.tex": _latex(run), "tables.md": _markdown(run), **paper.paper_files(run)}
    for name, content in files.items():
        write_bytes(Path(out) / name, content)
    return "".join(f"{name}\n" for name in sorted(files)).encode()


def means_of(run: Run) -> list[dict[str, Any]]:
    """Return the summary, one row per mean; `reasons` counts what has no score."""
    ranks = RunTests(run).ranks((*edit_types(run), ALL))
    return [
        *(
            _mean_of_cell(cell, ranks.get((cell.protocol, cell.spec.name, cell.edit_type, cell.method)))
            for cell in summarize(run)
        ),
        *(_mean_of_cell(group.cell, None, group.label) for group in group_cells(run)),
        *map(_mean_of_set, run.sets),
        *(row for measured in measured_figures(run) for row in _figure(measured)),
    ]


def _mean_of_cell(cell: Cell, rank: Rank | None, group: str = "") -> dict[str, Any]:
    mean = cell.mean
    row = _row((cell.protocol, cell.spec.name, cell.method, cell.edit_type), mean, cell.scored)
    row |= {
        "group": group,
        "source_images": mean.clusters if mean else 0,
        "unscored": sum(cell.unscored.values()),
        "reasons": "; ".join(f"{reason} {count}" for reason, count in cell.unscored.items()),
        "interval_method": mean.method if mean else "",
    }
    return row | (dict(zip(RANK_COLUMNS, (rank.value, rank.low, rank.high), strict=True)) if rank else {})


def _figure(measured: MeasuredFigure) -> Iterator[dict[str, Any]]:
    """Yield the figure of the paper for each method, and its other averages by name."""
    averages = {measured.title: measured.methods}
    averages |= {f"{measured.title}, instead {name}": methods for name, methods in measured.alternatives.items()}
    for figure, methods in averages.items():
        for method, estimate in methods.items():
            yield _row((measured.protocol, " ".join(measured.figure.scores), method, ALL), estimate, estimate.n) | {
                "group": " ".join(f"{name}={value}" for name, value in measured.figure.where.items()),
                "figure": figure,
                "source_images": estimate.clusters,
                "reasons": estimate.reason,
                "interval_method": estimate.method,
            }


def _mean_of_set(score: SetScore) -> dict[str, Any]:
    """Return the row of a score of a set of outcomes, such as FID."""
    reasons = [f"{reason} {count}" for reason, count in score.reasons.items()]
    if score.value is None:
        reasons.append(f"{score.reason}: {score.detail}".strip(": "))
    return _row((score.protocol, score.name, score.method, score.edit_type), score, score.n) | {
        "unscored": score.missing,
        "reasons": "; ".join(filter(None, reasons)),
        "interval_method": score.interval_method,
    }


def _row(key: tuple[str, str, str, str], mean: Mean | Estimate | SetScore | None, n: int) -> dict[str, Any]:
    """Return a row with all columns of `MEANS`, from protocol, name, method and edit type; the caller fills in more."""
    row: dict[str, Any] = dict.fromkeys(MEANS) | {"group": "", "figure": ""}
    row |= dict(zip(("protocol", "name", "method", "edit_type"), key, strict=True)) | {"n": n}
    return row | ({"mean": mean.value, "low": mean.low, "high": mean.high} if mean else {})


def _means_table(run: Run) -> pa.Table:
    kinds = {
        **dict.fromkeys(INTERVAL_COLUMNS, pa.float64()),
        **dict.fromkeys(("n", "source_images", "unscored", *RANK_COLUMNS), pa.int64()),
    }
    schema = pa.schema([(column, kinds.get(column, pa.string())) for column in MEANS])
    return pa.Table.from_pylist(means_of(run), schema=schema)


def _markdown(run: Run) -> bytes:
    return "\n".join(map(as_markdown, _tables(run))).encode()


def _latex(run: Run) -> bytes:
    return "\n".join(["% needs \\usepackage{booktabs}", *map(as_latex, _tables(run))]).encode()


def _tables(run: Run) -> Iterator[ResultTable]:
    """Yield one table per score: a row per edit type and group of the benchmark, a column per method."""
    in_groups = group_cells(run)
    cells = {(cell.protocol, cell.spec.name, cell.method, cell.edit_type): cell for cell in summarize(run)}
    cells |= {(g.cell.protocol, g.cell.spec.name, g.cell.method, g.label): g.cell for g in in_groups}
    labels = (*edit_types(run), ALL, *dict.fromkeys(group.label for group in in_groups))
    methods = list(run.manifest.methods)
    verdicts = RunTests(run)
    for protocol, entry in run.manifest.protocols.items():
        for spec in entry.scores:
            better = "higher" if spec.higher_is_better else "lower"
            values = f"mean [95% interval] n scored + unscored; few: under {FEW_SOURCES} source images"
            score_verdicts = verdicts.of(protocol, spec.name)
            ranks = score_verdicts.ranks if score_verdicts and len(score_verdicts.methods) > 1 else {}
            yield ResultTable(
                columns=[
                    Column("edit type or group" if in_groups else "edit type", align="left"),
                    *map(Column, methods),
                ],
                rows=[
                    *(
                        [label, *(_cell(cells.get((protocol, spec.name, method, label))) for method in methods)]
                        for label in labels
                    ),
                    *([["rank [95%]", *(str(ranks.get(method, "-")) for method in methods)]] if ranks else []),
                ],
                title=f"{protocol}: {spec.name}",
                legend=f"{better} is better; {values}",
            )
    yield from _figure_tables(run, methods)
    for table in set_tables(run.sets, methods):
        better = "higher" if table.higher_is_better else "lower"
        by_kind = zip(*(table.rows[method] for method in methods), strict=True)
        yield ResultTable(
            columns=[Column("edit type", align="left"), *map(Column, methods)],
            rows=[
                [kind, *(f"{value} {count}".strip() or "-" for value, count in cells)]
                for kind, cells in zip(table.kinds, by_kind, strict=True)
            ],
            title=f"{table.protocol}: {table.name}",
            legend=f"{better} is better; of all outcomes together [95% interval]",
        )


def _figure_tables(run: Run, methods: list[str]) -> Iterator[ResultTable]:
    """Yield the figures of papers, and the same values averaged otherwise."""
    for measured in measured_figures(run):
        yield ResultTable(
            columns=[Column("average", align="left"), *map(Column, methods)],
            rows=[
                [name, *(_estimate(of_methods[method]) for method in methods)]
                for name, of_methods in measured.averages.items()
            ],
            title=measured.title,
            legend=f"{measured.protocol}; the first row is what the paper prints: {measured.figure.paper}",
        )


def _estimate(estimate: Estimate) -> ValueCell | EmptyCell:
    if estimate.value is None:
        return EmptyCell(text=f"none: {estimate.reason}")
    return value_cell(estimate, n=estimate.n)


def _cell(cell: Cell | None) -> ValueCell | EmptyCell:
    if cell is None:
        return EmptyCell()
    unscored, mean = sum(cell.unscored.values()), cell.mean
    if mean is None:
        return EmptyCell(unscored, text=f"unscored {unscored}")
    return value_cell(mean, n=mean.n, unscored=unscored)


Export = Callable[[Run], Iterable[bytes]]
FORMATS: dict[str, Export] = {
    "csv": lambda run: as_csv(rows_of(run), columns_of(run)),
    "jsonl": lambda run: as_jsonl(rows_of(run)),
    "parquet": lambda run: as_parquet(tables_of(run), schema_of(run)),
    "markdown": lambda run: (_markdown(run),),
    "latex": lambda run: (_latex(run),),
    "methods-text": lambda run: (paper.methods_text(run).encode(),),
    "methods-markdown": lambda run: (paper.methods_markdown(run).encode(),),
    "methods-latex": lambda run: (paper.methods_latex(run).encode(),),
}
PAPER = "paper"
SUMMARY_FORMATS: dict[str, Export] = {
    "csv": lambda run: as_csv(means_of(run), MEANS),
    "jsonl": lambda run: as_jsonl(means_of(run)),
    "parquet": lambda run: as_parquet([table := _means_table(run)], table.schema),
}
PAPER_TABLES: dict[str, Export] = {"unibench": lambda run: (unibench_table(run).encode(),)}
"""Tables as a paper prints them; they need scores of that paper's protocol."""
