"""`editgauge edit`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer


def edit(
    benchmark: Annotated[str, typer.Argument(help="A name from `editgauge list benchmarks`, or a folder of your own.")],
    method: Annotated[str, typer.Option(help="One of `editgauge list methods`.")],
    out: Annotated[Path, typer.Option(help="The folder for the outcomes.")],
    data: Annotated[Path | None, typer.Option(help="Where the benchmark's public files lie, if not shipped.")] = None,
    images: Annotated[Path | None, typer.Option(help="Where its source images lie, such as a COCO folder.")] = None,
    limit: Annotated[int | None, typer.Option(help="Only the first so many edits.", min=1)] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same pixels.")] = 0,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no remarks.")] = False,
) -> None:
    """Make the outcomes of a method for a benchmark.

    `editgauge edit sample --method classical --out outcomes/classical`
    """
    try:
        from editgauge.runner.make import edit as make

        make(benchmark, method, out, data, images, limit, seed, quiet)
    except KeyboardInterrupt:
        sys.stderr.write(f"\nStopped. What was made is in {out}; give the same command again to continue.\n")
        raise typer.Exit(130) from None


def add_to(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(edit)
