"""`editgauge report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def report(
    run: Annotated[Path, typer.Argument(help="The run folder.")],
    out: Annotated[Path, typer.Option(help="The folder for the report; with --single-file the .html file.")],
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no remarks.")] = False,
    single_file: Annotated[
        bool, typer.Option("--single-file", help="One .html with small pictures inside, to send around.")
    ] = False,
    ratings: Annotated[Path | None, typer.Option(help="People's ratings, as `agree` reads them.")] = None,
    choices: Annotated[Path | None, typer.Option(help="People's choices of two, as `agree` reads them.")] = None,
    triplets: Annotated[
        str | None, typer.Option(help="good=METHOD,preserved=METHOD,modified=METHOD, as `agree` takes them.")
    ] = None,
    judge_choices: Annotated[list[Path], typer.Option(help="A file that `prefer` wrote; once per judge.")] = [],  # noqa: B006
    wandb: Annotated[
        str | None, typer.Option(metavar="PROJECT", help="Also log the means to this Weights & Biases project.")
    ] = None,
) -> None:
    """Write a report of a run that opens in any browser, straight from disk.

    `editgauge report run --out report`

    `editgauge report run --out report --ratings ratings.csv`
    """
    from editgauge.reports.page import report as write

    page = write(run, out, quiet, single_file, ratings, choices, triplets, judge_choices, wandb)
    typer.echo(f"The report lies in {page}")


def add_to(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(report)
