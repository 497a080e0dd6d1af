"""`editgauge diff`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def diff(
    first: Annotated[Path, typer.Argument(help="A run folder.", metavar="RUN_A")],
    second: Annotated[Path, typer.Argument(help="Another run folder.", metavar="RUN_B")],
) -> None:
    """Say what differs between two runs: settings, images and scores.

    Ends with exit code 1 when scores differ.

    `editgauge diff run run-of-yesterday`
    """
    from editgauge.analysis.diff import diff as compare_runs
    from editgauge.cli.tables import show_difference

    found = compare_runs(first, second)
    show_difference(found)
    if not found.same_scores:
        raise typer.Exit(1)


def add_to(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(diff)
