"""Measure disentanglement of latents and write a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from editgauge._util.files import write_json
from editgauge.disentanglement._classifier import RowSet
from editgauge.disentanglement._latents import model_names, read_latents
from editgauge.disentanglement._page import PAGE, disentanglement_page
from editgauge.disentanglement._scores import (
    Disentanglement,
    EditScoreComparison,
    compare_with_edit_scores,
    disentanglement,
    to_json,
)
from editgauge.disentanglement._vocabulary import read_vocabulary
from editgauge.options import Count, Share
from editgauge.reports.pages import page_in
from editgauge.results import Run

RESULT = "disentanglement.json"
SCHEMA = 1


@dataclass(frozen=True, slots=True)
class DisentanglementResult:
    """The scores of all models and the page that shows them."""

    page: Path
    models: tuple[Disentanglement, ...]
    beside: tuple[EditScoreComparison, ...]
    """Comparisons with edit scores of runs whose methods are named like the models."""


def disentangle(
    latents: Sequence[str | Path],
    *,
    out: str | Path,
    preset: Literal["controlnet", "instruct-pix2pix", "lcm"] | None = None,
    pipeline: str | None = None,
    vocabulary: str | Path | None = None,
    runs: Sequence[str | Path] = (),
    steps: Count | None = None,
    size: Count | None = None,
    guidance: float | None = None,
    image_guidance: float | None = None,
    strength: Share | None = None,
    scheduler: str | None = None,
    controlnet: str | None = None,
    released: bool = False,
    seed: int = 0,
    quiet: bool = False,
) -> DisentanglementResult:
    """Measure how well models keep attributes apart in their latents (PixLens, section 3.2).

    Example:
        $ editgauge disentangle latents/mine latents/theirs --out disentanglement
        $ editgauge disentangle latents/ip2p --preset instruct-pix2pix --out disentanglement
        >>> editgauge.disentangle(["latents/mine", "latents/theirs"], out="disentanglement")

    Args:
        latents: one folder per model with one `.npy` per prompt (`red chair.npy`, `red.npy`), of any shape; the
            folder's name is the model's. A PNG of the same name is shown in the page.
        out: folder for `disentanglement.json` and `disentanglement.html`.
        preset: create the latents of the one folder first, with the pipeline and settings of PixLens's public code;
            other options change single settings.
        pipeline: create the latents of the one folder first, with this diffusers pipeline (hub id or folder). Run
            again, it continues.
        vocabulary: JSON or YAML file with `objects` and attributes by kind; default: the words of PixLens.
        runs: run folder; where a method is named like a model, its edit score is shown alongside. Repeat for several.
        steps: denoising steps of the pipeline; default: 50.
        size: width and height of the white image in pixels; default: 512.
        guidance: guidance scale of the prompt; default: the pipeline's.
        image_guidance: guidance scale of the image, for InstructPix2Pix; default: the pipeline's.
        strength: how far an img2img pipeline may leave the white image; default: the pipeline's.
        scheduler: class of diffusers, such as EulerAncestralDiscreteScheduler; default: the pipeline's.
        controlnet: ControlNet (hub id or folder) to join with a text-to-image pipeline. Its input is the empty edge map
            of the white image.
        released: also fit the classifier on all rows that PixLens's public code makes; takes about a minute per model.
        seed: random seed of noise, splits and resampling.
        quiet: print no progress and no table.

    """
    latent_paths: Sequence[str | Path] = [latents] if isinstance(latents, str | Path) else latents
    folders = [Path(path) for path in latent_paths]
    settings = {
        "pipeline": pipeline,
        "steps": steps,
        "size": size,
        "guidance": guidance,
        "image_guidance": image_guidance,
        "strength": strength,
        "scheduler": scheduler,
        "controlnet": controlnet,
    }
    creates = preset is not None or any(value is not None for value in settings.values())
    names = model_names(folders, needs_one=creates)
    page_in(out, PAGE)  # fail early
    words = read_vocabulary(vocabulary)
    opened = [Run.open(Path(path)) for path in runs]
    if creates:
        from editgauge.disentanglement._latents import make_latents, pipeline_settings

        make_latents(pipeline_settings(preset, settings), words.prompts, folders[0], seed=seed, quiet=quiet)
    read = [read_latents(folder, words, name) for folder, name in zip(folders, names, strict=True)]
    row_sets: tuple[RowSet, ...] = ("figures", "code") if released else ("figures",)
    models = tuple(disentanglement(item, words, seed, row_sets) for item in read)
    beside = tuple(compare_with_edit_scores(models, opened))
    write_json(Path(out) / RESULT, {"schema": SCHEMA, **to_json(models, words, beside, seed)})
    page = disentanglement_page(models, read, folders, vocabulary=words, comparisons=beside, seed=seed, out=out)
    return DisentanglementResult(page, models, beside)
