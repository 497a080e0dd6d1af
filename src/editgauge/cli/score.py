"""`editgauge score`."""

from __future__ import annotations

import json as json_lines
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from editgauge.cli._judge_options import Judges, Prompts
from editgauge.cli._role_options import Models, Profile, WithRoles


def score(
    before: Annotated[Path, typer.Argument(help="The source image.")],
    after: Annotated[Path, typer.Argument(help="The edited image.")],
    instruction: Annotated[str, typer.Argument(help="What was asked for, in words.")],
    edit_type: Annotated[str, typer.Option(help="One of `editgauge list edit-types`.")] = "unspecified",
    subject: Annotated[str | None, typer.Option(help="The object the edit is about.")] = None,
    from_: Annotated[str | None, typer.Option("--from", help="What it was before.")] = None,
    to: Annotated[str | None, typer.Option(help="What it should be afterwards.")] = None,
    position: Annotated[str | None, typer.Option(help="left, right, above, below, on or center.")] = None,
    anchor: Annotated[str | None, typer.Option(help="The object that --position is relative to.")] = None,
    mask: Annotated[
        Path | None, typer.Option(help="An image whose bright pixels may change; the rest should stay.")
    ] = None,
    protocol: Annotated[list[str], typer.Option(help="How to score; give it once per protocol.")] = ["preservation"],  # noqa: B006
    models: Profile = None,
    model: Models = [],  # noqa: B006
    judge: Judges = [],  # noqa: B006
    prompts: Prompts = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Score one edited image.

    `editgauge score before.png after.png "make the cat black" --edit-type color --subject cat --to black`
    """
    from editgauge.cli.tables.common import show_verdicts
    from editgauge.look.score import score as score_one

    verdicts = score_one(
        before,
        after,
        instruction,
        edit_type,
        subject,
        from_,
        to,
        position,
        anchor,
        mask,
        protocol,
        models,
        model,
        judge,
        prompts,
    )
    if json:
        typer.echo(
            json_lines.dumps({"scores": [asdict(verdict) for verdict in verdicts]}, indent=2, ensure_ascii=False)
        )
    else:
        show_verdicts(verdicts)


def add_to(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command(cls=WithRoles)(score)
