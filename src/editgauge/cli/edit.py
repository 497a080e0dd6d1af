"""`editgauge edit`."""

from __future__ import annotations

import sys
from pathlib import Path
from shlex import quote
from typing import Annotated

import typer


def edit(
    benchmark: Annotated[str, typer.Argument(help="A name from `editgauge list benchmarks`, or a folder of your own.")],
    method: Annotated[str, typer.Option(help="One of `editgauge list methods`, or a name for --command.")],
    out: Annotated[Path, typer.Option(help="The folder for the outcomes.")],
    option: Annotated[list[str], typer.Option(help="An option of the method, as NAME=VALUE.")] = [],  # noqa: B006
    sweep: Annotated[
        list[str], typer.Option(help="Try several values of an option, as NAME=VALUE,VALUE,…: a variant for each.")
    ] = [],  # noqa: B006
    command: Annotated[
        str | None, typer.Option(help="A command that edits: 'my_editor {source} {instruction} {output}'.")
    ] = None,
    data: Annotated[Path | None, typer.Option(help="Where the benchmark's public files lie, if not shipped.")] = None,
    images: Annotated[Path | None, typer.Option(help="Where its source images lie, such as a COCO folder.")] = None,
    limit: Annotated[int | None, typer.Option(help="Only the first so many edits.", min=1)] = None,
    seeds: Annotated[int, typer.Option(help="So many outcomes of every edit, with consecutive seeds.", min=1)] = 1,
    seed: Annotated[int, typer.Option(help="The first seed; the same seed gives the same pixels.", min=0)] = 0,
    form: Annotated[
        str | None, typer.Option(help="Tell the method by an instruction, caption, captions or token.")
    ] = None,
    template: Annotated[
        str | None, typer.Option(help="The set of templates for edits without words of their own.")
    ] = None,
    prompts: Annotated[
        str | None,
        typer.Option(help="Other words than the benchmark's: editval, pixlens, unibench, plain, a folder or a CSV."),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no remarks.")] = False,
) -> None:
    """Make the outcomes of a method for a benchmark.

    Give the same command again to continue after a stop: what was made stays, further seeds and edits are added.

    `editgauge edit sample --method classical --out outcomes/classical`
    """
    try:
        from editgauge.engine.edit.edit import edit as make

        made = make(
            benchmark,
            method,
            out,
            option,
            sweep,
            command,
            data,
            images,
            limit,
            seeds,
            seed,
            form,
            template,
            prompts,
            quiet,
        )
    except KeyboardInterrupt:
        sys.stderr.write(f"\nStopped. What was made is in {out}; give the same command again to continue.\n")
        raise typer.Exit(130) from None
    if not any(each.made or each.kept for each in (made, *made.variants.values())):
        raise typer.Exit(1)
    if not quiet:
        outcomes = f"{out}/*" if made.variants else f"{made.name}={out}"
        where = (("--data", data), ("--images", images), ("--limit", limit))
        words = [benchmark, "--outcomes", outcomes, *(str(w) for pair in where if pair[1] for w in pair)]
        typer.echo(f"Next: editgauge run {' '.join(map(quote, words))}", err=True)


def add_to(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(edit)
