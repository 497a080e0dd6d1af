"""`editgauge diff`."""

from __future__ import annotations

import json as json_text
from pathlib import Path
from typing import Annotated

import typer


def diff(
    first: Annotated[Path, typer.Argument(help="A run folder.", metavar="RUN_A")],
    second: Annotated[Path, typer.Argument(help="Another run folder.", metavar="RUN_B")],
    json: Annotated[bool, typer.Option("--json", help="As JSON, for programs.")] = False,
) -> None:
    """Say what differs between two runs, and where the change of each mean comes from.

    The causes (other edits, missing items, images, models, rules, software) add up to the change.
    Ends with exit code 1 when scores differ.

    `editgauge diff run run-of-yesterday`
    """
    from editgauge.cli.tables.difference import as_json, show_causes, show_difference
    from editgauge.findings.diff import diff as compare_runs

    found = compare_runs(first, second)
    if json:
        typer.echo(json_text.dumps(as_json(found), indent=2, ensure_ascii=False))
    else:
        show_difference(found)
        show_causes(found)
    if not found.same_scores:
        raise typer.Exit(1)


def add_to(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(diff)
