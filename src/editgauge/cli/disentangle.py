"""`editgauge disentangle`: the same function for Python and the command line, as it joins several rooms."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

RESULT = "disentanglement.json"
SCHEMA = 1
HELP = """Say how well models keep attributes apart in their latents (PixLens, section 3.2).

`editgauge disentangle latents/mine latents/theirs --out disentanglement`

`editgauge disentangle latents/mine --pipeline timbrooks/instruct-pix2pix --out disentanglement`
"""


def disentangle(
    latents: Annotated[
        list[Path], typer.Argument(help="A folder per model with one .npy per prompt; its name is the model's.")
    ],
    out: Annotated[Path, typer.Option(help="The folder for disentanglement.json and the page.")],
    pipeline: Annotated[
        str | None, typer.Option(help="Make the latents first: a diffusers pipeline, by hub id or folder.")
    ] = None,
    vocabulary: Annotated[
        Path | None, typer.Option(help="Objects and attributes by kind, as JSON or YAML; without it PixLens's.")
    ] = None,
    runs: Annotated[
        list[Path], typer.Option(help="Run folders whose methods are named like the models: scores side by side.")
    ] = [],  # noqa: B006
    steps: Annotated[int, typer.Option(help="Denoising steps of the pipeline.", min=1)] = 50,
    size: Annotated[int, typer.Option(help="Width and height of the white image in pixels.", min=8)] = 512,
    seed: Annotated[int, typer.Option(help="The same seed gives the same noise, splits and draws.")] = 0,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no table.")] = False,
) -> Path:
    """Says how well models keep attributes apart in their latents, and gives the path of the page; numbers lie beside.

    Args:
        latents: a folder per model with one `.npy` per prompt (`red chair.npy`, `red.npy`), of any shape; the folder's
            name is the model's. A PNG of the same name is shown in the page.
        out: the folder for `disentanglement.json` and `disentanglement.html`.
        pipeline: make the latents of one folder first, with this pipeline of diffusers (an id of the hub or a folder).
            A stopped command continues when given again.
        vocabulary: a JSON or YAML file with `objects` and attributes by kind; without it the words of PixLens.
        runs: run folders; where a method is named like a model, its edit score is set beside.
        steps: denoising steps of the pipeline.
        size: width and height of the white image in pixels.
        seed: the same seed gives the same noise, splits and draws.
        quiet: no progress, no table.
    """
    from editgauge.cli.tables.disentanglement import show_disentanglement
    from editgauge.core.files import write_json
    from editgauge.core.run import Run
    from editgauge.disentanglement.latents import model_names, read_latents
    from editgauge.disentanglement.page import PAGE, disentanglement_page
    from editgauge.disentanglement.scores import beside_edit_scores, described, disentanglement
    from editgauge.disentanglement.words import read_vocabulary
    from editgauge.reports.assets import page_in

    given: Sequence[str | Path] = [latents] if isinstance(latents, str | Path) else latents
    folders = [Path(each) for each in given]
    names = model_names(folders, needs_one=pipeline is not None)
    page_in(out, PAGE)  # refused before anything takes long
    words = read_vocabulary(vocabulary)
    opened = [Run.open(Path(each)) for each in runs]
    if pipeline is not None:
        from editgauge.disentanglement.make_latents import make_latents

        make_latents(pipeline, words.prompts, folders[0], steps=steps, size=size, seed=seed, quiet=quiet)
    read = [read_latents(folder, words, name) for folder, name in zip(folders, names, strict=True)]
    found = tuple(disentanglement(each, words, seed) for each in read)
    beside = beside_edit_scores(found, opened)
    write_json(Path(out) / RESULT, {"schema": SCHEMA, **described(found, words, beside, seed)})
    page = disentanglement_page(found, read, folders, words, beside, seed, out)
    if not quiet:
        show_disentanglement(found, beside)
        typer.echo(f"The page lies in {page}")
    return page


def add_to(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command(help=HELP)(disentangle)
