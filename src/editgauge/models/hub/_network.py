"""Base class and helpers of models that run with the transformers library.

`Source` finds the files of a model, `load*` build its parts, `Network` is the base class. Nothing is downloaded here.
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
"""What the catalog says about a repository it does not list."""
NO_HASH = "not pulled"
"""What stands for a hash while the weights are not on this machine; no answer is ever remembered under it."""


@dataclass(frozen=True)
class Source:
    """Files of a model, given by hub id, catalog name or folder."""

    name: str
    revision: str | None = None

    @cached_property
    def folder(self) -> Path:
        """Folder with the files; raises when they are not on this machine."""
        if not self.is_folder:
            return self._pulled.folder
        local = Path(self.name).expanduser()
        if not local.is_dir():
            raise BadInputError(f"There is no folder '{self.name}'. Give a folder, or an id of the model hub.")
        if not (local / CONFIG).is_file():
            raise BadInputError(
                f"The folder '{self.name}' holds no {CONFIG}, so it is no model of the transformers library. "
                "Give the folder that `save_pretrained` wrote, or a snapshot of the model hub."
            )
        return local

    @property
    def is_folder(self) -> bool:
        """Whether the name is a folder: it exists, or it can be nothing else."""
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
            pinned = re.search(r"[0-9a-f]{40}$", self._pulled.revision)
            return pinned[0] if pinned else "local"
        return self.revision or entry_of(self.name).revision or "main"

    @property
    def license(self) -> str:
        """License from the catalog, else from the model card."""
        if not self.is_folder and (license_name := entry_of(self.name).license) != UNLISTED_LICENSE:
            return license_name
        return (self.is_here and _license_in(self.folder)) or "unknown"

    @property
    def config(self) -> dict[str, Any]:
        """Content of config.json."""
        return _json(self.folder / CONFIG)

    @property
    def preprocessing(self) -> dict[str, Any]:
        """Preprocessing settings; newer folders nest them in the processor's file."""
        for name in ("processor_config.json", "preprocessor_config.json"):
            if (self.folder / name).is_file():
                settings = _json(self.folder / name)
                settings = settings.get("image_processor", settings)
                if {"size", "image_mean"} & settings.keys():
                    return dict(settings)
        raise BadInputError(
            f"'{self.name}' lacks preprocessor_config.json, which says how pictures are made ready for the network. "
            "Save the image processor into the folder as well."
        )

    @property
    def weight_files(self) -> tuple[Path, ...]:
        """Weight files: safetensors if there are any, else pickles."""
        for pattern in ("*.safetensors", "pytorch_model*.bin"):
            if files := sorted(self.folder.glob(pattern)):
                return tuple(files)
        raise BadInputError(
            f"'{self.name}' holds no weights: neither *.safetensors nor pytorch_model*.bin is in its folder."
        )

    @cached_property
    def sha256(self) -> str:
        """Hash of the weight file, or of the list of hashes when there are several."""
        recorded = {} if self.is_folder else self._pulled.hashes or {}
        hashes = [recorded.get(path.name) or _cached_hash(path) for path in self.weight_files]
        if len(hashes) == 1:
            return hashes[0]
        listed = "\n".join(f"{value}  {path.name}" for value, path in zip(hashes, self.weight_files, strict=True))
        return hashlib.sha256(listed.encode()).hexdigest()

    @cached_property
    def _pulled(self) -> WeightFiles:
        return weights_of(self.name, self.revision)


def _license_in(folder: Path) -> str | None:
    """Read the license from the header of the model card."""
    readme = folder / "README.md"
    if not readme.is_file():
        return None
    head = re.match(r"---\n(.*?)\n---", readme.read_text("utf-8", errors="replace"), re.DOTALL)
    match = re.search(r"^license:\s*(\S+)", head[1], re.MULTILINE) if head else None
    return match[1] if match else None


def _json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise BadInputError(f"'{path.name}' of the model in '{path.parent}' cannot be read: {error}") from error
    if not isinstance(content, dict):
        raise BadInputError(f"'{path.name}' of the model in '{path.parent}' is not a table of names and values.")
    return content


def _cached_hash(path: Path) -> str:
    """Hash a file, remembered on disk until its size or time changes: weights are gigabytes."""
    real = path.resolve()
    state = real.stat()
    key = hashlib.sha256(f"{real}\0{state.st_size}\0{state.st_mtime_ns}".encode()).hexdigest()
    note = cache_root() / "hashes" / key
    with suppress(OSError):
        return note.read_text("ascii")
    computed = sha256_of(path)
    with suppress(BadInputError):  # a cache that cannot be written costs time, not answers
        write_bytes(note, computed.encode("ascii"))
    return computed


Precision = Literal["float32", "float16", "int8"]
PRECISIONS: tuple[Precision, ...] = get_args(Precision)


def transformers(feature: str) -> Any:
    """Import transformers; raise `MissingExtraError` in the name of `feature` when it or torch is not installed."""
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
        source: where its files are
        kinds: for each `model_type` of config.json that will do, the class of the transformers library to build
        device: where it is to run
        precision: `int8` rounds the weights of its linear layers, on a processor only
        options: handed to `from_pretrained`

    """
    library = transformers(f"The model '{source.name}'")
    kind = str(source.config.get("model_type"))
    if kind not in kinds:
        raise BadInputError(f"'{source.name}' is of the kind '{kind}'; wanted is one of: {', '.join(sorted(kinds))}.")
    import torch

    # What is made in inference mode takes no part in gradients, and could never be explained.
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
        placed: torch.nn.Module = _quantize_int8(network, device) if precision == "int8" else network.to(device)
    return placed


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
    """Convert any error of the library to `BadInputError` with one sentence."""
    shows = importlib.import_module("transformers.utils.logging")
    showed = shows.is_progress_bar_enabled()
    shows.disable_progress_bar()  # ours tell what takes long; this one would cut through them
    try:
        yield
    except EditGaugeError:
        raise
    except Exception as error:  # a damaged file meets a parser of some other library, which may raise anything
        raise BadInputError(
            f"The {part} of the model '{source.name}' cannot be loaded: {summarize_error(error)} "
            "Is the folder complete? `editgauge models verify` checks what was pulled."
        ) from error
    finally:
        if showed:
            shows.enable_progress_bar()


def _check_complete(source: Source, report: Mapping[str, Any]) -> None:
    """Reject missing tensors: the library would fill them with random numbers and only warn."""
    gaps = [*report["missing_keys"], *(str(item[0]) for item in report["mismatched_keys"])]
    if gaps:
        raise BadInputError(
            f"The weights of '{source.name}' lack {len(gaps)} of the network's tensors, such as '{sorted(gaps)[0]}'. "
            "They belong to another architecture, or the file is damaged."
        )


def _quantize_int8(network: torch.nn.Module, device: str) -> torch.nn.Module:
    if device != "cpu":
        raise BadInputError(f"int8 runs on a CPU only, and '{device}' was requested; use float16 on a GPU.")
    import torch

    quantization: Any = torch.ao.quantization
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*deprecated.*")  # its announced successor is a package of its own
        rounded: torch.nn.Module = quantization.quantize_dynamic(
            network, {torch.nn.Linear: quantization.per_channel_dynamic_qconfig}
        )
    return rounded


IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)


class Network:
    """Base class of models that run with the transformers library.

    Args:
        name: a folder that `save_pretrained` wrote, an id of the model hub, or a name of the catalog
        revision: which revision of the hub's model; a folder has none
        device: `cpu`, `cuda`, `cuda:1`, `mps`; the GPU if there is one when left out
        precision: `float32`, `float16`, or `int8` (not on a GPU); float16 on a GPU and float32 elsewhere when left out

    """

    role: ClassVar[str]
    kinds: ClassVar[Mapping[str, str]]
    """For each `model_type` this family knows, the class of the transformers library."""
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
        """Sets of weights it needs; empty for a local folder."""
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

        half = self.precision == "float16"
        on = torch.device(self.device).type
        with profiling.span("forward"), torch.inference_mode(), torch.autocast(on, torch.float16, enabled=half):
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
        if isinstance(size, int):  # older files give one number, or two, instead of names
            return size, size
        if isinstance(size, list):
            return int(size[1]), int(size[0])
        if isinstance(size, dict) and {"height", "width"} <= size.keys():
            return int(size["width"]), int(size["height"])
        return None


def squeezed(images: Sequence[Pixels], settings: Mapping[str, Any], white: float = 1.0) -> torch.Tensor:
    """Resize without keeping the aspect ratio and normalize, to n x 3 x height x width.

    For SAM 2 and DINOv3, for which the library's own way needs torchvision.

    Args:
        images: the images
        settings: preprocessor_config.json
        white: the value of a white pixel before the normalization; 255 for code that forgets to divide

    """
    import torch

    size = (int(settings["size"]["width"]), int(settings["size"]["height"]))
    resample = Image.Resampling(settings.get("resample", Image.Resampling.BILINEAR))
    mean = np.array(settings.get("image_mean", IMAGENET_MEAN), np.float32)
    std = np.array(settings.get("image_std", IMAGENET_STD), np.float32)
    ready = [
        (np.asarray(Image.fromarray(image).resize(size, resample), np.float32) * (white / 255) - mean) / std
        for image in images
    ]
    return torch.from_numpy(np.stack(ready).transpose(0, 3, 1, 2).copy())


def resized(maps: torch.Tensor, size: tuple[int, int]) -> torch.Tensor:
    """Resize maps of n x height x width bilinearly."""
    from torch.nn.functional import interpolate

    return interpolate(maps[None], size, mode="bilinear", align_corners=False)[0]


def numbers(tensor: torch.Tensor) -> NDArray[np.float32]:
    """Convert a tensor to a float32 array on the CPU."""
    return np.asarray(tensor.detach().float().cpu().numpy(), dtype=np.float32)


def row_of(batch: Mapping[str, NDArray[np.float32]], index: int) -> dict[str, NDArray[np.float32]]:
    """Copy the features of one image, so that they do not keep the whole batch in memory."""
    return {name: values[index].copy() for name, values in batch.items()}


Boxes = NDArray[np.float32]


def corners(boxes: Boxes, frame: tuple[int, int]) -> Boxes:
    """Convert boxes from center and size, relative to a frame (width, height), to corners in pixels."""
    center, half = boxes[:, :2], boxes[:, 2:] / 2
    scale = np.array([*frame, *frame], np.float32)
    return np.asarray(np.concatenate([center - half, center + half], axis=1) * scale, dtype=np.float32)


def around(masks: NDArray[np.bool_]) -> Boxes:
    """Return the bounding box of each mask; masks must not be empty."""
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
    low = np.maximum(boxes[:, None, :2], other_boxes[None, :, :2])
    high = np.minimum(boxes[:, None, 2:], other_boxes[None, :, 2:])
    shared = np.clip(high - low, 0, None).prod(axis=2)
    total = _area(boxes)[:, None] + _area(other_boxes)[None] - shared
    return np.asarray(np.divide(shared, total, out=np.zeros_like(shared), where=total > 0), dtype=np.float32)


def _area(boxes: Boxes) -> NDArray[np.float32]:
    return np.asarray(np.clip(boxes[:, 2:] - boxes[:, :2], 0, None).prod(axis=1), dtype=np.float32)
