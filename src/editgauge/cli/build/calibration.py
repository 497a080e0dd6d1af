"""`editgauge build calibration`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def calibration(
    run: Annotated[Path, typer.Argument(help="The folder of a finished run with the protocol editgauge.")],
    ratings: Annotated[
        Path, typer.Option(help="CSV or JSONL: edit, method, value, and perhaps rater, question, seed.")
    ],
    out: Annotated[Path, typer.Option(help="The JSON file; a reliability diagram is drawn beside it, as SVG.")],
    scores: Annotated[
        list[str],
        typer.Option("--score", help="edit, preservation, artifact or overall; by the names of the questions if none."),
    ] = [],  # noqa: B006
    questions: Annotated[
        list[str], typer.Option("--question", help="The question about that score, once for every --score.")
    ] = [],  # noqa: B006
    level: Annotated[
        float | None, typer.Option(help="The rating from which on an answer is good, where they are not 0 and 1.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No remarks.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Fit what people's ratings make of the numbers of the protocol editgauge, and say how far off they are.

    `--protocol 'editgauge[calibration=OUT]'` then uses it. The rated edits must have been picked at random.

    `editgauge build calibration run --ratings ratings.csv --out calibration.json`

    `editgauge build calibration run --ratings ratings.csv --score edit --question accuracy --out calibration.json`
    """
    from editgauge.building.calibration.build import calibration as build
    from editgauge.cli._json import as_json
    from editgauge.cli.tables.calibration import show_calibration

    built = build(run, ratings, out, scores, questions, level, quiet)
    if json:
        typer.echo(as_json({"file": str(built.file), "plot": str(built.plot), "scores": built.scores}))
    else:
        show_calibration(built)


def add_to(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(calibration)
