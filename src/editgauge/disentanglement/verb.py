"""The verb `disentangle`: from latents to scores and a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from editgauge.core.files import write_json
from editgauge.core.options import Count
from editgauge.core.run import Run
from editgauge.disentanglement.latents import model_names, read_latents
from editgauge.disentanglement.page import PAGE, disentanglement_page
from editgauge.disentanglement.scores import Beside, Disentanglement, beside_edit_scores, described, disentanglement
from editgauge.disentanglement.words import read_vocabulary
from editgauge.reports.assets import page_in

RESULT = "disentanglement.json"
SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Disentangled:
    """What `disentangle` measured, and the page that shows it."""

    page: Path
    models: tuple[Disentanglement, ...]
    beside: tuple[Beside, ...]
    """Edit scores of runs whose methods are named like the models."""


def disentangle(
    latents: Sequence[str | Path],
    *,
    out: str | Path,
    pipeline: str | None = None,
    vocabulary: str | Path | None = None,
    runs: Sequence[str | Path] = (),
    steps: Count = 50,
    size: Count = 512,
    seed: int = 0,
    quiet: bool = False,
) -> Disentangled:
    """Measure how well models keep attributes apart in their latents (PixLens, section 3.2).

    Example:
        $ editgauge disentangle latents/mine latents/theirs --out disentanglement
        $ editgauge disentangle latents/mine --pipeline timbrooks/instruct-pix2pix --out disentanglement
        >>> editgauge.disentangle(["latents/mine", "latents/theirs"], out="disentanglement")

    Args:
        latents: one folder per model with one `.npy` per prompt (`red chair.npy`, `red.npy`), of any shape; the
            folder's name is the model's. A PNG of the same name is shown in the page.
        out: folder for `disentanglement.json` and `disentanglement.html`.
        pipeline: create the latents of the one folder first, with this diffusers pipeline (hub id or folder). Run
            again, it continues.
        vocabulary: JSON or YAML file with `objects` and attributes by kind; default: the words of PixLens.
        runs: run folder; where a method is named like a model, its edit score is shown beside. Repeat for several.
        steps: denoising steps of the pipeline.
        size: width and height of the white image in pixels.
        seed: random seed of noise, splits and resampling.
        quiet: print no progress and no table.
    """
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
    models = tuple(disentanglement(each, words, seed) for each in read)
    beside = tuple(beside_edit_scores(models, opened))
    write_json(Path(out) / RESULT, {"schema": SCHEMA, **described(models, words, beside, seed)})
    return Disentangled(disentanglement_page(models, read, folders, words, beside, seed, out), models, beside)
