"""`editgauge run`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer


def run(
    benchmark: Annotated[str, typer.Argument(help="A name from `editgauge list benchmarks`, or a folder of your own.")],
    outcomes: Annotated[
        list[str],
        typer.Option(help="Where a method's outcomes lie, as NAME=FOLDER or NAME=FILE.jsonl. Give it once per method."),
    ],
    protocol: Annotated[list[str], typer.Option(help="How to score; give it once per protocol.")] = ["preservation"],  # noqa: B006
    out: Annotated[Path, typer.Option(help="The run folder: manifest, scores, evidence.")] = Path("run"),
    model: Annotated[list[str], typer.Option(help="The model for a role, as ROLE=NAME.")] = [],  # noqa: B006
    seed: Annotated[int, typer.Option(help="For everything drawn at random.")] = 0,
    processes: Annotated[int, typer.Option(help="Worker processes; 0 chooses by cores and work.", min=0)] = 0,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no remarks.")] = False,
) -> None:
    """Score the outcomes of one or more methods on a benchmark.

    Give the same command again to continue after a stop: what is scored stays, changed images are scored again,
    further methods and protocols are added.

    `editgauge run sample --outcomes mine=outcomes/ --protocol preservation --out run`
    """
    from editgauge.cli.tables import show_summary
    from editgauge.runner.execute import run as execute

    try:
        finished = execute(benchmark, outcomes, protocol, out, model, seed, processes, quiet)
    except KeyboardInterrupt:
        sys.stderr.write(f"\nStopped. What was scored is in {out}; give the same command again to continue.\n")
        raise typer.Exit(130) from None
    if not quiet:
        show_summary(finished)
        typer.echo(f"Next: editgauge report {out} --out {out}-report", err=True)


def add_to(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(run)
