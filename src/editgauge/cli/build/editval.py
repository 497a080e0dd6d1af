"""`editgauge build editval`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from editgauge.cli._judge_options import JUDGES, Budget, Price, Prompts, Replay


def editval(
    coco: Annotated[Path, typer.Option(help="COCO's instance annotations (JSON).")],
    images: Annotated[Path, typer.Option(help="The folder of the images.")],
    out: Annotated[Path, typer.Option(help="The file to write, in EditVal's public form.")],
    judge: Annotated[
        str,
        typer.Option(help="Who proposes: rules, openai:MODEL@URL, transformers:FOLDER, or NAME=ADDRESS.", **JUDGES),
    ] = "rules",
    classes: Annotated[int, typer.Option(help="How many classes, those first that suit the most types.", min=1)] = 19,
    per_class: Annotated[int, typer.Option(help="Images of each class.", min=1)] = 5,
    per_type: Annotated[int, typer.Option(help="Operations that each image gets of each edit type.", min=1)] = 1,
    operations: Annotated[
        int, typer.Option(help="How many are proposed for each class and edit type, at most.", min=1)
    ] = 5,
    seed: Annotated[int, typer.Option(help="Which images and operations are drawn.")] = 0,
    least_share: Annotated[
        float, typer.Option(help="Of the picture, that the object's box covers.", min=0, max=1)
    ] = 0.02,
    most_share: Annotated[float, typer.Option(help="The same, at most.", min=0, max=1)] = 0.6,
    price: Price = None,
    budget: Budget = None,
    max_tokens: Annotated[
        int | None, typer.Option(help="How long an answer may become; 1024 when not given.", min=1, **JUDGES)
    ] = None,
    prompts: Prompts = None,
    replay: Replay = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no remarks.")] = False,
) -> None:
    """Make a set of edits as EditVal was made, from COCO annotations, for people to review.

    `editgauge build editval --coco instances.json --images val2017 --out object.json`
    """
    try:
        from editgauge.building.editval.build import editval as build

        build(
            coco,
            images,
            out,
            judge,
            classes,
            per_class,
            per_type,
            operations,
            seed,
            least_share,
            most_share,
            price,
            budget,
            max_tokens,
            prompts,
            replay,
            quiet,
        )
    except KeyboardInterrupt:
        sys.stderr.write("\nStopped. What the judge answered is kept; give the same command again to continue.\n")
        raise typer.Exit(130) from None


def add_to(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(editval)
