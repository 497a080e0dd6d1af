"""Places365: which of 365 scenes does an image show, and which of 102 attributes does the scene have?

The network is the wide ResNet-18 of Zhou et al. 2018 (no max pooling, so the last feature map has 14 x 14 cells),
built here as an ONNX graph from its weights. Attributes are linear functions of its pooled features, trained by the
same authors on the SUN attribute database.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from editgauge._util.images import Pixels
from editgauge.models.answers import SceneScores
from editgauge.models.interfaces import ModelCard
from editgauge.models.lite._graphs import Floats, Graph
from editgauge.models.lite._runtime import IMAGENET_MEAN, IMAGENET_STD, FromCatalog, card_of, onnx_session
from editgauge.models.weights._pickles import arrays_of

NAME = "places365"
ID = "Places365 WideResNet-18"
SIDE = 224
EPSILON = 1e-5
"""Added to the variances of batch normalization."""
PREFIX = "state_dict.module."
"""What the names of the weights begin with in the checkpoint."""
ATTRIBUTE_FILE = "W_sceneattribute_wideresnet18.npy"


class Places365(FromCatalog):
    """Role `scene_classifier`: about 0.2 s per image on one core."""

    weights = (NAME,)
    batch = 8

    @property
    def card(self) -> ModelCard:
        """Identity of the model."""
        return card_of(NAME, "scene_classifier", ID, (SIDE, SIDE), resize="to the whole square")

    def classify_scenes(self, images: Sequence[Pixels]) -> list[SceneScores]:
        """Return scene probabilities and attribute margins of each image."""
        return [self._scores(image) for image in images]

    def _scores(self, image: Pixels) -> SceneScores:
        mode = cv2.INTER_AREA if min(image.shape[:2]) > SIDE else cv2.INTER_CUBIC
        square = np.asarray(cv2.resize(image, (SIDE, SIDE), interpolation=mode), np.uint8)
        probabilities, features = self._session.run(None, {"pictures": square[np.newaxis]})
        margins = self._attribute_weights @ features[0]
        return SceneScores(np.asarray(probabilities[0], np.float32), np.asarray(margins, np.float32))

    @cached_property
    def _session(self) -> Any:
        arrays = arrays_of(NAME, self._weights and self._weights / "places365.npz")
        weights = {name.removeprefix(PREFIX): array for name, array in arrays.items()}
        return onnx_session(build_graph(weights), ID, self._threads, one_size=True)

    @cached_property
    def _attribute_weights(self) -> NDArray[np.float64]:
        """Attributes x features."""
        return np.asarray(np.load(self._file(ATTRIBUTE_FILE), allow_pickle=False), np.float64)


def build_graph(weights: Mapping[str, Floats]) -> bytes:
    """Build the network: scene probabilities and the 512 pooled features."""
    graph = Graph(ID)

    def layer(planes: str, conv: str, norm: str, stride: int = 1) -> str:
        padding = weights[f"{conv}.weight"].shape[2] // 2
        return graph.normalized_conv(planes, weights, conv, norm, epsilon=EPSILON, stride=stride, padding=padding)

    images = graph.pictures("pictures")
    planes = graph.scaled(images, 1 / (255 * IMAGENET_STD), -IMAGENET_MEAN / IMAGENET_STD)
    planes = graph.add("Relu", layer(planes, "conv1", "bn1", 2))
    for block in (f"layer{stage}.{index}" for stage in range(1, 5) for index in range(2)):
        has_shortcut = f"{block}.downsample.0.weight" in weights
        stride = 2 if has_shortcut else 1
        inner = graph.add("Relu", layer(planes, f"{block}.conv1", f"{block}.bn1", stride))
        inner = layer(inner, f"{block}.conv2", f"{block}.bn2")
        if has_shortcut:
            planes = layer(planes, f"{block}.downsample.0", f"{block}.downsample.1", stride)
        planes = graph.add("Relu", graph.add("Add", inner, planes))
    features = graph.add("Flatten", graph.add("GlobalAveragePool", planes))
    matrix, bias = graph.constant(weights["fc.weight"]), graph.constant(weights["fc.bias"])
    return graph.finished(graph.add("Softmax", graph.add("Gemm", features, matrix, bias, transB=1)), features)
