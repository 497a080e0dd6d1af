"""CLIP (Radford et al. 2021) and SigLIP 2: images and texts in one space, with relevance maps.

Relevance follows Chefer et al. 2021 ("Generic attention-model explainability"): in each layer the attention of all
heads is weighted by its gradient, negative values are dropped, and the mean over the heads carries relevance from token
to token. The relevance that reaches the pooled token in the end is each patch's share.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from editgauge.errors import BadInputError
from editgauge.models.answers import Vector
from editgauge.models.hub._network import Network, numbers, resized

if TYPE_CHECKING:
    import torch

    from editgauge._util.images import Pixels

if TYPE_CHECKING:
    from collections.abc import Sequence

    import torch

    Map = NDArray[np.float32]


def patch_relevance(network: Any, pixels: torch.Tensor, towards: torch.Tensor) -> torch.Tensor:
    """Compute each patch's relevance for the similarity with a vector: rows x columns, at least 0.

    Args:
        network: CLIP or SigLIP, with attention that can be looked at ("eager")
        pixels: the image as the network wants it, 1 x 3 x height x width
        towards: a vector of the joint space

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


def to_image_size(shares: torch.Tensor, size: tuple[int, int], *, cropped: bool) -> Map:
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
    """Role `joint_embedder`: unit vectors of images and texts; long texts are truncated as in CLIP."""

    role = "joint_embedder"
    kinds: ClassVar[Mapping[str, str]] = {"clip": "CLIPModel", "siglip": "SiglipModel"}
    batch = 16

    def embed_images(self, images: Sequence[Pixels]) -> Vector:
        """Embed each image as a unit vector."""
        if not images:
            return self._nothing()
        with self.thinking():
            return _unit(self.network.get_image_features(pixel_values=self.prepared(images)).pooler_output)

    def embed_texts(self, texts: Sequence[str]) -> Vector:
        """Embed each text as a unit vector."""
        if not texts:
            return self._nothing()
        with self.thinking():
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
        usual = self.network.config._attn_implementation
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
