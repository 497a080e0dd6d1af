"""`editgauge prefer`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from editgauge.cli._judge_options import Budget, Price, Prompts, Replay


def prefer(
    run: Annotated[Path, typer.Argument(help="The run folder; its pictures must still be there.")],
    judge: Annotated[str, typer.Option(help="openai:MODEL@URL or transformers:FOLDER; NAME=ADDRESS renames it.")],
    out: Annotated[Path, typer.Option(help="The file for its choices, .jsonl.")],
    methods: Annotated[
        list[str], typer.Option("--method", help="Only these methods, each with each other; or all.")
    ] = [],  # noqa: B006
    choices: Annotated[Path | None, typer.Option(help="People's choices: only the pairs that they judged.")] = None,
    limit: Annotated[int | None, typer.Option(help="Only the first so many pairs.", min=1)] = None,
    price: Price = None,
    budget: Budget = None,
    replay: Replay = False,
    prompts: Prompts = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no remarks.")] = False,
) -> None:
    """Ask a judge which of two outcomes is better, in both orders; `agree --judge-choices` takes what it says.

    `editgauge prefer run --judge openai:gpt-4o --choices people.jsonl --out judge.jsonl`
    """
    try:
        from editgauge.engine.prefer.prefer import prefer as ask

        ask(run, judge, out, methods, choices, limit, price, budget, replay, prompts, quiet)
    except KeyboardInterrupt:
        sys.stderr.write("\nStopped. What was answered is kept; give the same command again to continue.\n")
        raise typer.Exit(130) from None


def add_to(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(prefer)
