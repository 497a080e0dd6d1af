"""`editgauge power`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def power(
    run: Annotated[Path, typer.Argument(help="The run folder of the pilot.")],
    detect: Annotated[
        float,
        typer.Option(help="The difference of two methods to find; without --methods, the half-width of an interval."),
    ],
    methods: Annotated[
        tuple[str, str] | None, typer.Option(help="Two methods; without them, the mean of each.", metavar="A B")
    ] = None,
    score: Annotated[
        str | None, typer.Option(help="NAME or PROTOCOL/NAME; without it, the verdict 'edit' or the only score.")
    ] = None,
    edits_per_source: Annotated[
        list[int],
        typer.Option(help="Edits per source image to plan for, once per number; without it 1, 2, 4 and 8."),
    ] = [],  # noqa: B006
    chance: Annotated[float, typer.Option(help="How likely the difference should be found (p < 0.05).")] = 0.8,
    comparisons: Annotated[
        int, typer.Option(help="How many scores or pairs of methods will be compared; p is adjusted (Holm).")
    ] = 1,
) -> None:
    """Say how many edits and source images are needed, from the spread in a pilot run.

    `editgauge power pilot --detect 0.05 --methods mine theirs --score ssim`
    """
    from editgauge.cli.tables.estimate import show_plans
    from editgauge.findings.power import power as plan

    show_plans(plan(run, detect, methods, score, edits_per_source, chance, comparisons))


def add_to(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(power)
