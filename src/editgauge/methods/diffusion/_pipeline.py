"""Base class of methods that run a diffusers pipeline, and the local files of such pipelines; nothing is fetched."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import json
import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from PIL import Image

from editgauge._util.images import Pixels, read_image
from editgauge._util.packages import sha256_of
from editgauge.errors import BadInputError, CannotEditError, EditGaugeError, MissingExtraError, summarize_error
from editgauge.methods import Method
from editgauge.methods.card import RefusedError
from editgauge.methods.options import MethodOption, Value, integer, text, update_options
from editgauge.models.hub._network import usual_device

if TYPE_CHECKING:
    from editgauge.methods.prompts import Form, MethodPrompt
    from editgauge.types import Edit

INDEX = "model_index.json"
TEXTS = "'*.json' '*.txt' '*.model' '*.jinja'"
"""Settings, vocabularies and tokenizers, as the hub's client takes patterns."""


def diffusers(feature: str) -> Any:
    """Import diffusers; raise `MissingExtraError` when it, torch or transformers is missing."""
    libraries = ("diffusers", "torch", "transformers")
    if any(importlib.util.find_spec(name) is None for name in libraries):
        raise MissingExtraError(feature, libraries, extra="diffusers")
    return importlib.import_module("diffusers")


@dataclass(frozen=True)
class PipelineWeights:
    """A pipeline, or a part of one, by hub id and revision, or by folder."""

    name: str
    revision: str = ""
    index: str = INDEX
    """The file without which the folder is not what it should be."""

    @cached_property
    def folder(self) -> Path:
        """The folder with its files; raises when they are not on this machine."""
        folder = Path(self.name).expanduser() if self.is_folder else self._in_the_cache
        if not (folder / self.index).is_file():
            raise BadInputError(
                f"'{self.name}' holds no {self.index}, so diffusers cannot read it. Give an id of the model hub, or "
                "the folder that `save_pretrained` wrote."
            )
        return folder

    @property
    def is_folder(self) -> bool:
        """Whether the name is a folder: one that exists, or a name that cannot be a hub id."""
        path = Path(self.name).expanduser()
        return path.is_dir() or path.is_absolute() or self.name.startswith((".", "~")) or self.name.count("/") != 1

    @property
    def id(self) -> str:
        """The name for a manifest; of a folder its last part, since a manifest names no machine."""
        return Path(self.name).expanduser().resolve().name if self.is_folder else self.name

    @cached_property
    def commit(self) -> str:
        """The commit of the hub, or one hash over all weights of a folder."""
        if not self.is_folder:
            return self.folder.name
        files = sorted(self.folder.rglob("*.safetensors"))
        listed = [f"{sha256_of(path)}  {path.relative_to(self.folder).as_posix()}" for path in files]
        return "sha256:" + hashlib.sha256("\n".join(listed).encode()).hexdigest()

    @property
    def parts(self) -> dict[str, Any]:
        """Library and class of each part, as the index names them."""
        index: dict[str, Any] = json.loads((self.folder / self.index).read_text("utf-8"))
        return index

    @property
    def _in_the_cache(self) -> Path:
        client: Any = importlib.import_module("huggingface_hub")
        try:
            # The client's `main` is the commit that was fetched first, until someone fetches again.
            return Path(client.snapshot_download(self.name, revision=self.revision or None, local_files_only=True))
        except Exception as error:  # the client raises a different one for every way of not being there
            at = f" --revision {self.revision}" if self.revision else ""
            numbers = "*/*.safetensors" if self.index == INDEX else "*.safetensors"
            raise BadInputError(
                f"The model '{self.name}'{at.replace('--', 'at ')} is not on this machine. Fetch it once with: "
                f"hf download {self.name}{at} --include {TEXTS} '{numbers}' --exclude '*.fp16.*' '*.non_ema.*'; "
                "or give a folder in its place."
            ) from error


@contextmanager
def explain_load_errors(weights: PipelineWeights) -> Iterator[None]:
    """Turn any error that the library raises on a damaged folder into one message."""
    try:
        yield
    except EditGaugeError:
        raise
    except Exception as error:  # a damaged file meets a parser of some other library, which may raise anything
        raise BadInputError(
            f"The model '{weights.name}' cannot be loaded for this method: {summarize_error(error)} "
            "Is it complete, with safetensors weights, and of the right kind?"
        ) from error


@contextmanager
def quiet() -> Iterator[None]:
    """Silence progress bars and warnings of the libraries, which would break up our own."""
    tools = [importlib.import_module(f"{library}.utils.logging") for library in ("diffusers", "transformers")]
    before = [(tool, tool.get_verbosity(), tool.is_progress_bar_enabled()) for tool in tools]
    for tool in tools:
        tool.set_verbosity_error()
        tool.disable_progress_bar()
    try:
        yield
    finally:
        for tool, verbosity, showed in before:
            tool.set_verbosity(verbosity)
            if showed:
                tool.enable_progress_bar()


LATENT_DDIM = MappingProxyType({"clip_sample": False, "set_alpha_to_one": False})
"""DDIM for latents, which go beyond 1: the scheduler's own habit of clipping is meant for pixels."""
LIBRARIES = ("diffusers", "torch", "transformers")
PRECISIONS = ("float32", "float16", "bfloat16")


@dataclass(frozen=True, slots=True)
class PipelineInput:
    """One edit as a pipeline gets it: the words, the source at a size it takes, and the noise it may draw."""

    edit: Edit
    prompt: MethodPrompt
    image: Image.Image
    generator: Any

    @property
    def images(self) -> list[Image.Image]:
        """The source and the edit's further pictures, the latter in their own size."""
        input_images = (read_image(image.picture.path) for image in self.edit.inputs)
        return [self.image, *map(Image.fromarray, input_images)]


def common_options(model: str, size: int = 512) -> dict[str, MethodOption]:
    """Return the options that all diffusion methods have."""
    return {
        "model": text(model, "an id of the model hub, or a folder that `save_pretrained` wrote"),
        "revision": text("", "a commit, tag or branch of the model hub; empty for the one that was fetched"),
        "size": integer(size, "the side in pixels at which the network works", minimum=8),
        "device": text("", "such as cuda, cuda:1, mps or cpu; empty for a GPU where there is one"),
        "precision": text("", "of the network; empty for what suits device and method", "", *PRECISIONS),
    }


class Diffusion(Method):
    """A method that edits with a pipeline of the diffusers library; inherit from it, and write `make`."""

    paper: ClassVar[str]
    at_once = 1
    pipeline: ClassVar[str]
    """The class of the library."""
    scheduler: ClassVar[str] = ""
    """The scheduler that the method wants, whatever the model brings."""
    scheduler_options: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    guidance: ClassVar[str] = "guidance_scale"
    """What the pipeline calls the option `guidance`."""
    option_specs: Mapping[str, MethodOption]
    form: Form | None = "instruction"
    multiple: ClassVar[int] = 8
    by_area: ClassVar[bool] = False
    """Whether the network was trained at one area, in all shapes, rather than at one side."""
    on_gpu: ClassVar[str] = "float16"

    def __init__(self, **options: Value) -> None:
        self.options: dict[str, Any] = {name: option.default for name, option in self.option_specs.items()} | options

    def variant(self, options: Mapping[str, str]) -> Self:
        """Return the method with other options."""
        return type(self)(**update_options(self.name, self.option_specs, self.options, options))

    def settings(self) -> dict[str, Any]:
        """Return everything that determines outcomes; the model must be on this machine for its commit."""
        diffusers(f"The method '{self.name}'")
        options = {name: value for name, value in self.options.items() if name not in {"model", "revision", "device"}}
        return {
            **options,
            "model": self.weights.id,
            "revision": self.weights.commit,
            "pipeline": self.pipeline,
            "scheduler": self.scheduler or str((self.weights.parts.get("scheduler") or ["", "none"])[1]),
            "device": self.device.partition(":")[0],
            "precision": self.precision,
            **{library: version(library) for library in LIBRARIES},
        }

    def edit(self, edit: Edit, source: Pixels, seed: int) -> Pixels:
        """Return the outcome at the source's size; the same for the same edit, seed and settings."""
        diffusers(f"The method '{self.name}'")
        import torch

        generator = torch.Generator("cpu").manual_seed(_mixed(seed, edit.id))  # same noise on every device
        image = fit_image(source, self.options["size"], self.multiple, by_area=self.by_area)
        request = PipelineInput(edit, self.prompt(edit), image, generator)
        with quiet(), torch.no_grad():
            return to_outcome(source, self.make(request))

    @abstractmethod
    def make(self, request: PipelineInput) -> Any:
        """Return the edited image, (height, width, 3) in [0, 1]."""

    def denoise(self, request: PipelineInput, **options: Any) -> Any:
        """Call the pipeline with the prompt and the method's steps and guidance."""
        arguments = {
            "prompt": request.prompt.text,
            "num_inference_steps": self.options["steps"],
            self.guidance: self.options["guidance"],
        }
        return self.call(request, **{**arguments, **options})

    def call(self, request: PipelineInput, **options: Any) -> Any:
        """Call the pipeline; raise `RefusedError` when its safety checker flags the image."""
        made = self.pipe(generator=request.generator, output_type="np", **options)
        refuse_flagged(getattr(made, "nsfw_content_detected", None))
        return made.images[0]

    @cached_property
    def weights(self) -> PipelineWeights:
        """The files of the model."""
        return PipelineWeights(self.options["model"], self.options["revision"])

    @property
    def device(self) -> str:
        """The torch device."""
        return str(self.options["device"] or usual_device())

    @property
    def precision(self) -> str:
        """The floating-point type of the weights."""
        return str(self.options["precision"] or ("float32" if self.device == "cpu" else self.on_gpu))

    @cached_property
    def pipe(self) -> Any:
        """The pipeline, loaded when first asked for."""
        library = diffusers(f"The method '{self.name}'")
        kind = getattr(library, self.pipeline, None)
        if kind is None:
            raise BadInputError(f"diffusers {version('diffusers')} has no {self.pipeline}, which '{self.name}' needs.")
        import torch

        folder = self.weights.folder
        with explain_load_errors(self.weights), quiet(), torch.inference_mode(mode=False):
            pipe = kind.from_pretrained(
                folder,
                dtype=getattr(torch, self.precision),
                use_safetensors=True,
                local_files_only=True,
                **self.parts(library),
            )
            if self.scheduler:
                scheduler_class = getattr(library, self.scheduler)
                pipe.scheduler = scheduler_class.from_config(pipe.scheduler.config, **self.scheduler_options)
            pipe.set_progress_bar_config(disable=True)
            return self.to_device(pipe)

    def parts(self, library: Any) -> dict[str, Any]:
        """Return the parts of the pipeline that the model's folder lacks."""
        del library
        return {}

    def to_device(self, pipe: Any) -> Any:
        """Move the pipeline to its device."""
        return pipe.to(self.device)


def refuse_flagged(flags: Any) -> None:
    """Raise `RefusedError` when the safety checker flagged the image, which it then has blackened."""
    if flags is not None and any(flags):
        raise RefusedError("the pipeline's safety checker flagged the picture")


def _mixed(seed: int, edit_id: str) -> int:
    """One number for a seed and an edit: edits of one run do not share their noise."""
    return int.from_bytes(hashlib.sha256(f"{seed}\0{edit_id}".encode()).digest()[:7], "big")


def fit_size(width: int, height: int, size: int, multiple: int, *, by_area: bool = False) -> tuple[int, int]:
    """Return the size nearest to this aspect ratio whose sides are multiples of `multiple`.

    Its longer side is `size`, as networks trained at one side want it; by area it has as many pixels as a square of it.

    >>> fit_size(640, 427, 512, 8), fit_size(30, 3000, 512, 64), fit_size(400, 100, 1024, 16, by_area=True)
    ((512, 344), (64, 512), (2048, 512))
    """
    scale = size / (math.sqrt(width * height) if by_area else max(width, height))
    across, down = (max(multiple, round(side * scale / multiple) * multiple) for side in (width, height))
    return across, down


def fit_image(source: Pixels, size: int, multiple: int, *, by_area: bool = False) -> Image.Image:
    """Resize the source to a size the network takes, without cropping."""
    height, width = source.shape[:2]
    target_size = fit_size(width, height, size, multiple, by_area=by_area)
    return Image.fromarray(source).resize(target_size, Image.Resampling.LANCZOS)


def to_outcome(source: Pixels, made: Any) -> Pixels:
    """Convert a pipeline's image in [0, 1] to pixels of the source's size."""
    values = np.asarray(made, dtype=np.float32)
    if not np.isfinite(values).all():
        # Written as it is, it would be a black picture, which a protocol would score.
        raise CannotEditError(
            "The network gave NaN or infinity instead of an image; `option='precision=float32'` may help."
        )
    picture = Image.fromarray(np.rint(values.clip(0, 1) * 255).astype(np.uint8))
    height, width = source.shape[:2]
    if picture.size != (width, height):
        picture = picture.resize((width, height), Image.Resampling.LANCZOS)
    return np.asarray(picture)
