"""`editgauge build unibench`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from editgauge.cli._judge_options import JUDGES, Budget, Price, Prompts, Replay

_CRITERIA: Any = {"rich_help_panel": "Which images"}


def unibench(
    coco: Annotated[Path, typer.Option(help="COCO's instance annotations (JSON).")],
    images: Annotated[Path, typer.Option(help="The folder of the images.")],
    out: Annotated[Path, typer.Option(help="The file of annotations to write.")],
    captions: Annotated[
        Path | None, typer.Option(help="COCO's captions (JSON); then only what a caption mentions is edited.")
    ] = None,
    judge: Annotated[
        str,
        typer.Option(help="Who proposes: rules, openai:MODEL@URL, transformers:FOLDER, or NAME=ADDRESS.", **JUDGES),
    ] = "rules",
    size: Annotated[int, typer.Option(help="The side of the square pictures, in pixels.", min=64, max=4096)] = 512,
    limit: Annotated[int | None, typer.Option(help="Only so many images.", min=1)] = None,
    seed: Annotated[int, typer.Option(help="Which images come first, and which candidates the rules draw.")] = 0,
    candidates: Annotated[int, typer.Option(help="How many of each kind, at most.", min=1)] = 5,
    least_share: Annotated[
        float, typer.Option(help="Of the square, that an editable object covers.", min=0, max=1, **_CRITERIA)
    ] = 0.01,
    most_share: Annotated[float, typer.Option(help="The same, at most.", min=0, max=1, **_CRITERIA)] = 0.5,
    fewest: Annotated[int, typer.Option(help="Editable objects that an image needs.", min=1, **_CRITERIA)] = 2,
    most_objects: Annotated[
        int, typer.Option(help="Annotated objects that an image may have.", min=1, **_CRITERIA)
    ] = 12,
    least_kept: Annotated[
        float,
        typer.Option(help="Of an object, that must lie inside the square to be edited.", min=0, max=1, **_CRITERIA),
    ] = 0.9,
    price: Price = None,
    budget: Budget = None,
    max_tokens: Annotated[
        int | None, typer.Option(help="How long an answer may become; 4096 when not given.", min=1, **JUDGES)
    ] = None,
    prompts: Prompts = None,
    replay: Replay = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no remarks.")] = False,
) -> None:
    """Make a UniBench from COCO annotations, with candidates for people to review.

    Give the same command again to continue after a stop: what people have reviewed stays.

    `editgauge build unibench --coco instances.json --captions captions.json --images val2017 --out unibench.json`
    """
    try:
        from editgauge.building.unibench.build import unibench as build

        build(
            coco,
            images,
            out,
            captions,
            judge,
            size,
            limit,
            seed,
            candidates,
            least_share,
            most_share,
            fewest,
            most_objects,
            least_kept,
            price,
            budget,
            max_tokens,
            prompts,
            replay,
            quiet,
        )
    except KeyboardInterrupt:
        sys.stderr.write(f"\nStopped. What was found is in {out}; give the same command again to continue.\n")
        raise typer.Exit(130) from None


def add_to(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(unibench)
