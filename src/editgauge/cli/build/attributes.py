"""`editgauge build attributes`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

_JUDGES: Any = {"rich_help_panel": "Judges"}


def attributes(
    benchmark: Annotated[str, typer.Argument(help="A name from `editgauge list benchmarks`, or a folder of your own.")],
    out: Annotated[Path, typer.Option(help="The JSONL file; further seeds get files beside it.")],
    judge: Annotated[
        str | None,
        typer.Option(help="Who names them: openai:MODEL@URL, transformers:FOLDER, or NAME=ADDRESS.", **_JUDGES),
    ] = None,
    rules: Annotated[bool, typer.Option("--rules", help="Take them from the edit's own words instead.")] = False,
    data: Annotated[Path | None, typer.Option(help="Where the benchmark's public files lie, if not shipped.")] = None,
    images: Annotated[Path | None, typer.Option(help="Where its source images lie, such as a COCO folder.")] = None,
    seeds: Annotated[int, typer.Option(help="How often a judge is asked about each edit.", min=1, **_JUDGES)] = 1,
    length: Annotated[str | None, typer.Option(help="short (under five words) or long (over five).", **_JUDGES)] = None,
    number: Annotated[int | None, typer.Option(help="Exactly so many on either side.", min=1, **_JUDGES)] = None,
    limit: Annotated[int | None, typer.Option(help="Only the first so many edits.", min=1)] = None,
    temperature: Annotated[
        float | None,
        typer.Option(help="How freely a judge chooses its words; 0, and 1 for several seeds.", **_JUDGES),
    ] = None,
    price: Annotated[
        str | None, typer.Option(help="Of a million tokens, as PROMPT,COMPLETION such as 2.5,10.", **_JUDGES)
    ] = None,
    budget: Annotated[
        float | None, typer.Option(help="The most that all calls may cost together.", min=0, **_JUDGES)
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option(help="How long an answer may become; 1024 when not given.", min=1, **_JUDGES)
    ] = None,
    prompts: Annotated[
        Path | None, typer.Option(help="A folder of prompts in place of the built-in ones.", **_JUDGES)
    ] = None,
    replay: Annotated[
        bool, typer.Option("--replay", help="Ask nobody; answer from the transcripts.", **_JUDGES)
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no remarks.")] = False,
) -> None:
    """Write the attributes of a benchmark's edits, for the protocol augclip.

    Give the same command again to continue after a stop: what is written stays.

    `editgauge build attributes sample --rules --out attributes.jsonl`
    """
    try:
        from editgauge.building.attributes import attributes as write

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
