"""DINOv2 (Oquab et al. 2023), ViT-S/14, run by onnxruntime: one vector per image and one per patch of it.

The file that the package carries averages patches at its end; the graph is cut before that, at the last normalization,
so that what comes out are the published network's own 257 tokens: the class token and 16 x 16 patches. The positions
in the file are fixed for squares of 224 pixels. Tokens are computed with whole numbers of eight bits
(`docs/decisions/0021-int8-tokens.md`), keys with the published weights as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from editgauge._util.images import Pixels
from editgauge.models.answers import Keys, Patches, Vector
from editgauge.models.lite._graphs import int8_products
from editgauge.models.lite._runtime import FromCatalog, card_of, imagenet_scaled, library, onnx_session
from editgauge.models.roles import ModelCard
from editgauge.models.weights import weights_of

NAME = "dinov2-s14"
ID = "DINOv2 ViT-S/14"
FILE = "dinov2_vits14_patch_8x8.onnx"
SIDE = 224
GRID = SIDE // 14
LENGTH = 384
LAST_NORM = "/norm/Add_1_output_0"
LAST_ATTENTION = "/blocks.11/attn/qkv/Add_output_0"
"""Queries, keys and values of the last layer, side by side."""
FLOAT_LAYERS = "/blocks.0/mlp/"
"""The layers whose activations are too uneven for eight bits."""
PER_ROW_LAYERS = "/fc2/"
"""Layers in which few tokens are far larger than the others."""


class DinoV2Small(FromCatalog):
    """Role `image_embedder`: 384 dimensions per image and patch; about 0.05 s on one core."""

    batch = 4
    weights = (NAME,)

    @property
    def card(self) -> ModelCard:
        """Identity of the model."""
        settings = {"resize": "area, to the whole square", "output": "last norm", "tokens": "int8"}
        return card_of(NAME, "image_embedder", ID, (SIDE, SIDE), **settings)

    def embed(self, images: Sequence[Pixels]) -> Vector:
        """Return the class token of each image."""
        return np.array([patch.class_token for patch in self.patches(images)], np.float32).reshape(-1, LENGTH)

    def patches(self, images: Sequence[Pixels]) -> list[Patches]:
        """Return all tokens of each image."""
        return [self._tokens(image) for image in images]

    def keys(self, images: Sequence[Pixels]) -> list[Keys]:
        """Return the keys of the last attention layer for each image: class token first, then patches."""
        return [self._keys(imagenet_scaled(_square(image))) for image in images]

    def keys_of_bytes(self, images: Sequence[Pixels]) -> list[Keys]:
        """Return the keys for pixels from 0 to 255, untypical for the network but used by PnPInversion."""
        return [self._keys(imagenet_scaled(_square(image), white=255.0)) for image in images]

    def _keys(self, planes: NDArray[np.float32]) -> Keys:
        queries_keys_values = self._attention.run(None, {"input": planes})[0][0]
        return np.asarray(queries_keys_values[:, LENGTH : 2 * LENGTH], np.float16)

    def _tokens(self, image: Pixels) -> Patches:
        tokens = self._session.run(None, {"input": imagenet_scaled(_square(image))})[0][0].astype(np.float16)
        return Patches(tokens[1:].reshape(GRID, GRID, LENGTH).copy(), tokens[0].copy())

    @cached_property
    def _session(self) -> Any:
        network = self._cut(LAST_NORM, LENGTH)
        int8_products(network, ID, lambda name: FLOAT_LAYERS not in name, lambda name: PER_ROW_LAYERS in name)
        return self._ready(network)

    @cached_property
    def _attention(self) -> Any:
        return self._ready(self._cut(LAST_ATTENTION, 3 * LENGTH))

    def _cut(self, output: str, length: int) -> Any:
        return _cut_at(self._weights or weights_of(NAME).path(FILE), output, length)

    def _ready(self, network: Any) -> Any:
        return onnx_session(network.SerializeToString(), ID, self._threads, one_size=True)


def _square(image: Pixels) -> Pixels:
    """Resize the image to the square of the file's position embeddings, ignoring aspect ratio."""
    mode = cv2.INTER_AREA if min(image.shape[:2]) > SIDE else cv2.INTER_LINEAR
    return np.asarray(cv2.resize(image, (SIDE, SIDE), interpolation=mode), np.uint8)


def _cut_at(path: Path, output: str, length: int) -> Any:
    """Cut the graph after one value, such as before the averaging that the package added."""
    onnx = library("onnx", ID)
    network = onnx.load(str(path))
    nodes = list(network.graph.node)
    last = next(index for index, node in enumerate(nodes) if output in node.output)
    del network.graph.node[last + 1 :]
    del network.graph.output[:]
    shape = ["batch", GRID * GRID + 1, length]
    network.graph.output.append(onnx.helper.make_tensor_value_info(output, onnx.TensorProto.FLOAT, shape))
    return network
