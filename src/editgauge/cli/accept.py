"""`editgauge accept`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def accept(
    run: Annotated[Path, typer.Argument(help="The run folder.")],
    ratings: Annotated[Path, typer.Option(help="CSV or JSONL: edit, method, value, and perhaps rater, seed.")],
    level: Annotated[float, typer.Option(help="The mean rating from which on people accept an edit.")],
    share: Annotated[float, typer.Option(help="Of what people reject, at most this share may pass.")] = 0.1,
    score: Annotated[
        str | None, typer.Option(help="NAME or PROTOCOL/NAME; without it, the verdict 'edit' or the only score.")
    ] = None,
    method: Annotated[str | None, typer.Option(help="One method; without it, all together.")] = None,
    plot: Annotated[
        Path | None, typer.Option(help="An SVG file for the curve: how often people accept, by score.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Say from which score on people would accept an edit, with a promise about what they would reject.

    The rated edits must have been picked at random.

    `editgauge accept run --ratings ratings.csv --level 4 --score ssim --plot accepted.svg`
    """
    from editgauge.cli._json import as_json
    from editgauge.cli.tables.estimate import show_acceptance
    from editgauge.findings.accept import accept as find_threshold

    found = find_threshold(run, ratings, level, share, score, method, plot)
    if json:
        typer.echo(as_json(found))
    else:
        show_acceptance(found)


def add_to(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(accept)
