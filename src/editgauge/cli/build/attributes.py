"""`editgauge build attributes`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from editgauge.cli._judge_options import JUDGES, Budget, Price, Prompts, Replay


def attributes(
    benchmark: Annotated[str, typer.Argument(help="A name from `editgauge list benchmarks`, or a folder of your own.")],
    out: Annotated[Path, typer.Option(help="The JSONL file; further seeds get files beside it.")],
    judge: Annotated[
        str | None,
        typer.Option(help="Who names them: openai:MODEL@URL, transformers:FOLDER, or NAME=ADDRESS.", **JUDGES),
    ] = None,
    rules: Annotated[bool, typer.Option("--rules", help="Take them from the edit's own words instead.")] = False,
    data: Annotated[Path | None, typer.Option(help="Where the benchmark's public files lie, if not shipped.")] = None,
    images: Annotated[Path | None, typer.Option(help="Where its source images lie, such as a COCO folder.")] = None,
    seeds: Annotated[int, typer.Option(help="How often a judge is asked about each edit.", min=1, **JUDGES)] = 1,
    length: Annotated[str | None, typer.Option(help="short (under five words) or long (over five).", **JUDGES)] = None,
    number: Annotated[int | None, typer.Option(help="Exactly so many on either side.", min=1, **JUDGES)] = None,
    limit: Annotated[int | None, typer.Option(help="Only the first so many edits.", min=1)] = None,
    temperature: Annotated[
        float | None,
        typer.Option(help="How freely a judge chooses its words; 0, and 1 for several seeds.", **JUDGES),
    ] = None,
    price: Price = None,
    budget: Budget = None,
    max_tokens: Annotated[
        int | None, typer.Option(help="How long an answer may become; 1024 when not given.", min=1, **JUDGES)
    ] = None,
    prompts: Prompts = None,
    replay: Replay = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no remarks.")] = False,
) -> None:
    """Write the attributes of a benchmark's edits, for the protocol augclip.

    Give the same command again to continue after a stop: what is written stays.

    `editgauge build attributes sample --rules --out attributes.jsonl`
    """
    try:
        from editgauge.building.attributes.build import attributes as write

        write(
            benchmark,
            out,
            judge,
            rules,
            data,
            images,
            seeds,
            length,
            number,
            limit,
            temperature,
            price,
            budget,
            max_tokens,
            prompts,
            replay,
            quiet,
        )
    except KeyboardInterrupt:
        sys.stderr.write(f"\nStopped. What was found is in {out}; give the same command again to continue.\n")
        raise typer.Exit(130) from None


def add_to(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(attributes)
