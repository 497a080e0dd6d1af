"""`editgauge list`."""

from __future__ import annotations

import json as json_lines
from typing import Annotated

import typer


def list_names(
    kind: Annotated[
        str,
        typer.Argument(
            help="benchmarks, methods, protocols, rubrics, metrics, models, judges, datasets, layouts or edit-types."
        ),
    ],
    name: Annotated[str | None, typer.Argument(help="A method: show the options that `edit` takes for it.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Show what there is, by name; or the options of a method.

    `editgauge list metrics`

    `editgauge list methods sdedit`
    """
    from editgauge.cli.tables.common import show_names
    from editgauge.look.catalog import list_names as found

    names = found(kind, name)
    if json:
        typer.echo(json_lines.dumps(names, indent=2, ensure_ascii=False))
    elif name and not names:
        typer.echo(f"The method '{name}' has no options.")
    else:
        show_names(kind, names)


def add_to(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command("list")(list_names)
