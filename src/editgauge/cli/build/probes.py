"""`editgauge build probes`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

PEOPLE: Any = {"rich_help_panel": "Answers of people"}


def probes(
    out: Annotated[Path, typer.Option(help="The folder to fill: edits.jsonl, edited/, probes.jsonl.")],
    images: Annotated[
        Path | None, typer.Option(help="A folder with photographs of your own; else those of `data pull photos`.")
    ] = None,
    limit: Annotated[int | None, typer.Option(help="At most so many edits of each type.", min=1)] = 20,
    seed: Annotated[int, typer.Option(help="For everything drawn at random.")] = 0,
    choices: Annotated[
        Path | None, typer.Option(help="People's choices between two outcomes, as `agree` reads them.", **PEOPLE)
    ] = None,
    triplets: Annotated[
        str | None, typer.Option(help="good=METHOD,preserved=METHOD,modified=METHOD, of known order.", **PEOPLE)
    ] = None,
    ratings: Annotated[
        Path | None, typer.Option(help="Whether the edit was carried out: the question edit with 0 and 1.", **PEOPLE)
    ] = None,
    benchmark: Annotated[
        str | None, typer.Option(help="The benchmark that answers speak of: a name or a folder.", **PEOPLE)
    ] = None,
    outcomes: Annotated[
        list[str], typer.Option(help="NAME=FOLDER of the outcomes that answers speak of.", **PEOPLE)
    ] = [],  # noqa: B006
    data: Annotated[Path | None, typer.Option(help="Where the benchmark's public files lie.", **PEOPLE)] = None,
    layout: Annotated[str | None, typer.Option(help="How the outcomes are named; else recognised.", **PEOPLE)] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no remarks.")] = False,
) -> None:
    """Make probes: edits of photographs with outcomes that are right, wrong or flawed in a known way.

    `editgauge audit --probes FOLDER` holds evaluators against them. With answers of people none are made: the outcomes
    that they compared join those that are there.

    `editgauge build probes --out probes`

    `editgauge build probes --choices people.jsonl --benchmark sample --outcomes "results/*" --out probes`
    """
    try:
        from editgauge.audits.probes.build import probes as make

        made = make(out, images, limit, seed, choices, triplets, ratings, benchmark, outcomes, data, layout, quiet)
    except KeyboardInterrupt:
        sys.stderr.write(f"\nStopped. Give the same command again to continue with what is in {out}.\n")
        raise typer.Exit(130) from None
    if not quiet:
        held_back = sum(probe.split == "held_back" for probe in made)
        pairs = sum(len(probe.over) for probe in made)
        compared = f" People compared {pairs:,} pairs." if pairs else ""
        typer.echo(
            f"{len(made):,} probes in {out}, {held_back:,} of them on held-back photographs.{compared}", err=True
        )


def add_to(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(probes)
