"""`editgauge changes`."""

from __future__ import annotations

import json as json_lines
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from editgauge.cli._role_options import WithRoles


def changes(
    before: Annotated[Path, typer.Argument(help="The picture before the edit.")],
    after: Annotated[Path, typer.Argument(help="The picture after the edit.")],
    out: Annotated[Path | None, typer.Option(help="Draw both pictures with what changed into this PNG file.")] = None,
    models: Annotated[str, typer.Option(help="A profile: lite, paper or best.")] = "lite",
    model: Annotated[
        list[str], typer.Option(help="Another model for a role, as ROLE=NAME; --detector NAME is short for it.")
    ] = [],  # noqa: B006
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of sentences.")] = False,
) -> None:
    """Say what changed between two pictures: one plain sentence each, without a language model.

    Small shifts of the frame, re-encoding and a slight change of light do not count.

    `editgauge changes before.png after.png --out changes.png`
    """
    from editgauge.look.changes import changes as find

    found = find(before, after, out, models, model)
    if json:
        typer.echo(json_lines.dumps(asdict(found), indent=2, ensure_ascii=False))
    else:
        for sentence in found.sentences:
            typer.echo(sentence)
        for remark in found.remarks:
            typer.echo(remark, err=True)
    if out is not None:
        typer.echo(f"Drawn into {out}", err=True)


def add_to(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command(cls=WithRoles)(changes)
