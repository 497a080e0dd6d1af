"""`editgauge export`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

LINE = b"\n"


def export(
    run: Annotated[Path, typer.Argument(help="The run folder.")],
    format: Annotated[  # noqa: A002
        str,
        typer.Option(
            help="csv, jsonl, parquet: every score; markdown, latex: the summary; methods-text, methods-markdown, "
            "methods-latex: how it was measured; paper: a folder with all of this and the figures."
        ),
    ],
    out: Annotated[Path | None, typer.Option(help="A file, for paper a folder; without it, standard output.")] = None,
    summary: Annotated[
        bool, typer.Option("--summary", help="Means with intervals and n, in csv, jsonl, parquet too.")
    ] = False,
) -> None:
    """Hand the scores of a run to other programs, or its summary to a paper.

    `editgauge export run --format csv > scores.csv`

    `editgauge export run --format paper --out paper`
    """
    from editgauge.reports.export.export import PAPER, export_parts
    from editgauge.reports.export.export import export as write

    if format == PAPER:
        files = write(run, format, out).count(LINE)
        typer.echo(f"{files} files lie in {out}: methods, tables and figures.")
    elif out is not None:
        write(run, format, out, summary)
    else:
        with open(sys.stdout.fileno(), "wb", closefd=False) as whole:  # unbuffered, `sys.stdout` may write a part only
            whole.writelines(export_parts(run, format, summary))


def add_to(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(export)
