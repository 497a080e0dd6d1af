"""`editgauge build probes`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer


def probes(
    out: Annotated[Path, typer.Option(help="The folder to fill: edits.jsonl, edited/, probes.jsonl.")],
    images: Annotated[
        Path | None, typer.Option(help="A folder with photographs of your own; else those of `data pull photos`.")
    ] = None,
    limit: Annotated[int | None, typer.Option(help="At most so many edits of each type.", min=1)] = 20,
    seed: Annotated[int, typer.Option(help="For everything drawn at random.")] = 0,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no remarks.")] = False,
) -> None:
    """Make probes: edits of photographs with outcomes that are right, wrong or flawed in a known way.

    `editgauge audit --probes FOLDER` holds evaluators against them.

    `editgauge build probes --out probes`
    """
    try:
        from editgauge.auditing.making import probes as make

        made = make(out, images, limit, seed, quiet)
    except KeyboardInterrupt:
        sys.stderr.write(f"\nStopped. Give the same command again to continue with what is in {out}.\n")
        raise typer.Exit(130) from None
    if not quiet:
        held_back = sum(probe.split == "held_back" for probe in made)
        typer.echo(f"{len(made):,} probes in {out}, {held_back:,} of them on held-back photographs.", err=True)


def add_to(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(probes)
