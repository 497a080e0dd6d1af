"""`editgauge leaderboard`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def leaderboard(
    runs: Annotated[list[Path], typer.Argument(help="Run folders.", metavar="RUN...")],
    out: Annotated[Path, typer.Option(help="The folder to write leaderboard.html into.")],
) -> None:
    """Rank the methods of several runs on one page; what cannot be compared gets a table of its own.

    `editgauge leaderboard run-of-ada run-of-grace --out board`
    """
    from editgauge.reports.leaderboard.page import leaderboard as write

    typer.echo(f"The leaderboard lies in {write(runs, out)}")


def add_to(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(leaderboard)
