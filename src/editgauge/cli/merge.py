"""`editgauge merge`."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import Annotated

import typer


def merge(
    runs: Annotated[list[Path], typer.Argument(help="The run folders: all shards of a run, or runs of other methods.")],
    out: Annotated[Path, typer.Option(help="The run folder to make.")],
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No remarks.")] = False,
) -> None:
    """Make one run of several, such as the shards that many machines scored.

    `editgauge merge shards/* --out run`
    """
    from editgauge.engine.record.merge import merge as make_one

    make_one(runs, out, quiet)
    if not quiet:
        typer.echo(f"Next: editgauge report {quote(str(out))} --out {quote(f'{out}-report')}", err=True)


def add_to(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(merge)
