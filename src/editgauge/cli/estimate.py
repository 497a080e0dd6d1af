"""`editgauge estimate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def estimate(
    run: Annotated[Path, typer.Argument(help="The run folder.")],
    ratings: Annotated[Path, typer.Option(help="CSV or JSONL: edit, method, value, and perhaps rater, seed.")],
    score: Annotated[
        str | None, typer.Option(help="NAME or PROTOCOL/NAME; without it, the verdict 'edit' or the only score.")
    ] = None,
    method: Annotated[str | None, typer.Option(help="One method; without it, each method of the run.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Estimate the mean that people would give all edits, from ratings of a few and scores of all (PPI++).

    The rated edits must have been picked at random. A poor score does no harm: it then counts little or nothing.

    `editgauge estimate run --ratings ratings.csv --score ssim`
    """
    from editgauge.cli._json import as_json
    from editgauge.cli.tables.estimate import show_estimates
    from editgauge.findings.estimate import estimate as estimate_means

    found = estimate_means(run, ratings, score, method)
    if json:
        typer.echo(as_json(found))
    else:
        show_estimates(found)


def add_to(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(estimate)
