"""`editgauge list`."""

from __future__ import annotations

import json as json_lines
from typing import Annotated

import typer


def list_names(
    kind: Annotated[
        str,
        typer.Argument(
            help="benchmarks, methods, protocols, metrics, models, judges, datasets, layouts or edit-types."
        ),
    ],
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Show what there is, by name.

    `editgauge list metrics`
    """
    from editgauge.cli.tables import show_names
    from editgauge.runner.catalogue import list_names as found

    names = found(kind)
    if json:
        typer.echo(json_lines.dumps(names, indent=2, ensure_ascii=False))
    else:
        show_names(kind, names)


def add_to(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command("list")(list_names)
