"""DINO (Caron et al. 2021), DINOv2 and DINOv3: images that look alike lie close together.

An image is the class token of the last layer, after the final normalization, as the papers take it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from editgauge.models.answers import Keys, Patches, Vector
from editgauge.models.hub._network import Network, numbers, squeezed

if TYPE_CHECKING:
    import torch

    from editgauge._util.images import Pixels


SIDE = 224
"""Of the square that patches are taken from: a multiple of every patch size."""


class DinoEmbedder(Network):
    """Role `image_embedder`: DINO's class token, patch tokens and keys."""

    role = "image_embedder"
    kinds: ClassVar[Mapping[str, str]] = {
        "vit": "ViTModel",
        "dinov2": "Dinov2Model",
        "dinov2_with_registers": "Dinov2WithRegistersModel",
        "dinov3_vit": "DINOv3ViTModel",
    }
    batch = 16

    def embed(self, images: Sequence[Pixels]) -> Vector:
        """Return the class token of each image, not normalized."""
        if not images:
            return np.zeros((0, self.source.config["hidden_size"]), np.float32)
        with self.thinking():
            return numbers(self.network(pixel_values=self.prepared(images)).last_hidden_state[:, 0])

    def patches(self, images: Sequence[Pixels]) -> list[Patches]:
        """Return all tokens of each image, resized to the network's square."""
        return [self._tokens(image) for image in images]

    def _tokens(self, image: Pixels) -> Patches:
        tokens, grid = self._without_registers(self._pass(image)), self._grid
        patch_tokens = tokens[1:].reshape(grid, grid, -1)
        return Patches(patch_tokens.astype(np.float16), tokens[0].astype(np.float16))

    def keys(self, images: Sequence[Pixels]) -> list[Keys]:
        """Return the keys of the last attention layer for each image: class token first, then patches."""
        return [self._keys(image, 1.0) for image in images]

    def keys_of_bytes(self, images: Sequence[Pixels]) -> list[Keys]:
        """Return the keys for pixels from 0 to 255, untypical for the network but used by PnPInversion."""
        return [self._keys(image, 255.0) for image in images]

    def _keys(self, image: Pixels, white: float) -> Keys:
        last = [module for name, module in self.network.named_modules() if name.endswith("k_proj")][-1]
        outputs: list[Any] = []
        hook = last.register_forward_hook(lambda _module, _inputs, output: outputs.append(output))
        try:
            self._pass(image, white)
        finally:
            hook.remove()
        return self._without_registers(numbers(outputs[0][0])).astype(np.float16)

    def _pass(self, image: Pixels, white: float = 1.0) -> NDArray[np.float32]:
        """Return the last layer's tokens for an image resized to the network's square."""
        side = self._side
        settings = {**self.source.preprocessing, "size": {"width": side, "height": side}}
        with self.thinking():
            pixels = squeezed([image], settings, white).to(self.device)
            return numbers(self.network(pixel_values=pixels).last_hidden_state[0])

    @property
    def _side(self) -> int:
        config = self.source.config
        return int(config["image_size"]) if config["model_type"] == "vit" else SIDE

    @property
    def _grid(self) -> int:
        return self._side // int(self.source.config["patch_size"])

    def _without_registers(self, tokens: NDArray[np.float32]) -> NDArray[np.float32]:
        return np.concatenate([tokens[:1], tokens[-(self._grid**2) :]])

    def prepared(self, images: Sequence[Pixels]) -> torch.Tensor:
        """Preprocess the images for the network."""
        if self.source.config["model_type"] == "dinov3_vit":
            return squeezed(images, self.source.preprocessing).to(self.device)
        return super().prepared(images)

    def _settings(self) -> dict[str, str | int | float]:
        return {"layer": "last", "token": "class"}

    def _options(self) -> dict[str, Any]:
        """Disable ViT's pooling layer: DINO has no weights for it, so it would be random."""
        return {"add_pooling_layer": False} if self.source.config.get("model_type") == "vit" else {}
