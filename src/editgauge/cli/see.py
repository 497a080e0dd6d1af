"""`editgauge see`."""

from __future__ import annotations

import json as json_lines
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from editgauge.cli._role_options import WithRoles


def see(
    image: Annotated[Path, typer.Argument(help="A picture.")],
    phrases: Annotated[
        list[str], typer.Argument(help="What to look for; everything the detector knows when not given.")
    ] = [],  # noqa: B006
    models: Annotated[str, typer.Option(help="A profile: lite, lite-plus, paper or best.")] = "lite",
    model: Annotated[
        list[str], typer.Option(help="Another model for a role, as ROLE=NAME; --detector NAME is short for it.")
    ] = [],  # noqa: B006
    least: Annotated[
        float | None, typer.Option(help="Confidence from which on something counts; the detector's own if not given.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Draw what is seen into this PNG file.")] = None,
    text: Annotated[bool, typer.Option("--text", help="Read the words in the picture, too.")] = False,
    faces: Annotated[bool, typer.Option("--faces", help="Find faces and what they express, too (lite-plus).")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Show what the models see in a picture: boxes, outlines, classes, words, faces, and how sure they are.

    A detector with a closed vocabulary says so when it does not know a word, and which synonym it used; a classifier
    may know it.

    `editgauge see kitchen.jpg cat cup --out seen.png`
    """
    from editgauge.cli.tables.see import show_sight
    from editgauge.look.see import see as look

    sight = look(image, phrases, models, model, least, out, text, faces)
    if json:
        typer.echo(json_lines.dumps(asdict(sight), indent=2, ensure_ascii=False))
    else:
        show_sight(sight)
    if out is not None:
        typer.echo(f"Drawn into {out}", err=True)


def add_to(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command(cls=WithRoles)(see)
