"""DreamSim (Fu et al. 2023): a perceptual distance learned from what people call alike.

The ensemble of the paper is three vision transformers in the form of DINO's code: DINO, the image tower of CLIP and
that of OpenCLIP, each adapted, with the adaptation already added to the weights. A folder or repository holds them in
one safetensors file; a branch is recognized by its own tensors, so it does not matter what comes before their names.

Written after the published code; no file of a published ensemble was available. A file with tensors that are not
understood is refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from PIL import Image

from editgauge.errors import BadInputError
from editgauge.models.hub._network import IMAGENET_MEAN, IMAGENET_STD, Network, clear_errors, numbers

if TYPE_CHECKING:
    import torch

    from editgauge._util.images import Pixels

SIDE = 224
HEAD = 64
"""Length of a head of attention in every transformer that DreamSim is made of."""
CLIP_MEAN, CLIP_STD = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)
MARK = "blocks.0.attn.qkv.weight"
"""Every branch has this tensor, and what comes before it is the branch's name."""
LAYER = ("norm1", "attn.qkv", "attn.proj", "norm2", "mlp.fc1", "mlp.fc2")
OUTER = (
    "cls_token",
    "pos_embed",
    "patch_embed.proj.weight",
    "norm.weight",
    "norm.bias",
    "patch_embed.proj.bias",
    "pos_drop.weight",
    "pos_drop.bias",
)
"""The tensors of a branch outside of its layers; every branch has the first five."""
DINO_HEAD = re.compile(r"\bproj\.(mlp|last_layer)\.")
"""What DINO was trained with; it may be in the file, and DreamSim does not use it."""


@dataclass(frozen=True, slots=True)
class DreamSimBranch:
    """One transformer. CLIP's towers also normalize the input and project the output."""

    weights: Mapping[str, torch.Tensor]
    projection: torch.Tensor | None
    quick: bool
    """OpenAI's CLIP uses a quicker activation than OpenCLIP does, which no tensor tells: it is the first of the two."""

    @property
    def is_clip(self) -> bool:
        """Whether this is the image tower of a CLIP."""
        return self.projection is not None

    def vectors(self, pixels: torch.Tensor) -> torch.Tensor:
        """Return the projected class token of each image; input n x 3 x height x width from 0 to 1."""
        import torch.nn.functional as layers
        from torch import cat, tensor

        weights = self.weights
        mean, std = (CLIP_MEAN, CLIP_STD) if self.is_clip else (IMAGENET_MEAN, IMAGENET_STD)
        scaled = (pixels - tensor(mean).view(3, 1, 1).to(pixels)) / tensor(std).view(3, 1, 1).to(pixels)
        kernel = weights["patch_embed.proj.weight"]
        patches = layers.conv2d(scaled, kernel, weights.get("patch_embed.proj.bias"), stride=kernel.shape[-1])
        tokens = patches.flatten(2).transpose(1, 2)
        first = weights["cls_token"].expand(len(tokens), -1, -1)
        tokens = cat([first, tokens], dim=1) + weights["pos_embed"]
        if self.is_clip:
            tokens = self._normalized(tokens, "pos_drop")
        for layer in range(sum(name.endswith("attn.qkv.weight") for name in weights)):
            tokens = self._after(f"blocks.{layer}", tokens)
        if self.projection is None:
            return tokens[:, 0]
        return self._normalized(tokens, "norm")[:, 0] @ self.projection

    def _after(self, layer: str, tokens: torch.Tensor) -> torch.Tensor:
        import torch.nn.functional as layers

        count, length, width = tokens.shape
        mixed = self._linear(self._normalized(tokens, f"{layer}.norm1"), f"{layer}.attn.qkv")
        queries, keys, values = mixed.reshape(count, length, 3, width // HEAD, HEAD).permute(2, 0, 3, 1, 4)
        attended = layers.scaled_dot_product_attention(queries, keys, values)
        tokens = tokens + self._linear(attended.transpose(1, 2).reshape(count, length, width), f"{layer}.attn.proj")
        hidden = self._linear(self._normalized(tokens, f"{layer}.norm2"), f"{layer}.mlp.fc1")
        active = hidden * (1.702 * hidden).sigmoid() if self.quick else layers.gelu(hidden)
        return tokens + self._linear(active, f"{layer}.mlp.fc2")

    def _linear(self, tokens: torch.Tensor, name: str) -> torch.Tensor:
        import torch.nn.functional as layers

        return layers.linear(tokens, self.weights[f"{name}.weight"], self.weights[f"{name}.bias"])

    def _normalized(self, tokens: torch.Tensor, name: str) -> torch.Tensor:
        import torch.nn.functional as layers

        weight, bias = self.weights[f"{name}.weight"], self.weights[f"{name}.bias"]
        return layers.layer_norm(tokens, weight.shape, weight, bias, 1e-5 if self.is_clip else 1e-6)


class DreamSim(Network):
    """Role `perceptual_distance`: 1 - cosine of the centered vectors of two images."""

    role = "perceptual_distance"
    kinds: ClassVar[Mapping[str, str]] = {}
    batch = 8

    def compare(self, pairs: Sequence[tuple[Pixels, Pixels]]) -> list[float]:
        """Compute one distance per pair of images; 0 for identical images."""
        vectors = self._vectors([picture for pair in pairs for picture in pair])
        return [float(np.clip(1 - vectors[2 * index] @ vectors[2 * index + 1], 0, 2)) for index in range(len(pairs))]

    def _vectors(self, images: Sequence[Pixels]) -> Any:
        if not images:
            return np.zeros((0, 0), np.float32)
        with self.inference():
            import torch

            pixels = torch.from_numpy(np.stack([_square(image) for image in images])).to(self.device)
            joined = torch.cat([branch.vectors(pixels) for branch in self.branches], dim=1)
        vectors = numbers(joined).astype(np.float64)
        vectors -= vectors.mean(axis=1, keepdims=True)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    @cached_property
    def branches(self) -> tuple[DreamSimBranch, ...]:
        """The transformers, loaded on first use, in the order of concatenation."""
        with clear_errors(self.source, "network"):
            from safetensors.torch import load_file

            tensors: dict[str, torch.Tensor] = {}
            for file in self.source.weight_files:
                if file.suffix != ".safetensors":
                    raise BadInputError(
                        f"DreamSim is read from *.safetensors, and '{self.source.name}' has '{file.name}'."
                    )
                tensors |= load_file(file, device=self.device)
        return branches_of({name: tensor.float() for name, tensor in tensors.items()}, self.source.name)

    def _input_size(self) -> tuple[int, int] | None:
        return SIDE, SIDE

    def _settings(self) -> dict[str, str | int | float]:
        return {"resize": "bicubic, to the whole square"}


def branches_of(tensors: Mapping[str, torch.Tensor], name: str) -> tuple[DreamSimBranch, ...]:
    """Build the transformers from a file of tensors; raise `BadInputError` for missing or extra tensors.

    Args:
        tensors: all tensors by name
        name: of the model, for messages

    """
    starts = sorted(element.removesuffix(MARK) for element in tensors if element.endswith(MARK))
    tensors_by_prefix: dict[str, dict[str, torch.Tensor]] = {start: {} for start in starts}
    projections: list[torch.Tensor] = []
    faults: list[str] = [] if starts else [f"no tensor is called …{MARK}"]
    for key in sorted(tensors):
        start = max((item for item in starts if key.startswith(item)), key=len, default=None)
        part = key.removeprefix(start or "")
        if start is not None and (part in OUTER or part.startswith("blocks.")):
            tensors_by_prefix[start][part] = tensors[key]
        elif key.endswith(("proj", "proj.weight", "projection", "projection.weight")) and tensors[key].ndim == 2:
            projections.append(tensors[key].T if key.endswith(".weight") else tensors[key])
        elif not DINO_HEAD.search(key):
            faults.append(f"'{key}' is not understood")
    faults += [f"'{start}{part}' is missing" for start in starts for part in _missing(tensors_by_prefix[start])]
    towers = [start for start in starts if "pos_drop.weight" in tensors_by_prefix[start]]
    if len(towers) != len(projections):
        faults.append(f"there are {len(towers)} towers of CLIP and {len(projections)} projections")
    if faults:
        raise BadInputError(
            f"The weights of '{name}' are not DreamSim as its authors wrote it: transformers in the form of DINO's "
            "code, adapted, and a projection for each tower of CLIP.",
            faults,
        )
    by_tower = dict(zip(towers, projections, strict=True))
    return tuple(
        DreamSimBranch(tensors_by_prefix[start], by_tower.get(start), quick=[start] == towers[:1]) for start in starts
    )


def _missing(weights: Mapping[str, torch.Tensor]) -> list[str]:
    layers = sum(name.endswith("attn.qkv.weight") for name in weights)
    parts = [f"{part}.{kind}" for part in LAYER for kind in ("weight", "bias")]
    expected = [*OUTER[:5], *(f"blocks.{layer}.{part}" for layer in range(layers) for part in parts)]
    return [part for part in expected if part not in weights]


def _square(image: Pixels) -> Any:
    """Resize to 3 x 224 x 224 from 0 to 1, ignoring aspect ratio."""
    small = np.asarray(Image.fromarray(image).resize((SIDE, SIDE), Image.Resampling.BICUBIC), np.float32)
    return np.ascontiguousarray((small / 255).transpose(2, 0, 1))
