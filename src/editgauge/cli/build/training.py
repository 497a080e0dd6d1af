"""`editgauge build training`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from editgauge.cli.roles import WithRoles

_JUDGES: Any = {"rich_help_panel": "Judges"}


def training(
    benchmark: Annotated[str, typer.Argument(help="A name from `editgauge list benchmarks`, or a folder of your own.")],
    out: Annotated[Path, typer.Option(help="The folder to write; new or empty.")],
    outcomes: Annotated[
        list[str], typer.Option(help="reference for the benchmark's own edited images; NAME=FOLDER for a method's.")
    ] = ["reference"],  # noqa: B006
    judge: Annotated[
        str,
        typer.Option(help="Who words made-up edits: rules, openai:MODEL@URL, transformers:FOLDER.", **_JUDGES),
    ] = "rules",
    data: Annotated[Path | None, typer.Option(help="Where the benchmark's public files lie, if not shipped.")] = None,
    images: Annotated[Path | None, typer.Option(help="Where its source images lie, if elsewhere.")] = None,
    ratings: Annotated[Path | None, typer.Option(help="What people said of the methods' outcomes.")] = None,
    models: Annotated[str, typer.Option(help="Who sees what is in a picture: lite, paper or best.")] = "lite",
    model: Annotated[
        list[str], typer.Option(help="Another model for a role, as ROLE=NAME; --detector NAME is short for it.")
    ] = [],  # noqa: B006
    seed: Annotated[int, typer.Option(help="Of everything left to chance.")] = 0,
    limit: Annotated[int | None, typer.Option(help="Only the first so many edits.", min=1)] = None,
    price: Annotated[
        str | None, typer.Option(help="Of a million tokens, as PROMPT,COMPLETION such as 2.5,10.", **_JUDGES)
    ] = None,
    budget: Annotated[
        float | None, typer.Option(help="The most that all calls may cost together.", min=0, **_JUDGES)
    ] = None,
    max_tokens: Annotated[int | None, typer.Option(help="How long an answer may become.", min=1, **_JUDGES)] = None,
    prompts: Annotated[
        Path | None, typer.Option(help="A folder of prompts in place of the built-in ones.", **_JUDGES)
    ] = None,
    replay: Annotated[
        bool, typer.Option("--replay", help="Ask nobody; answer from the transcripts.", **_JUDGES)
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no remarks.")] = False,
) -> None:
    """Make training data for judges: edits, negatives of them, and the way back, as conversations.

    Every answer is known from how an instance was made, or from people; what is not known is left out and counted.

    `editgauge build training magicbrush --data dev --out lessons`
    """
    from editgauge.building.supervision.training import training as make

    make(
        benchmark,
        out,
        outcomes,
        judge,
        data,
        images,
        ratings,
        models,
        model,
        seed,
        limit,
        price,
        budget,
        max_tokens,
        prompts,
        replay,
        quiet,
    )


def add_to(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command(cls=WithRoles)(training)
