"""Read latents from a folder (one `.npy` per prompt), or create them with a diffusers pipeline."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from inspect import signature
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from editgauge._util.files import read_text, write_bytes
from editgauge._util.images import write_png
from editgauge._util.progress import log_info, progress
from editgauge.disentanglement._vocabulary import Vocabulary
from editgauge.engine._outcomes import claim
from editgauge.errors import BadInputError, UnknownNameError, summarize_error
from editgauge.methods.diffusion._pipeline import quiet as quiet_libraries
from editgauge.models.hub._network import usual_device

Vector = NDArray[np.float32]
SETTINGS = "latents.json"
"""File with the settings of latents that EditGauge created."""
MAX_LISTED_PROMPTS = 20


@dataclass(frozen=True, slots=True)
class Latents:
    """The latents that a model produces from a white image, one per prompt."""

    model: str
    vectors: Mapping[str, Vector]
    sha256: str
    """Hash of all prompts and numbers, for traceability."""
    made: Mapping[str, Any] = field(default_factory=dict)
    """Pipeline, steps, size and seed of latents that EditGauge created."""

    @property
    def size(self) -> int:
        """Number of dimensions of a latent."""
        return next(iter(self.vectors.values())).size


def latent_file(folder: Path, prompt: str) -> Path:
    """Return the path of the latent of a prompt.

    >>> latent_file(Path("latents"), "red chair").as_posix()
    'latents/red chair.npy'
    """
    return folder / f"{prompt}.npy"


def model_names(folders: Sequence[Path], *, needs_one: bool = False) -> list[str]:
    """Return the models' names, which are those of the folders; raise `BadInputError` for none or duplicates.

    >>> model_names([Path("latents/mine"), Path("latents/theirs")])
    ['mine', 'theirs']
    """
    names = [folder.resolve().name for folder in folders]
    if not names or (needs_one and len(names) > 1):
        raise BadInputError(
            f"Give {'one folder' if needs_one else 'at least one folder'} of latents; got {len(names)}."
        )
    duplicates = [name for name, count in Counter(names).items() if count > 1]
    if duplicates:
        raise BadInputError(f"Two folders are called '{duplicates[0]}'; a folder's name is its model's, so rename one.")
    return names


def read_latents(folder: str | Path, vocabulary: Vocabulary, model: str | None = None) -> Latents:
    """Read the latents of all prompts; one `BadInputError` lists every missing, damaged or odd-sized file."""
    path = Path(folder)
    if not path.is_dir():
        raise BadInputError(
            f"There is no folder '{folder}'. It should hold one .npy per prompt, such as 'red chair.npy'."
        )
    vectors: dict[str, Vector] = {}
    missing: list[str] = []
    problems: list[str] = []
    for prompt in vocabulary.prompts:
        file = latent_file(path, prompt)
        if not file.is_file():
            missing.append(prompt)
            continue
        vector = _read_vector(file)
        if isinstance(vector, str):
            problems.append(f"'{file.name}' {vector}")
        else:
            vectors[prompt] = vector
    if missing:
        problems.insert(
            0, f"{len(missing)} of {len(vocabulary.prompts)} prompts have no .npy: {_list_prompts(missing)}"
        )
    sizes = {vector.size for vector in vectors.values()}
    if len(sizes) > 1:
        problems += _odd_sizes(vectors)
    if problems:
        raise BadInputError(f"The latents in '{folder}' cannot be used:", problems)
    return Latents(model or path.resolve().name, vectors, _hash(vectors), _read_settings(path / SETTINGS))


def _read_settings(file: Path) -> dict[str, Any]:
    """Read the settings of created latents; empty for latents from elsewhere."""
    try:
        settings = json.loads(read_text(file))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise BadInputError(f"'{file}' with the settings of the latents cannot be read: {error}") from error
    return dict(settings)


def _read_vector(file: Path) -> Vector | str:
    """Return the flattened latent, or a description of the problem."""
    try:
        loaded = np.load(file, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        return f"is no .npy file that can be read: {error}"
    if not isinstance(loaded, np.ndarray) or loaded.dtype.kind not in "fiu":
        return f"must hold real numbers, got {getattr(loaded, 'dtype', type(loaded).__name__)}"
    if not loaded.size:
        return "is empty"
    vector = loaded.astype(np.float32).ravel()
    if not np.isfinite(vector).all():
        return "holds NaN or infinity"
    return vector if vector.any() else "holds nothing but zeros"


def _odd_sizes(vectors: Mapping[str, Vector]) -> list[str]:
    counts: dict[int, list[str]] = {}
    for prompt, vector in vectors.items():
        counts.setdefault(vector.size, []).append(prompt)
    common, *odd_sizes = sorted(counts, key=lambda size: -len(counts[size]))
    return [
        f"{_list_prompts(counts[size])}: {size} numbers, where {len(counts[common])} have {common}"
        for size in odd_sizes
    ]


def _list_prompts(prompts: list[str]) -> str:
    listed = ", ".join(f"'{prompt}'" for prompt in prompts[:MAX_LISTED_PROMPTS])
    return listed if len(prompts) <= MAX_LISTED_PROMPTS else f"{listed} and {len(prompts) - MAX_LISTED_PROMPTS} more"


def _hash(vectors: Mapping[str, Vector]) -> str:
    digest = hashlib.sha256()
    for prompt in sorted(vectors):
        digest.update(prompt.encode() + b"\0")
        digest.update(np.ascontiguousarray(vectors[prompt]).data)
    return digest.hexdigest()


OPTIONS = {"guidance": "guidance_scale", "image_guidance": "image_guidance_scale", "strength": "strength"}
"""Field of `PipelineSettings` → parameter of a pipeline."""


@dataclass(frozen=True, slots=True)
class PipelineSettings:
    """Pipeline and options that create latents; None leaves an option to the pipeline."""

    pipeline: str
    """Hub id or folder of a pipeline that edits images (img2img, InstructPix2Pix). A text-to-image pipeline is
    converted to its img2img variant, or with `controlnet` to its ControlNet variant."""
    steps: int = 50
    size: int = 512
    """Width and height of the white image."""
    guidance: float | None = None
    image_guidance: float | None = None
    strength: float | None = None
    scheduler: str | None = None
    """A diffusers class, configured like the pipeline's scheduler."""
    controlnet: str | None = None
    """Id or folder of a ControlNet; its input is the edge map of the white image, which is empty."""


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
"""Settings of PixLens's released code for the diffusion models of its table 3, with seed 0. The released code uses half
precision, EditGauge single precision. The fourth model, VQGAN+CLIP, is no diffusers pipeline."""


def pipeline_settings(preset: str | None, overrides: Mapping[str, Any]) -> PipelineSettings:
    """Return the settings of a preset with some fields replaced.

    Raises:
        UnknownNameError: for an unknown preset.
        BadInputError: for settings without a pipeline, or out of range.

    """
    if preset is not None and preset not in PRESETS:
        raise UnknownNameError("preset", preset, PRESETS, "editgauge disentangle --help")
    fields = {name: value for name, value in overrides.items() if value is not None}
    if preset is None and "pipeline" not in fields:
        raise BadInputError(f"{', '.join(fields)}: only created latents have such settings; give `pipeline` as well.")
    settings = replace(PRESETS[preset], **fields) if preset is not None else PipelineSettings(**fields)
    if settings.steps < 1 or settings.size < 8 or settings.size % 8:
        raise BadInputError(
            f"`steps` must be at least 1 and `size` a multiple of 8; got {settings.steps} and {settings.size}."
        )
    return settings


def make_latents(
    settings: PipelineSettings, prompts: Sequence[str], folder: str | Path, *, seed: int = 0, quiet: bool = False
) -> Path:
    """Write `<prompt>.npy`, and `<prompt>.png` if the pipeline can decode, for every prompt; return the folder.

    Every prompt starts from the same white image and the same noise. The folder must be new, empty, or hold latents of
    the same settings, which are not created again.
    """
    path = Path(folder)
    diffusers = _diffusers()
    claim(path, SETTINGS, {**asdict(settings), "seed": seed}, "latents", "editgauge disentangle")
    missing = [prompt for prompt in prompts if not latent_file(path, prompt).is_file()]
    if not missing:
        log_info(f"All {len(prompts)} latents are in {path}", quiet=quiet)
        return path
    editor = _Editor(_load_pipeline(diffusers, settings), settings, seed)
    with progress("latents", len(prompts), quiet=quiet, done=len(prompts) - len(missing)) as advance:
        for prompt in missing:
            latent, image = editor.edit(prompt)
            if image is not None:
                write_png(image, path / f"{prompt}.png")
            write_bytes(latent_file(path, prompt), _npy(latent))  # last, because it marks the prompt as done
            advance()
    return path


class _Editor:
    """Edits the white image with a pipeline."""

    def __init__(self, pipe: Any, settings: PipelineSettings, seed: int) -> None:
        self.pipe = pipe
        white = Image.new("RGB", (settings.size, settings.size), "white")
        no_edges = Image.new("RGB", white.size, "black")
        images = {"image": white}
        if getattr(pipe, "controlnet", None) is not None:
            takes_both = "control_image" in _parameters(pipe)
            images = {"image": white, "control_image": no_edges} if takes_both else {"image": no_edges}
        values = {option: getattr(settings, name) for name, option in OPTIONS.items()}
        self.options = {
            "num_inference_steps": settings.steps,
            "output_type": "latent",
            **images,
            **{option: value for option, value in values.items() if value is not None},
        }
        self.seed = seed

    def edit(self, prompt: str) -> tuple[NDArray[np.float32], NDArray[np.uint8] | None]:
        """Return the latent and, if the pipeline can decode it, its image."""
        import torch

        noise = torch.Generator("cpu").manual_seed(self.seed)
        with torch.inference_mode():
            latents = self.pipe(prompt=prompt, generator=noise, **self.options).images
            if not isinstance(latents, torch.Tensor):
                raise BadInputError(
                    f"The pipeline {type(self.pipe).__name__} gives no latents; its latents can be saved as .npy."
                )
            image = self._decode(latents)
        latent: NDArray[np.float32] = latents[0].float().cpu().numpy()
        if not np.isfinite(latent).all():
            raise BadInputError(
                f"The pipeline gave NaN or infinity for '{prompt}'; try other `steps` or another `size`."
            )
        return latent, image

    def _decode(self, latents: Any) -> NDArray[np.uint8] | None:
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
            "Latents you have already need none: give a folder of .npy files and no `pipeline`."
        )
    return importlib.import_module("diffusers")


def _load_pipeline(diffusers: Any, settings: PipelineSettings) -> Any:
    """Load a pipeline that takes an image and all given options, on the available device."""
    try:
        with quiet_libraries():
            pipe = diffusers.DiffusionPipeline.from_pretrained(settings.pipeline, use_safetensors=True)
            pipe = _with_controlnet(diffusers, pipe, settings.controlnet) if settings.controlnet else pipe
            pipe = _as_image_pipeline(diffusers, pipe)
    except Exception as error:  # the library raises its own, the hub's, and those of the network
        raise BadInputError(
            f"The pipeline '{settings.pipeline}' cannot be loaded as one that edits an image: {summarize_error(error)} "
            "Give an id of the hub or a folder with model_index.json and safetensors weights."
        ) from error
    for name, option in OPTIONS.items():
        if getattr(settings, name) is not None and option not in _parameters(pipe):
            raise BadInputError(f"The pipeline {type(pipe).__name__} has no parameter {option}; leave out `{name}`.")
    if settings.scheduler is not None:
        pipe.scheduler = _scheduler(diffusers, pipe, settings.scheduler)
    pipe.set_progress_bar_config(disable=True)
    return pipe.to(usual_device())


def _scheduler(diffusers: Any, pipe: Any, name: str) -> Any:
    scheduler = getattr(diffusers, name, None) if name.endswith("Scheduler") else None
    if scheduler is None:
        raise BadInputError(
            f"diffusers has no scheduler '{name}'. Give a class such as EulerAncestralDiscreteScheduler."
        )
    return scheduler.from_config(pipe.scheduler.config)


def _parameters(pipe: Any) -> Mapping[str, Any]:
    return signature(type(pipe).__call__).parameters


def _with_controlnet(diffusers: Any, pipe: Any, controlnet: str) -> Any:
    """Convert a text-to-image pipeline to its ControlNet variant."""
    name = type(pipe).__name__.removesuffix("Pipeline") + "ControlNetPipeline"
    if not hasattr(diffusers, name):
        raise ValueError(f"{type(pipe).__name__} has no form with a ControlNet, {name}.")
    network = diffusers.ControlNetModel.from_pretrained(controlnet, use_safetensors=True)
    return getattr(diffusers, name).from_pipe(pipe, controlnet=network)


def _as_image_pipeline(diffusers: Any, pipe: Any) -> Any:
    """Return a pipeline that takes an image; `AutoPipeline` would import every pipeline to find it."""
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
