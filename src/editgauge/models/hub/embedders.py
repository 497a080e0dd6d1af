"""Embedders of the model hub: CLIP and SigLIP with relevance maps, DINO."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from editgauge.errors import BadInputError
from editgauge.models.answers import Keys, Patches, Vector
from editgauge.models.hub._network import Network, numbers, resized, squeezed

if TYPE_CHECKING:
    import torch

    from editgauge._util.images import Pixels


def patch_relevance(network: Any, pixels: torch.Tensor, towards: torch.Tensor) -> torch.Tensor:
    """Compute each patch's relevance for the similarity with a vector: rows x columns, at least 0.

    After Chefer et al. 2021 ("Generic attention-model explainability"): in each layer the attention of all heads is
    weighted by its gradient, negative values are dropped, and the mean over the heads carries relevance from token to
    token. The relevance that reaches the pooled token in the end is each patch's share.

    Args:
        network: CLIP or SigLIP with eager attention.
        pixels: the preprocessed image, 1 x 3 x height x width.
        towards: a vector of the joint space.

    """
    import torch

    with torch.enable_grad():
        outputs = network.vision_model(pixel_values=pixels.requires_grad_(), output_attentions=True)
        attentions = list(outputs.attentions)
        if network.config.model_type == "clip":
            vector = network.visual_projection(outputs.pooler_output)
        else:
            vector, pooling = attention_pooled(network.vision_model.head, outputs.last_hidden_state)
            attentions.append(pooling)
        likeness = torch.nn.functional.cosine_similarity(vector, towards[None]).sum()
        gradients = torch.autograd.grad(likeness, attentions)
    carried = [
        _positive(*pair) for pair in zip(gradients, (attention.detach() for attention in attentions), strict=True)
    ]
    if network.config.model_type == "clip":
        shares = _rolled_out(carried)[0, 1:]  # the class token's view of all tokens but itself
    else:
        shares = (carried[-1] @ _rolled_out(carried[:-1]))[0]
    side = network.config.vision_config.image_size // network.config.vision_config.patch_size
    return shares.reshape(side, side)


def attention_pooled(head: Any, tokens: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Run SigLIP's pooling head; also return its attention (1 x heads x 1 x tokens) with gradients.

    The head itself computes the same but keeps its attention to itself.
    """
    inner = head.attention
    weights, biases = inner.in_proj_weight.chunk(3), inner.in_proj_bias.chunk(3)
    query, key, value = (
        (source @ weight.T + bias).unflatten(-1, (inner.num_heads, -1)).transpose(1, 2)
        for source, weight, bias in zip((head.probe, tokens, tokens), weights, biases, strict=True)
    )
    attention = (query @ key.transpose(-1, -2) / inner.head_dim**0.5).softmax(dim=-1)
    pooled = inner.out_proj((attention @ value).transpose(1, 2).flatten(2))
    return (pooled + head.mlp(head.layernorm(pooled)))[:, 0], attention


def _positive(gradient: torch.Tensor, attention: torch.Tensor) -> torch.Tensor:
    """Average the positive part of gradient times attention over the heads."""
    return (gradient * attention)[0].clamp(min=0).mean(dim=0)


def _rolled_out(carried: Sequence[torch.Tensor]) -> torch.Tensor:
    """Accumulate relevance over the layers, starting from the identity."""
    import torch

    held = torch.eye(carried[0].shape[0], device=carried[0].device)
    for layer in carried:
        held = held + layer @ held
    return held


def to_image_size(shares: torch.Tensor, size: tuple[int, int], *, cropped: bool) -> NDArray[np.float32]:
    """Resize relevances to the image; pixels outside the network's crop get 0.

    Args:
        shares: rows x columns
        size: height and width of the image
        cropped: whether the network sees only the central square

    """
    side = min(size)
    height, width = (side, side) if cropped else size
    spread = resized(shares[None].float(), (height, width))[0]
    top, left = (size[0] - height) // 2, (size[1] - width) // 2
    relevance = np.zeros(size, np.float32)
    relevance[top : top + height, left : left + width] = spread.cpu().numpy()
    return relevance


class ClipEmbedder(Network):
    """Role `joint_embedder`: unit vectors of images and texts; long texts are truncated as in CLIP.

    CLIP (Radford et al. 2021) and SigLIP 2.
    """

    role = "joint_embedder"
    kinds: ClassVar[Mapping[str, str]] = {"clip": "CLIPModel", "siglip": "SiglipModel"}
    batch = 16

    def embed_images(self, images: Sequence[Pixels]) -> Vector:
        """Embed each image as a unit vector."""
        if not images:
            return self._nothing()
        with self.inference():
            return _unit(self.network.get_image_features(pixel_values=self.prepared(images)).pooler_output)

    def embed_texts(self, texts: Sequence[str]) -> Vector:
        """Embed each text as a unit vector."""
        if not texts:
            return self._nothing()
        with self.inference():
            return _unit(self.network.get_text_features(**self._tokens(texts)).pooler_output)

    def explain(self, questions: Sequence[tuple[Pixels, Vector]]) -> list[NDArray[np.float32]]:
        """Compute a relevance map of each image, in full precision."""
        if self.precision == "int8":
            raise BadInputError("int8 has no gradients, so nothing can be explained with it; use float32.")
        with self._attention_in_sight():
            return [self._explain(image, towards) for image, towards in questions]

    def _explain(self, image: Pixels, towards: Vector) -> NDArray[np.float32]:
        import torch

        vector = torch.tensor(np.asarray(towards, np.float32), device=self.device)
        shares = patch_relevance(self.network, self.prepared([image]), vector)
        height, width = image.shape[:2]
        return to_image_size(shares, (height, width), cropped=bool(self.source.preprocessing.get("do_center_crop")))

    @contextmanager
    def _attention_in_sight(self) -> Iterator[None]:
        """Request eager attention: the fused kernels never materialize the attention matrix."""
        usual = self.network.config._attn_implementation  # noqa: SLF001 - transformers has no public getter
        self.network.set_attn_implementation("eager")
        try:
            yield
        finally:
            self.network.set_attn_implementation(usual)

    def _tokens(self, texts: Sequence[str]) -> dict[str, torch.Tensor]:
        longest: dict[str, Any] = {
            "truncation": True,
            "max_length": self.network.config.text_config.max_position_embeddings,
            "return_tensors": "pt",
        }
        if self.network.config.model_type == "siglip":
            # Both SigLIPs learned from small letters and from texts filled up to full length, the filling in sight.
            small = [text.lower() for text in texts]
            return {"input_ids": self.tokenizer(small, padding="max_length", **longest)["input_ids"].to(self.device)}
        tokens = self.tokenizer(list(texts), padding=True, **longest).to(self.device)
        return {"input_ids": tokens["input_ids"], "attention_mask": tokens["attention_mask"]}

    def _nothing(self) -> Vector:
        config = self.network.config
        width = config.projection_dim if config.model_type == "clip" else config.vision_config.hidden_size
        return np.zeros((0, width), np.float32)


def _unit(vectors: torch.Tensor) -> Vector:
    vectors = vectors.float()
    return numbers(vectors / vectors.norm(dim=-1, keepdim=True))


DINO_SIDE = 224
"""Of the square that patches are taken from: a multiple of every patch size."""


class DinoEmbedder(Network):
    """Role `image_embedder`: DINO's class token, patch tokens and keys.

    DINO (Caron et al. 2021), DINOv2 and DINOv3. An image is the class token of the last layer, after the final
    normalization, as in the papers.
    """

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
        with self.inference():
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
        with self.inference():
            pixels = squeezed([image], settings, white).to(self.device)
            return numbers(self.network(pixel_values=pixels).last_hidden_state[0])

    @property
    def _side(self) -> int:
        config = self.source.config
        return int(config["image_size"]) if config["model_type"] == "vit" else DINO_SIDE

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
