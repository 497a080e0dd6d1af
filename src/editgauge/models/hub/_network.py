"""Base class and helpers of models that run with the transformers library.

`Source` locates the files of a model, the `load` functions build its parts, and `Network` is the base class. Nothing
is downloaded.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import json
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from editgauge._util import profiling
from editgauge._util.files import write_bytes
from editgauge._util.packages import cache_root, sha256_of
from editgauge.errors import BadInputError, EditGaugeError, MissingExtraError, summarize_error
from editgauge.models.roles import ModelCard
from editgauge.models.weights import WeightFiles, entry_of, weights_of

if TYPE_CHECKING:
    import torch

    from editgauge._util.images import Pixels

CONFIG = "config.json"
UNLISTED_LICENSE = "see its card"
"""License in the catalog of a repository that the catalog does not list."""
NO_HASH = "not pulled"
"""Placeholder for the hash while the weights are not on this machine; no answer is cached under it."""
IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)

Precision = Literal["float32", "float16", "int8"]
PRECISIONS: tuple[Precision, ...] = get_args(Precision)
Boxes = NDArray[np.float32]
"""Boxes as n x 4 array: left, top, right, bottom."""


@dataclass(frozen=True)
class Source:
    """The local files of a model, given by hub id, catalog name or folder."""

    name: str
    revision: str | None = None

    @cached_property
    def folder(self) -> Path:
        """Folder with the files; raises when they are not on this machine."""
        if not self.is_folder:
            return self._pulled.folder
        folder = Path(self.name).expanduser()
        if not folder.is_dir():
            raise BadInputError(f"There is no folder '{self.name}'. Give a folder, or an id of the model hub.")
        if not (folder / CONFIG).is_file():
            raise BadInputError(
                f"The folder '{self.name}' holds no {CONFIG}, so it is no model of the transformers library. "
                "Give the folder that `save_pretrained` wrote, or a snapshot of the model hub."
            )
        return folder

    @property
    def is_folder(self) -> bool:
        """Whether the name is a folder: it exists, or cannot be a hub id."""
        path = Path(self.name).expanduser()
        return path.is_dir() or path.is_absolute() or self.name.startswith((".", "~")) or self.name.count("/") > 1

    @property
    def is_here(self) -> bool:
        """Whether the files are on this machine."""
        with suppress(EditGaugeError):
            return self.folder.is_dir()
        return False

    @property
    def id(self) -> str:
        """Hub id, or the last part of a folder, so that manifests hold no local paths."""
        return Path(self.name).expanduser().resolve().name if self.is_folder else entry_of(self.name).hub or self.name

    @property
    def commit(self) -> str:
        """Commit of the files, or the one that would be pulled."""
        if self.is_folder:
            return self.revision or "local"
        if self.is_here:
            match = re.search(r"[0-9a-f]{40}$", self._pulled.revision)
            return match[0] if match else "local"
        return self.revision or entry_of(self.name).revision or "main"

    @property
    def license(self) -> str:
        """License from the catalog, else from the model card."""
        if not self.is_folder and (listed_license := entry_of(self.name).license) != UNLISTED_LICENSE:
            return listed_license
        license_name = _read_license(self.folder) if self.is_here else None
        return license_name or "unknown"

    @property
    def config(self) -> dict[str, Any]:
        """Content of config.json."""
        return _read_json(self.folder / CONFIG)

    @property
    def preprocessing(self) -> dict[str, Any]:
        """Preprocessing settings; newer folders nest them in the processor's file."""
        for name in ("processor_config.json", "preprocessor_config.json"):
            if (self.folder / name).is_file():
                settings = _read_json(self.folder / name)
                settings = settings.get("image_processor", settings)
                if {"size", "image_mean"} & settings.keys():
                    return dict(settings)
        raise BadInputError(
            f"'{self.name}' lacks preprocessor_config.json, which says how pictures are made ready for the network. "
            "Save the image processor into the folder as well."
        )

    @property
    def weight_files(self) -> tuple[Path, ...]:
        """Weight files: safetensors if there are any, else pickle files."""
        for pattern in ("*.safetensors", "pytorch_model*.bin"):
            if files := sorted(self.folder.glob(pattern)):
                return tuple(files)
        raise BadInputError(
            f"'{self.name}' holds no weights: neither *.safetensors nor pytorch_model*.bin is in its folder."
        )

    @cached_property
    def sha256(self) -> str:
        """Hash of the weight file, or of the list of hashes when there are several."""
        recorded_hashes = {} if self.is_folder else self._pulled.hashes or {}
        hashes = {path.name: recorded_hashes.get(path.name) or _cached_hash(path) for path in self.weight_files}
        if len(hashes) == 1:
            return next(iter(hashes.values()))
        listing = "\n".join(f"{file_hash}  {name}" for name, file_hash in hashes.items())
        return hashlib.sha256(listing.encode()).hexdigest()

    @cached_property
    def _pulled(self) -> WeightFiles:
        return weights_of(self.name, self.revision)


def _read_license(folder: Path) -> str | None:
    """Return the license in the YAML header of the model card; None if there is none."""
    readme = folder / "README.md"
    if not readme.is_file():
        return None
    header = re.match(r"---\n(.*?)\n---", readme.read_text("utf-8", errors="replace"), re.DOTALL)
    match = re.search(r"^license:\s*(\S+)", header[1], re.MULTILINE) if header else None
    return match[1] if match else None


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise BadInputError(f"'{path.name}' of the model in '{path.parent}' cannot be read: {error}") from error
    if not isinstance(content, dict):
        raise BadInputError(f"'{path.name}' of the model in '{path.parent}' is not a table of names and values.")
    return content


def _cached_hash(path: Path) -> str:
    """Return the hash of a file, cached on disk until its size or modification time changes."""
    resolved = path.resolve()
    stat = resolved.stat()
    key = hashlib.sha256(f"{resolved}\0{stat.st_size}\0{stat.st_mtime_ns}".encode()).hexdigest()
    cache_file = cache_root() / "hashes" / key
    with suppress(OSError):
        return cache_file.read_text("ascii")
    file_hash = sha256_of(path)
    with suppress(BadInputError):  # the cache is optional
        write_bytes(cache_file, file_hash.encode("ascii"))
    return file_hash


def transformers(feature: str) -> Any:
    """Import transformers; raise `MissingExtraError` for `feature` if it or torch is not installed."""
    libraries = ("torch", "transformers")
    if any(importlib.util.find_spec(name) is None for name in libraries):
        raise MissingExtraError(feature, libraries, extra="torch")
    return importlib.import_module("transformers")


def usual_device() -> str:
    """Return "cuda" if torch can use it, else "cpu"."""
    if importlib.util.find_spec("torch") is None:
        return "cpu"
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def load(
    source: Source, kinds: Mapping[str, str], device: str, precision: Precision, **options: Any
) -> torch.nn.Module:
    """Load the network of a source for inference.

    Args:
        source: files of the model.
        kinds: class of the transformers library to build, by supported `model_type` of config.json.
        device: torch device to run on.
        precision: `int8` quantizes the weights of linear layers, on a CPU only.
        options: additional arguments of `from_pretrained`.

    """
    library = transformers(f"The model '{source.name}'")
    kind = str(source.config.get("model_type"))
    if kind not in kinds:
        raise BadInputError(f"'{source.name}' is of the kind '{kind}'; wanted is one of: {', '.join(sorted(kinds))}.")
    import torch

    # Tensors created in inference mode cannot record gradients, which explanations need.
    with clear_errors(source, "network"), torch.inference_mode(mode=False):
        network, report = getattr(library, kinds[kind]).from_pretrained(
            source.folder,
            local_files_only=True,
            trust_remote_code=False,
            weights_only=True,
            use_safetensors=source.weight_files[0].suffix == ".safetensors",
            dtype="float32",
            output_loading_info=True,
            **options,
        )
        _check_complete(source, report)
        network.eval()
        module: torch.nn.Module = _quantize_int8(network, device) if precision == "int8" else network.to(device)
    return module


def load_image_processor(source: Source, **options: Any) -> Any:
    """Load the image processor.

    It always uses the Pillow backend, so that scores do not depend on whether torchvision is installed.
    """
    library = transformers(f"The model '{source.name}'")
    with clear_errors(source, "image processor"):
        return library.AutoImageProcessor.from_pretrained(
            source.folder, backend="pil", local_files_only=True, trust_remote_code=False, **options
        )


def load_tokenizer(source: Source) -> Any:
    """Load the tokenizer."""
    library = transformers(f"The model '{source.name}'")
    with clear_errors(source, "tokenizer"):
        return library.AutoTokenizer.from_pretrained(source.folder, local_files_only=True, trust_remote_code=False)


@contextmanager
def clear_errors(source: Source, part: str) -> Iterator[None]:
    """Convert errors of the library to `BadInputError`, and hide its progress bars."""
    library_logging = importlib.import_module("transformers.utils.logging")
    had_progress_bar = library_logging.is_progress_bar_enabled()
    library_logging.disable_progress_bar()  # it would garble the progress bars of EditGauge
    try:
        yield
    except EditGaugeError:
        raise
    except Exception as error:  # parsers of damaged files may raise anything
        raise BadInputError(
            f"The {part} of the model '{source.name}' cannot be loaded: {summarize_error(error)} "
            "Is the folder complete? `editgauge models verify` checks what was pulled."
        ) from error
    finally:
        if had_progress_bar:
            library_logging.enable_progress_bar()


def _check_complete(source: Source, report: Mapping[str, Any]) -> None:
    """Raise `BadInputError` if tensors are missing; the library would only warn and initialize them randomly."""
    missing_keys = [*report["missing_keys"], *(str(item[0]) for item in report["mismatched_keys"])]
    if missing_keys:
        raise BadInputError(
            f"The weights of '{source.name}' lack {len(missing_keys)} of the network's tensors, "
            f"such as '{min(missing_keys)}'. "
            "They belong to another architecture, or the file is damaged."
        )


def _quantize_int8(network: torch.nn.Module, device: str) -> torch.nn.Module:
    if device != "cpu":
        raise BadInputError(f"int8 runs on a CPU only, and '{device}' was requested; use float16 on a GPU.")
    import torch

    quantization: Any = torch.ao.quantization
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*deprecated.*")  # its successor is a separate package
        quantized: torch.nn.Module = quantization.quantize_dynamic(
            network, {torch.nn.Linear: quantization.per_channel_dynamic_qconfig}
        )
    return quantized


class Network:
    """Base class of models that run with the transformers library.

    Args:
        name: a folder written by `save_pretrained`, an id of the model hub, or a name of the catalog.
        revision: revision on the model hub; not for folders.
        device: `cpu`, `cuda`, `cuda:1` or `mps`; by default the GPU if there is one.
        precision: `float32`, `float16` or `int8` (CPU only); by default float16 on a GPU and float32 elsewhere.

    """

    role: ClassVar[str]
    kinds: ClassVar[Mapping[str, str]]
    """Class of the transformers library by supported `model_type`."""
    batch: int = 8

    def __init__(
        self,
        name: str | Path,
        revision: str | None = None,
        device: str | None = None,
        precision: Precision | None = None,
    ) -> None:
        if precision not in {None, *PRECISIONS}:
            raise BadInputError(f"There is no precision '{precision}'. There are: {', '.join(PRECISIONS)}.")
        self.source = Source(str(name), revision)
        self._device = device
        self._precision = precision

    @cached_property
    def device(self) -> str:
        """Device that runs the network."""
        return self._device or usual_device()

    @cached_property
    def precision(self) -> Precision:
        """Numeric precision."""
        return self._precision or ("float16" if self.device.startswith("cuda") else "float32")

    @property
    def weights(self) -> tuple[str, ...]:
        """Sets of weights that the model needs; empty for a local folder."""
        return () if self.source.is_folder else (self.source.name,)

    @property
    def available(self) -> bool:
        """Whether the weights are on this machine."""
        return self.source.is_here

    @property
    def card(self) -> ModelCard:
        """Identity of the model; hash, input size and commit need its files."""
        is_available = self.available
        return ModelCard(
            role=self.role,
            id=self.source.id,
            revision=self.source.commit,
            sha256=self.source.sha256 if is_available else NO_HASH,
            license=self.source.license,
            input_size=self._input_size() if is_available else None,
            device=self.device,
            settings={"precision": self.precision, **self._settings()},
        )

    @cached_property
    def network(self) -> Any:
        """The network, loaded on first use."""
        return load(self.source, self.kinds, self.device, self.precision, **self._options())

    @cached_property
    def image_processor(self) -> Any:
        """The image processor, loaded on first use."""
        return load_image_processor(self.source)

    @cached_property
    def tokenizer(self) -> Any:
        """The tokenizer, loaded on first use."""
        return load_tokenizer(self.source)

    def prepared(self, images: Sequence[Pixels]) -> torch.Tensor:
        """Preprocess the images and move them to the network's device."""
        with profiling.span("prepare"):
            values: torch.Tensor = self.image_processor(list(images), return_tensors="pt")["pixel_values"]
            return values.to(self.device)

    @contextmanager
    def inference(self) -> Iterator[None]:
        """Run inference without gradients, in half precision if configured."""
        transformers(f"The model '{self.source.name}'")
        import torch

        device_type = torch.device(self.device).type
        autocast = torch.autocast(device_type, torch.float16, enabled=self.precision == "float16")
        with profiling.span("forward"), torch.inference_mode(), autocast:
            yield

    def _settings(self) -> dict[str, str | int | float]:
        """Return further settings that influence the answers."""
        return {}

    def _options(self) -> dict[str, Any]:
        """Return additional arguments of `from_pretrained`."""
        return {}

    def _input_size(self) -> tuple[int, int] | None:
        settings = self.source.preprocessing
        size = settings.get("crop_size") if settings.get("do_center_crop") else settings.get("size")
        if isinstance(size, int):  # older files have one number or two instead of a mapping
            return size, size
        if isinstance(size, list):
            return int(size[1]), int(size[0])
        if isinstance(size, dict) and {"height", "width"} <= size.keys():
            return int(size["width"]), int(size["height"])
        return None


def squeezed(images: Sequence[Pixels], settings: Mapping[str, Any], white: float = 1.0) -> torch.Tensor:
    """Resize without keeping the aspect ratio and normalize, to n x 3 x height x width.

    For SAM 2 and DINOv3, whose image processors in the library need torchvision.

    Args:
        images: the images.
        settings: content of preprocessor_config.json.
        white: value of a white pixel before normalization; 255 for models whose code does not rescale to [0, 1].

    """
    import torch

    size = (int(settings["size"]["width"]), int(settings["size"]["height"]))
    resample = Image.Resampling(settings.get("resample", Image.Resampling.BILINEAR))
    mean = np.array(settings.get("image_mean", IMAGENET_MEAN), np.float32)
    std = np.array(settings.get("image_std", IMAGENET_STD), np.float32)
    arrays = [
        (np.asarray(Image.fromarray(image).resize(size, resample), np.float32) * (white / 255) - mean) / std
        for image in images
    ]
    return torch.from_numpy(np.stack(arrays).transpose(0, 3, 1, 2).copy())


def resized(maps: torch.Tensor, size: tuple[int, int]) -> torch.Tensor:
    """Resize maps (n x height x width) bilinearly to `size` (height, width)."""
    from torch.nn.functional import interpolate

    return interpolate(maps[None], size, mode="bilinear", align_corners=False)[0]


def numbers(tensor: torch.Tensor) -> NDArray[np.float32]:
    """Convert a tensor to a float32 array on the CPU."""
    return np.asarray(tensor.detach().float().cpu().numpy(), dtype=np.float32)


def row_of(batch: Mapping[str, NDArray[np.float32]], index: int) -> dict[str, NDArray[np.float32]]:
    """Return a copy of the features of one image, so that the batch can be freed."""
    return {name: values[index].copy() for name, values in batch.items()}


def corners(boxes: Boxes, frame: tuple[int, int]) -> Boxes:
    """Convert boxes from center and size, relative to a frame (width, height), to corners in pixels."""
    center, half_size = boxes[:, :2], boxes[:, 2:] / 2
    scale = np.array([*frame, *frame], np.float32)
    return np.asarray(np.concatenate([center - half_size, center + half_size], axis=1) * scale, dtype=np.float32)


def around(masks: NDArray[np.bool_]) -> Boxes:
    """Return the bounding box of each mask (n x height x width); masks must not be empty."""
    rows, columns = np.asarray(masks.any(axis=2)), np.asarray(masks.any(axis=1))
    height, width = masks.shape[1:]
    sides = (
        columns.argmax(axis=1),
        rows.argmax(axis=1),
        width - columns[:, ::-1].argmax(axis=1),
        height - rows[:, ::-1].argmax(axis=1),
    )
    return np.stack(sides, axis=1).astype(np.float32)


def overlap(boxes: Boxes, other_boxes: Boxes) -> NDArray[np.float32]:
    """Compute the pairwise intersection over union, n x m."""
    top_left = np.maximum(boxes[:, None, :2], other_boxes[None, :, :2])
    bottom_right = np.minimum(boxes[:, None, 2:], other_boxes[None, :, 2:])
    intersection = np.clip(bottom_right - top_left, 0, None).prod(axis=2)
    union = _area(boxes)[:, None] + _area(other_boxes)[None] - intersection
    iou = np.divide(intersection, union, out=np.zeros_like(intersection), where=union > 0)
    return np.asarray(iou, dtype=np.float32)


def _area(boxes: Boxes) -> NDArray[np.float32]:
    return np.asarray(np.clip(boxes[:, 2:] - boxes[:, :2], 0, None).prod(axis=1), dtype=np.float32)
