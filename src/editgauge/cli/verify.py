"""`editgauge verify`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def verify(
    run: Annotated[Path, typer.Argument(help="The run folder.")],
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
) -> None:
    """Check that a run folder is still what was measured: its files, its scores, and the images they came from.

    Ends with exit code 1 when a problem is found.

    `editgauge verify run`
    """
    from editgauge.runner.verify import verify as check

    found = check(run, quiet)
    for problem in found.problems:
        typer.echo(problem)
    if not found.sound:
        typer.echo(f"{len(found.problems)} problem{'s' * (len(found.problems) > 1)} in {run}")
        raise typer.Exit(1)
    typer.echo(f"{run} is sound: {found.files} files, {found.scores} scores and {found.images} images as recorded.")


def add_to(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(verify)
