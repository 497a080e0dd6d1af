"""Latents of a white image under every prompt, made with a pipeline of the diffusers library."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from inspect import signature
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from editgauge._util.files import write_bytes
from editgauge._util.images import write_png
from editgauge._util.progress import progress, say
from editgauge.disentanglement.latents import SETTINGS, latent_file
from editgauge.engine.folder_claim import claim
from editgauge.errors import BadInputError, UnknownNameError, summarize_error
from editgauge.methods.diffusion.weights import quiet as quiet_libraries
from editgauge.models.hub.loading import usual_device

OPTIONS = {"guidance": "guidance_scale", "image_guidance": "image_guidance_scale", "strength": "strength"}
"""Our settings and the pipelines' own names for them."""


@dataclass(frozen=True, slots=True)
class PipelineSettings:
    """Which pipeline makes the latents, and how; None leaves a choice to the pipeline itself."""

    pipeline: str
    """An id of the Hugging Face hub or a local folder, of a pipeline that edits an image: img2img, InstructPix2Pix; a
    text-to-image pipeline is turned into its img2img form, or with `controlnet` into its ControlNet form."""
    steps: int = 50
    size: int = 512
    """Width and height of the white image."""
    guidance: float | None = None
    image_guidance: float | None = None
    strength: float | None = None
    scheduler: str | None = None
    """A class of diffusers, made from the settings of the pipeline's own."""
    controlnet: str | None = None
    """An id or folder of a ControlNet; it is shown the edges of the white image, which has none."""


PRESETS = {
    "controlnet": PipelineSettings(
        "runwayml/stable-diffusion-v1-5",
        steps=100,
        size=360,
        guidance=25,
        scheduler="UniPCMultistepScheduler",
        controlnet="lllyasviel/sd-controlnet-canny",
    ),
    "instruct-pix2pix": PipelineSettings(
        "timbrooks/instruct-pix2pix",
        steps=100,
        size=360,
        guidance=25,
        image_guidance=1,
        scheduler="EulerAncestralDiscreteScheduler",
    ),
    "lcm": PipelineSettings("SimianLuo/LCM_Dreamshaper_v7", steps=40, size=360, guidance=50),
}
"""The settings of PixLens's public code for the diffusion models of its table 3 (its fourth, VQGAN+CLIP, is none). The
seed is 0, the white image 360 pixels wide. There numbers have 16 bits, here 32."""


def pipeline_settings(preset: str | None, chosen: Mapping[str, Any]) -> PipelineSettings:
    """The settings of a preset, with what was chosen besides; raises `UnknownNameError` or `BadInputError`."""
    if preset is not None and preset not in PRESETS:
        raise UnknownNameError("preset", preset, PRESETS, "editgauge disentangle --help")
    named = {name: value for name, value in chosen.items() if value is not None}
    if preset is None and "pipeline" not in named:
        raise BadInputError(
            f"{', '.join(named)}: only latents that are created here have such settings; add --pipeline."
        )
    settings = replace(PRESETS[preset], **named) if preset is not None else PipelineSettings(**named)
    if settings.steps < 1 or settings.size < 8 or settings.size % 8:
        raise BadInputError(
            f"--steps counts from 1 and --size is a multiple of 8; got {settings.steps} and {settings.size}."
        )
    return settings


def make_latents(
    settings: PipelineSettings, prompts: Sequence[str], folder: str | Path, *, seed: int = 0, quiet: bool = False
) -> Path:
    """Writes `<prompt>.npy`, and `<prompt>.png` where the pipeline can decode, for every prompt; gives the folder.

    Every prompt starts from the same white image and the same noise. The folder is new, empty, or was begun with the
    same settings: what is there stays.
    """
    place = Path(folder)
    diffusers = _diffusers()
    claim(place, SETTINGS, {**asdict(settings), "seed": seed}, "latents", "editgauge disentangle")
    left = [prompt for prompt in prompts if not latent_file(place, prompt).is_file()]
    if not left:
        say(f"All {len(prompts)} latents are there, in {place}", quiet=quiet)
        return place
    editor = _Editor(_loaded(diffusers, settings), settings, seed)
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

    def __init__(self, pipe: Any, settings: PipelineSettings, seed: int) -> None:
        self.pipe = pipe
        white = Image.new("RGB", (settings.size, settings.size), "white")
        no_edges = Image.new("RGB", white.size, "black")  # what Canny's method leaves of it
        pictures = {"image": white}
        if getattr(pipe, "controlnet", None) is not None:
            takes_both = "control_image" in _parameters(pipe)
            pictures = {"image": white, "control_image": no_edges} if takes_both else {"image": no_edges}
        chosen = {option: getattr(settings, name) for name, option in OPTIONS.items()}
        self.options = {
            "num_inference_steps": settings.steps,
            "output_type": "latent",
            **pictures,
            **{option: value for option, value in chosen.items() if value is not None},
        }
        self.seed = seed

    def latent(self, prompt: str) -> tuple[NDArray[np.float32], NDArray[np.uint8] | None]:
        """The latent and, where the pipeline can decode it, its picture."""
        import torch

        noise = torch.Generator("cpu").manual_seed(self.seed)
        with torch.inference_mode():
            made = self.pipe(prompt=prompt, generator=noise, **self.options).images
            if not isinstance(made, torch.Tensor):
                raise BadInputError(
                    f"The pipeline {type(self.pipe).__name__} gives no latents; its latents can be saved as .npy."
                )
            picture = self._decoded(made)
        latent: NDArray[np.float32] = made[0].float().cpu().numpy()
        if not np.isfinite(latent).all():
            raise BadInputError(
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
        raise BadInputError(
            "Making latents needs diffusers, torch and transformers: pip install 'editgauge[diffusers]'. "
            "Latents you have already need none: give a folder of .npy files without --pipeline."
        )
    return importlib.import_module("diffusers")


def _loaded(diffusers: Any, settings: PipelineSettings) -> Any:
    """The pipeline, on the device that is there, taking an image and all that was chosen."""
    try:
        with quiet_libraries():
            pipe = diffusers.DiffusionPipeline.from_pretrained(settings.pipeline, use_safetensors=True)
            pipe = _with_controlnet(diffusers, pipe, settings.controlnet) if settings.controlnet else pipe
            pipe = _taking_an_image(diffusers, pipe)
    except Exception as error:  # the library raises its own, the hub's, and those of the network
        raise BadInputError(
            f"The pipeline '{settings.pipeline}' cannot be loaded as one that edits an image: {summarize_error(error)} "
            "Give an id of the hub or a folder with model_index.json and safetensors weights."
        ) from error
    for name, option in OPTIONS.items():
        if getattr(settings, name) is not None and option not in _parameters(pipe):
            raise BadInputError(
                f"The pipeline {type(pipe).__name__} has no {name.replace('_', ' ')}; leave --{name} out."
            )
    if settings.scheduler is not None:
        pipe.scheduler = _scheduler(diffusers, pipe, settings.scheduler)
    pipe.set_progress_bar_config(disable=True)
    return pipe.to(usual_device())


def _scheduler(diffusers: Any, pipe: Any, name: str) -> Any:
    made = getattr(diffusers, name, None) if name.endswith("Scheduler") else None
    if made is None:
        raise BadInputError(
            f"diffusers has no scheduler '{name}'. Give a class such as EulerAncestralDiscreteScheduler."
        )
    return made.from_config(pipe.scheduler.config)


def _parameters(pipe: Any) -> Mapping[str, Any]:
    return signature(type(pipe).__call__).parameters


def _with_controlnet(diffusers: Any, pipe: Any, controlnet: str) -> Any:
    """The ControlNet form of a text-to-image pipeline."""
    name = type(pipe).__name__.removesuffix("Pipeline") + "ControlNetPipeline"
    if not hasattr(diffusers, name):
        raise ValueError(f"{type(pipe).__name__} has no form with a ControlNet, {name}.")
    network = diffusers.ControlNetModel.from_pretrained(controlnet, use_safetensors=True)
    return getattr(diffusers, name).from_pipe(pipe, controlnet=network)


def _taking_an_image(diffusers: Any, pipe: Any) -> Any:
    """The pipeline itself, or its img2img form by the library's own naming; `AutoPipeline` would import all of them."""
    if "image" in _parameters(pipe):
        return pipe
    name = type(pipe).__name__.removesuffix("Pipeline") + "Img2ImgPipeline"
    if not hasattr(diffusers, name):
        raise ValueError(f"{type(pipe).__name__} takes no image, and there is no {name}.")
    return getattr(diffusers, name).from_pipe(pipe)


def _npy(latent: NDArray[np.float32]) -> bytes:
    buffer = BytesIO()
    np.save(buffer, latent, allow_pickle=False)
    return buffer.getvalue()
