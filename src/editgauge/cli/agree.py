"""`editgauge agree`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def agree(
    run: Annotated[Path, typer.Argument(help="The run folder.")],
    ratings: Annotated[
        Path | None, typer.Option(help="CSV or JSONL: edit, method, value, and perhaps rater, question, seed.")
    ] = None,
    choices: Annotated[
        Path | None, typer.Option(help="JSONL or CSV: edit, first, second, chosen (first, second, tie), perhaps rater.")
    ] = None,
    scores: Annotated[
        list[str], typer.Option("--score", help="A score such as edit or pixlens/edit; once per score, or all.")
    ] = [],  # noqa: B006
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Say how far the scores of a run agree with people: with ratings at every level, with choices between two.

    `editgauge agree run --ratings ratings.csv`

    `editgauge agree run --choices choices.jsonl --score edit`
    """
    from editgauge.analysis.agree import agree as agree_with_people
    from editgauge.cli.agreement_table import show_agreement
    from editgauge.cli.as_json import as_json

    found = agree_with_people(run, ratings, choices, scores)
    if json:
        typer.echo(as_json(found))
    else:
        show_agreement(found)


def add_to(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(agree)
