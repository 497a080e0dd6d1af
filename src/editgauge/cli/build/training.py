"""`editgauge build training`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from editgauge.cli._judge_options import JUDGES, Budget, Price, Prompts, Replay
from editgauge.cli._role_options import WithRoles


def training(
    benchmark: Annotated[str, typer.Argument(help="A name from `editgauge list benchmarks`, or a folder of your own.")],
    out: Annotated[Path, typer.Option(help="The folder to write; new or empty.")],
    outcomes: Annotated[
        list[str], typer.Option(help="reference for the benchmark's own edited images; NAME=FOLDER for a method's.")
    ] = ["reference"],  # noqa: B006
    judge: Annotated[
        str,
        typer.Option(help="Who words made-up edits: rules, openai:MODEL@URL, transformers:FOLDER.", **JUDGES),
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
    price: Price = None,
    budget: Budget = None,
    max_tokens: Annotated[int | None, typer.Option(help="How long an answer may become.", min=1, **JUDGES)] = None,
    prompts: Prompts = None,
    replay: Replay = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no remarks.")] = False,
) -> None:
    """Make training data for judges: edits, negatives of them, and the way back, as conversations.

    Every answer is known from how an instance was made, or from people; what is not known is left out and counted.

    `editgauge build training magicbrush --data dev --out lessons`
    """
    from editgauge.building.training.build import training as make

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
