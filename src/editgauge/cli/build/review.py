"""`editgauge build review`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.table import Table


def review(
    file: Annotated[Path, typer.Argument(help="What was built (unibench.json), or its review file.")],
    images: Annotated[
        Path | None, typer.Option(help="The folder of the pictures, when it is not where the review file says.")
    ] = None,
    port: Annotated[
        int, typer.Option(help="The port to listen at; 0 takes any that is free.", min=0, max=65535)
    ] = 8010,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in the browser.")] = True,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No remarks.")] = False,
) -> None:
    """Accept, edit or drop what was proposed, in the browser; at the end, how far each reviewer agreed is printed.

    Every answer is saved at once. Ctrl-C ends it.

    `editgauge build review unibench.json`
    """
    from editgauge.building.review.file import agreement, read_review, review_beside
    from editgauge.building.review.server import review as serve
    from editgauge.cli.tables.common import show

    serve(file, images, port, browser, quiet)
    found = agreement(read_review(review_beside(file)))
    if found:
        show(agreement_table(found))


def agreement_table(found: Mapping[str, Mapping[str, tuple[int, int]]]) -> Table:
    """Rows of types, columns of reviewers: the share taken as proposed, and of how many."""
    from editgauge.cli.tables.common import new_table

    reviewers = sorted({name for row in found.values() for name in row})
    table = new_table("taken as proposed")
    table.add_column("type")
    for name in reviewers:
        table.add_column(name, justify="right")
    for kind, row in found.items():
        cells = [f"{row[name][0] / row[name][1]:.0%} of {row[name][1]}" if name in row else "-" for name in reviewers]
        table.add_row(kind, *cells)
    return table


def add_to(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(review)
