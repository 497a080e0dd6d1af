"""Latents of a white image under every prompt, made with a pipeline of the diffusers library."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from inspect import signature
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from editgauge.core.errors import BadInput
from editgauge.core.files import write_bytes
from editgauge.core.images import write_png
from editgauge.core.progress import progress, say
from editgauge.disentanglement.latents import SETTINGS, latent_file
from editgauge.engine.folder_claim import claim
from editgauge.models.hub.loading import usual_device

SHOWN_OF_AN_ERROR = 300
"""Characters of another library's message that help; theirs can run to pages."""


def make_latents(
    pipeline: str | Path,
    prompts: Sequence[str],
    folder: str | Path,
    *,
    steps: int = 50,
    size: int = 512,
    seed: int = 0,
    quiet: bool = False,
) -> Path:
    """Writes `<prompt>.npy`, and `<prompt>.png` where the pipeline can decode, for every prompt; gives the folder.

    Every prompt starts from the same white image and the same noise. Given again it continues: what is there stays.

    Args:
        pipeline: an id of the Hugging Face hub or a local folder, of a pipeline that edits an image: img2img,
            InstructPix2Pix; a text-to-image pipeline is turned into its img2img form.
        prompts: what to ask for.
        folder: where the latents go; new, empty, or begun with the same settings.
        steps: denoising steps.
        size: width and height of the white image in pixels.
        seed: the same seed gives the same noise.
        quiet: no progress, no remarks.
    """
    place = Path(folder)
    if steps < 1 or size < 8 or size % 8:
        raise BadInput(f"--steps counts from 1 and --size is a multiple of 8; got {steps} and {size}.")
    diffusers = _diffusers()
    claim(
        place,
        SETTINGS,
        {"pipeline": str(pipeline), "steps": steps, "size": size, "seed": seed},
        "latents",
        "editgauge disentangle",
    )
    left = [prompt for prompt in prompts if not latent_file(place, prompt).is_file()]
    if not left:
        say(f"All {len(prompts)} latents are there, in {place}", quiet=quiet)
        return place
    editor = _Editor(_loaded(diffusers, str(pipeline)), steps, size, seed)
    with progress("latents", len(prompts), quiet=quiet, done=len(prompts) - len(left)) as advance:
        for prompt in left:
            latent, picture = editor.latent(prompt)
            if picture is not None:
                write_png(picture, place / f"{prompt}.png")
            write_bytes(latent_file(place, prompt), _npy(latent))  # last: it says that the prompt is done
            advance()
    return place


class _Editor:
    """A pipeline that edits the white image."""

    def __init__(self, pipe: Any, steps: int, size: int, seed: int) -> None:
        self.pipe = pipe
        self.white = Image.new("RGB", (size, size), "white")
        self.options = {"num_inference_steps": steps, "output_type": "latent"}
        self.seed = seed

    def latent(self, prompt: str) -> tuple[NDArray[np.float32], NDArray[np.uint8] | None]:
        """The latent and, where the pipeline can decode it, its picture."""
        import torch

        noise = torch.Generator("cpu").manual_seed(self.seed)
        with torch.inference_mode():
            made = self.pipe(prompt=prompt, image=self.white, generator=noise, **self.options).images
            if not isinstance(made, torch.Tensor):
                raise BadInput(
                    f"The pipeline {type(self.pipe).__name__} gives no latents; its latents can be saved as .npy."
                )
            picture = self._decoded(made)
        latent: NDArray[np.float32] = made[0].float().cpu().numpy()
        if not np.isfinite(latent).all():
            raise BadInput(
                f"The pipeline gave NaN or infinity for '{prompt}'; other --steps or another --size may help."
            )
        return latent, picture

    def _decoded(self, latents: Any) -> NDArray[np.uint8] | None:
        coder, processor = getattr(self.pipe, "vae", None), getattr(self.pipe, "image_processor", None)
        if coder is None or processor is None or latents.ndim != 4:
            return None
        shift = getattr(coder.config, "shift_factor", None) or 0.0
        decoded = coder.decode(latents / coder.config.scaling_factor + shift, return_dict=False)[0]
        picture = processor.postprocess(decoded, output_type="np")[0]
        return np.asarray(np.rint(picture * 255), dtype=np.uint8)


def _diffusers() -> Any:
    if any(importlib.util.find_spec(name) is None for name in ("torch", "diffusers", "transformers")):
        raise BadInput(
            "Making latents needs diffusers, torch and transformers: pip install 'editgauge[diffusers]'. "
            "Latents you have already need none: give a folder of .npy files without --pipeline."
        )
    return importlib.import_module("diffusers")


def _loaded(diffusers: Any, pipeline: str) -> Any:
    """The pipeline, on the device that is there, taking an image."""
    try:
        with _no_bars():
            pipe = _taking_an_image(
                diffusers, diffusers.DiffusionPipeline.from_pretrained(pipeline, use_safetensors=True)
            )
    except Exception as error:  # the library raises its own, the hub's, and those of the network
        told = " ".join(str(error).split())[:SHOWN_OF_AN_ERROR] or type(error).__name__
        raise BadInput(
            f"The pipeline '{pipeline}' cannot be loaded as one that edits an image: {told} "
            "Give an id of the hub or a folder with model_index.json and safetensors weights."
        ) from error
    pipe.set_progress_bar_config(disable=True)
    return pipe.to(usual_device())


def _taking_an_image(diffusers: Any, pipe: Any) -> Any:
    """The pipeline itself, or its img2img form by the library's own naming; `AutoPipeline` would import all of them."""
    if "image" in signature(type(pipe).__call__).parameters:
        return pipe
    name = type(pipe).__name__.removesuffix("Pipeline") + "Img2ImgPipeline"
    if not hasattr(diffusers, name):
        raise ValueError(f"{type(pipe).__name__} takes no image, and there is no {name}.")
    return getattr(diffusers, name).from_pipe(pipe)


@contextmanager
def _no_bars() -> Iterator[None]:
    """Ours tell what takes long; the libraries' would cut through them."""
    shows = [importlib.import_module(f"{library}.utils.logging") for library in ("diffusers", "transformers")]
    showed = [each for each in shows if each.is_progress_bar_enabled()]
    for each in showed:
        each.disable_progress_bar()
    try:
        yield
    finally:
        for each in showed:
            each.enable_progress_bar()


def _npy(latent: NDArray[np.float32]) -> bytes:
    buffer = BytesIO()
    np.save(buffer, latent, allow_pickle=False)
    return buffer.getvalue()
