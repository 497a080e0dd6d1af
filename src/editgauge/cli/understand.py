"""`editgauge understand`."""

from __future__ import annotations

import json as json_lines
import sys
from pathlib import Path
from typing import Annotated

import typer

from editgauge.cli._judge_options import Judges, Prompts


def understand(
    text: Annotated[str, typer.Argument(help="The instruction, or a caption of the edited picture.")] = "",
    source_caption: Annotated[str | None, typer.Option(help="What the source image shows.")] = None,
    target_caption: Annotated[str | None, typer.Option(help="What the edited image should show.")] = None,
    form: Annotated[str | None, typer.Option(help="'caption' when the text is a target caption.")] = None,
    source: Annotated[Path | None, typer.Option(help="The source image, which a judge is shown.")] = None,
    judge: Judges = [],  # noqa: B006
    prompts: Prompts = None,
    file: Annotated[
        Path | None, typer.Option(help="Read every line of this file: JSON with text, source_caption, target_caption.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of sentences.")] = False,
) -> None:
    """Say what an instruction asks for: the edit type, what changes, and into what.

    `editgauge understand "replace the tent with a bonfire and make the sky red"`
    """
    from editgauge.cli.tables.readings import told
    from editgauge.core.errors import BadInput
    from editgauge.instructions.readings import to_json
    from editgauge.look.understand import understand as read
    from editgauge.look.understand import understand_lines

    if bool(text.strip()) == (file is not None):
        raise BadInput("Give an instruction that is not empty, or --file with one JSON object a line, and not both.")
    if file is not None:
        for number, line in enumerate(understand_lines(file, judge, prompts), start=1):
            typer.echo(json_lines.dumps(line, ensure_ascii=False))
            if number % 1000 == 0 and sys.stderr.isatty():
                typer.echo(f"{number:,} lines read", err=True)
        return
    reading = read(text, source_caption, target_caption, form, source, judge, prompts)
    typer.echo(json_lines.dumps(to_json(reading), indent=2, ensure_ascii=False) if json else told(reading))


def add_to(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(understand)
