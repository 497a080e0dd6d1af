"""CLIP (Radford et al. 2021) and SigLIP, SigLIP 2: pictures and texts in one space."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from editgauge.errors import BadInputError
from editgauge.models.answers import Vector
from editgauge.models.hub.network import Network, numbers
from editgauge.models.hub.relevance import on_picture, patch_relevance

if TYPE_CHECKING:
    import torch

    from editgauge._util.images import Pixels


class ClipEmbedder(Network):
    """Pictures and texts as unit vectors. A text that is longer than the network can read is cut off, as CLIP does."""

    role = "joint_embedder"
    kinds: ClassVar[Mapping[str, str]] = {"clip": "CLIPModel", "siglip": "SiglipModel"}
    batch = 16

    def embed_images(self, images: Sequence[Pixels]) -> Vector:
        """One unit vector per picture."""
        if not images:
            return self._nothing()
        with self.thinking():
            return _unit(self.network.get_image_features(pixel_values=self.prepared(images)).pooler_output)

    def embed_texts(self, texts: Sequence[str]) -> Vector:
        """One unit vector per text."""
        if not texts:
            return self._nothing()
        with self.thinking():
            return _unit(self.network.get_text_features(**self._tokens(texts)).pooler_output)

    def explain(self, questions: Sequence[tuple[Pixels, Vector]]) -> list[NDArray[np.float32]]:
        """Where in each picture the similarity with a vector comes from, in full precision."""
        if self.precision == "int8":
            raise BadInputError("int8 has no gradients, so nothing can be explained with it; use float32.")
        with self._attention_in_sight():
            return [self._explain(image, towards) for image, towards in questions]

    def _explain(self, image: Pixels, towards: Vector) -> NDArray[np.float32]:
        import torch

        vector = torch.tensor(np.asarray(towards, np.float32), device=self.device)
        shares = patch_relevance(self.network, self.prepared([image]), vector)
        height, width = image.shape[:2]
        return on_picture(shares, (height, width), bool(self.source.preprocessing.get("do_center_crop")))

    @contextmanager
    def _attention_in_sight(self) -> Iterator[None]:
        """The faster ways to compute attention never hold it whole, so it could not be looked at."""
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
