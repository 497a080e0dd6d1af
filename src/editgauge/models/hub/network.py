"""What all models of the transformers library share: a card, a device, a precision, and loading when first asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from editgauge._util import profiling
from editgauge.errors import BadInputError
from editgauge.models.hub import loading
from editgauge.models.hub.sources import NEVER_RUN, Source
from editgauge.models.interfaces import ModelCard

if TYPE_CHECKING:
    import torch

    from editgauge._util.images import Pixels

IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)


class Network:
    """A model of the transformers library.

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
        precision: loading.Precision | None = None,
    ) -> None:
        if precision not in {None, *loading.PRECISIONS}:
            raise BadInputError(f"There is no precision '{precision}'. There are: {', '.join(loading.PRECISIONS)}.")
        self.source = Source(str(name), revision)
        self._device = device
        self._precision = precision

    @cached_property
    def device(self) -> str:
        """Where it runs."""
        return self._device or loading.usual_device()

    @cached_property
    def precision(self) -> loading.Precision:
        """How exactly it computes."""
        return self._precision or ("float16" if self.device.startswith("cuda") else "float32")

    @property
    def weights(self) -> tuple[str, ...]:
        """What it needs of the catalog or the hub; nothing when it is in a folder of the user's."""
        return () if self.source.is_folder else (self.source.name,)

    @property
    def available(self) -> bool:
        """Are its weights on this machine?"""
        return self.source.is_here

    @property
    def card(self) -> ModelCard:
        """What it is. Hash, size and commit are known once its files are here."""
        here = self.available
        return ModelCard(
            role=self.role,
            id=self.source.id,
            revision=self.source.commit,
            sha256=self.source.sha256 if here else NEVER_RUN,
            license=self.source.license,
            input_size=self._input_size() if here else None,
            device=self.device,
            settings={"precision": self.precision, **self._settings()},
        )

    @cached_property
    def network(self) -> Any:
        """The network itself, loaded now."""
        return loading.load(self.source, self.kinds, self.device, self.precision, **self._options())

    @cached_property
    def image_processor(self) -> Any:
        """What makes pictures ready for it."""
        return loading.load_image_processor(self.source)

    @cached_property
    def tokenizer(self) -> Any:
        """What makes texts ready for it."""
        return loading.load_tokenizer(self.source)

    def prepared(self, images: Sequence[Pixels]) -> torch.Tensor:
        """The pictures as the network wants them, on its device."""
        with profiling.span("prepare"):
            values: torch.Tensor = self.image_processor(list(images), return_tensors="pt")["pixel_values"]
            return values.to(self.device)

    @contextmanager
    def thinking(self) -> Iterator[None]:
        """Without gradients, and in half precision where that was chosen."""
        loading.transformers(f"The model '{self.source.name}'")
        import torch

        half = self.precision == "float16"
        on = torch.device(self.device).type
        with profiling.span("forward"), torch.inference_mode(), torch.autocast(on, torch.float16, enabled=half):
            yield

    def _settings(self) -> dict[str, str | int | float]:
        """What else decides its answers."""
        return {}

    def _options(self) -> dict[str, Any]:
        """What `from_pretrained` is given in addition to the usual."""
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
    """The pictures at the network's size whatever their shape, as n x 3 x height x width, normalized.

    For SAM 2 and DINOv3, for which the library's own way needs torchvision.

    Args:
        images: the pictures
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
    """Maps of n x height x width at another height and width, bilinearly."""
    from torch.nn.functional import interpolate

    return interpolate(maps[None], size, mode="bilinear", align_corners=False)[0]


def numbers(tensor: torch.Tensor) -> NDArray[np.float32]:
    """A tensor as an array of float32, wherever and however exactly it was computed."""
    return np.asarray(tensor.detach().float().cpu().numpy(), dtype=np.float32)


def row_of(batch: Mapping[str, NDArray[np.float32]], index: int) -> dict[str, NDArray[np.float32]]:
    """What is kept of one picture of a batch, copied, so that it does not keep the whole batch in memory."""
    return {name: values[index].copy() for name, values in batch.items()}
