"""`editgauge verify`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from editgauge.engine.verify.recompute import Recomputed


def verify(
    run: Annotated[Path, typer.Argument(help="The run folder.")],
    recompute: Annotated[int, typer.Option(min=0, help="Outcomes to score again, drawn at random; 0 for none.")] = 20,
    benchmark: Annotated[Path | None, typer.Option(help="The benchmark's folder, if it is one of your own.")] = None,
    data: Annotated[Path | None, typer.Option(help="Where the benchmark's public files lie.")] = None,
    images: Annotated[Path | None, typer.Option(help="Where its source images lie, if elsewhere.")] = None,
    seed: Annotated[int, typer.Option(help="Which outcomes are drawn.")] = 0,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
) -> None:
    """Check that a run folder is still what was measured: its files, its images, and a sample of scores anew.

    What is not at hand, such as a model in that revision, is told and not counted as verified.
    Ends with exit code 1 when a problem is found.

    `editgauge verify run`

    `editgauge verify run --recompute 200 --benchmark my-benchmark`
    """
    from editgauge.engine.verify.verify import verify as check

    found = check(run, recompute, benchmark, data, images, seed, quiet)
    for problem in found.problems:
        typer.echo(problem)
    for line in _second_look(found.recomputed):
        typer.echo(line)
    if not found.sound:
        typer.echo(f"{len(found.problems)} problem{'s' * (len(found.problems) > 1)} in {run}")
        raise typer.Exit(1)
    typer.echo(
        f"{run} is sound: {found.files} files, {found.scores} scores and {found.images} images as recorded."
        f"{' No score was computed anew.' if recompute and not found.recomputed.outcomes else ''}"
    )


def _second_look(found: Recomputed) -> list[str]:
    """What was scored again and came out the same, and what could not be."""
    from editgauge.engine.verify.recompute import RELATIVE

    scores = found.scores + len(found.problems)
    told = f"Scored again: {found.scores} of {scores} scores of {found.outcomes} outcomes agree to {RELATIVE:.2%}."
    passed = [f"Not scored again, so not verified: {count} scores: {why}" for why, count in found.unchecked.items()]
    return [*([told] if scores else []), *passed]


def add_to(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(verify)
