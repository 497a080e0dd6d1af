"""DINO (Caron et al. 2021), DINOv2 and DINOv3: pictures that look alike lie close together.

A picture is the class token of the last layer, after the final normalization, as the papers take it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from editgauge.models.answers import Patches, Vector
from editgauge.models.hub.network import Network, numbers
from editgauge.models.hub.pixels import squeezed

if TYPE_CHECKING:
    import torch

    from editgauge.core.images import Pixels


SIDE = 224
"""Of the square that patches are taken from: a multiple of every patch size."""


class DinoEmbedder(Network):
    """Pictures as vectors."""

    role = "image_embedder"
    kinds: ClassVar[Mapping[str, str]] = {
        "vit": "ViTModel",
        "dinov2": "Dinov2Model",
        "dinov2_with_registers": "Dinov2WithRegistersModel",
        "dinov3_vit": "DINOv3ViTModel",
    }
    batch = 16

    def embed(self, images: Sequence[Pixels]) -> Vector:
        """The class token of each picture, as the network gives it."""
        if not images:
            return np.zeros((0, self.source.config["hidden_size"]), np.float32)
        with self.thinking():
            return numbers(self.network(pixel_values=self.prepared(images)).last_hidden_state[:, 0])

    def patches(self, images: Sequence[Pixels]) -> list[Patches]:
        """All tokens of each picture; the whole picture is pressed into the network's square."""
        return [self._tokens(image) for image in images]

    def _tokens(self, image: Pixels) -> Patches:
        config = self.source.config
        side = int(config["image_size"]) if config["model_type"] == "vit" else SIDE
        pixels = squeezed([image], {**self.source.preprocessing, "size": {"width": side, "height": side}})
        with self.thinking():
            tokens = numbers(self.network(pixel_values=pixels.to(self.device)).last_hidden_state[0])
        grid = side // int(config["patch_size"])
        places = tokens[-grid * grid :].reshape(grid, grid, -1)  # after the class token and registers
        return Patches(places.astype(np.float16), tokens[0].astype(np.float16))

    def prepared(self, images: Sequence[Pixels]) -> torch.Tensor:
        """The pictures as the network wants them."""
        if self.source.config["model_type"] == "dinov3_vit":
            return squeezed(images, self.source.preprocessing).to(self.device)
        return super().prepared(images)

    def _settings(self) -> dict[str, str | int | float]:
        return {"layer": "last", "token": "class"}

    def _options(self) -> dict[str, Any]:
        """The pooling layer of a ViT is none of DINO's: without weights of its own it would be random."""
        return {"add_pooling_layer": False} if self.source.config.get("model_type") == "vit" else {}
