"""AugNet (Chen et al. 2021): images that look alike lie close together, learned without labels.

A ResNet-50 (He et al. 2016, with the stride in the 3 x 3 layer) whose last layer gives 768 numbers between -1 and 1.
The graph is built here from the paper and the verified weights, so torch is not needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import cv2
import numpy as np

from editgauge._util.images import Pixels
from editgauge.models.answers import Vector
from editgauge.models.lite._graphs import Floats, Graph
from editgauge.models.lite._runtime import IMAGENET_MEAN, IMAGENET_STD, FromCatalog, card_of, onnx_session
from editgauge.models.roles import ModelCard
from editgauge.models.weights._pickles import arrays_of

NAME = "augnet"
ID = "AugNet ResNet-50"
SHORTER_SIDE = 350
LENGTH = 768
BLOCKS = (3, 4, 6, 3)
EPSILON = 1e-5
"""Added to the variances of batch normalization."""

Weights = Mapping[str, Floats]


class AugNet(FromCatalog):
    """Role `image_embedder`: 768 dimensions; about 0.2 s per image."""

    batch = 4
    weights = (NAME,)

    @property
    def card(self) -> ModelCard:
        """Identity of the model."""
        return card_of(NAME, "image_embedder", ID, shorter_side=SHORTER_SIDE)

    def embed(self, images: Sequence[Pixels]) -> Vector:
        """Return one vector per image, not normalized."""
        vectors = [self._session.run(None, {"pictures": _small(image)[np.newaxis]})[0][0] for image in images]
        return np.array(vectors, np.float32).reshape(-1, LENGTH)

    @cached_property
    def _session(self) -> Any:
        arrays = arrays_of(NAME, self._weights)
        weights = {name.removeprefix("module.pre."): array for name, array in arrays.items()}
        return onnx_session(_graph(weights), ID, self._threads)


def _small(image: Pixels) -> Pixels:
    """Resize the shorter side to 350 pixels, as in training."""
    height, width = image.shape[:2]
    scale = SHORTER_SIDE / min(height, width)
    size = tuple(int(max(side * scale, SHORTER_SIDE)) for side in (width, height))
    return np.asarray(cv2.resize(image, size, interpolation=cv2.INTER_LINEAR), np.uint8)


def _graph(weights: Weights) -> bytes:
    graph = Graph(ID)
    planes = graph.scaled(graph.pictures("pictures"), 1 / (255 * IMAGENET_STD), -IMAGENET_MEAN / IMAGENET_STD)
    planes = graph.add("Relu", _normalized_conv(graph, weights, planes, "conv1", "bn1", 2, 3))
    planes = graph.max_pool(planes, 3, 2, 1)
    for layer, blocks in enumerate(BLOCKS, start=1):
        for block in range(blocks):
            stride = 2 if layer > 1 and block == 0 else 1
            planes = _bottleneck(graph, weights, planes, f"layer{layer}.{block}", stride)
    features = graph.add("Flatten", graph.add("GlobalAveragePool", planes))
    matrix, bias = graph.constant(weights["fc.weight"]), graph.constant(weights["fc.bias"])
    return graph.finished(graph.add("Tanh", graph.add("Gemm", features, matrix, bias, transB=1)))


def _bottleneck(graph: Graph, weights: Weights, planes: str, name: str, stride: int) -> str:
    """Add a residual bottleneck block."""
    around = planes
    if f"{name}.downsample.0.weight" in weights:
        around = _normalized_conv(graph, weights, planes, f"{name}.downsample.0", f"{name}.downsample.1", stride)
    narrow = graph.add("Relu", _normalized_conv(graph, weights, planes, f"{name}.conv1", f"{name}.bn1"))
    middle = graph.add("Relu", _normalized_conv(graph, weights, narrow, f"{name}.conv2", f"{name}.bn2", stride, 1))
    wide = _normalized_conv(graph, weights, middle, f"{name}.conv3", f"{name}.bn3")
    return graph.add("Relu", graph.add("Add", wide, around))


def _normalized_conv(
    graph: Graph, weights: Weights, planes: str, conv: str, norm: str, stride: int = 1, padding: int = 0
) -> str:
    return graph.normalized_conv(planes, weights, conv, norm, epsilon=EPSILON, stride=stride, padding=padding)
