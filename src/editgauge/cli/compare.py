"""`editgauge compare`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def compare(
    run: Annotated[Path, typer.Argument(help="The run folder.")],
    methods: Annotated[tuple[str, str], typer.Option(help="Two methods of the run.", metavar="A B")],
) -> None:
    """Say whether one method really beats another, score by score, on the edits that both have.

    `editgauge compare run --methods mine theirs`
    """
    from editgauge.cli.tables.comparison import show_comparison
    from editgauge.findings.compare import compare as compare_methods

    show_comparison(compare_methods(run, methods))


def add_to(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(compare)
