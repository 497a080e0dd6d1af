"""Classifiers of objects and scenes: EfficientNet-Lite (ImageNet) and Places365."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from editgauge._util.images import Pixels
from editgauge.models.answers import ClassScores, SceneScores
from editgauge.models.lite._runtime import (
    IMAGENET_MEAN,
    IMAGENET_STD,
    Floats,
    FromCatalog,
    Graph,
    litert,
    litert_outputs,
    onnx_session,
)
from editgauge.models.weights._pickles import arrays_of

EFFICIENTNET_EPSILON = 1e-3
"""Added to the variances of batch normalization."""
EFFICIENTNET_BLOCKS = 21
EFFICIENTNET_STRIDED = frozenset({1, 4, 7, 15})
"""The blocks of Lite2 that halve the height and the width."""


class _ImageNetClassifier(FromCatalog, ABC):
    role = "classifier"
    name: str
    id: str
    side: int
    operating_point = 0.1
    """Measured on 75 boxes of photographs: 69% of the right words reach it, and 0.3% of the wrong ones."""
    batch = 8

    def _settings(self) -> dict[str, str | int | float]:
        return {"operating_point": self.operating_point, "resize": "to the whole square"}

    @property
    def vocabulary(self) -> str:
        """Name of the class list."""
        return "imagenet"

    def classify(self, images: Sequence[Pixels]) -> list[ClassScores]:
        """Return the probability of every class for each image."""
        return [ClassScores(self._probabilities(self._square(image)), self.vocabulary) for image in images]

    def _square(self, image: Pixels) -> Pixels:
        mode = cv2.INTER_AREA if min(image.shape[:2]) > self.side else cv2.INTER_CUBIC
        return np.asarray(cv2.resize(image, (self.side, self.side), interpolation=mode), np.uint8)

    @abstractmethod
    def _probabilities(self, square: Pixels) -> NDArray[np.float32]:
        """Return one probability per class; they sum to 1."""


class EfficientNetLite2(_ImageNetClassifier):
    """Role `classifier`: 77% accuracy on ImageNet; about 0.1 s per image on one core.

    Built as an ONNX graph from its weights after the published description (Tan and Le 2019; the Lite variants of 2020
    have no squeeze-and-excitation and ReLU6), so it needs no torch and answers in full precision.
    """

    name = "efficientnet-lite2"
    id = "EfficientNet-Lite2"
    side = 260
    weights = (name,)

    def _probabilities(self, square: Pixels) -> NDArray[np.float32]:
        probabilities = self._session.run(None, {"pictures": square[np.newaxis]})[0][0]
        return np.asarray(probabilities, np.float32)

    @cached_property
    def _session(self) -> Any:
        return onnx_session(
            _efficientnet_graph(arrays_of(self.name, self._weights)), self.id, self._threads, one_size=True
        )


class EfficientNetLite3(_ImageNetClassifier):
    """Role `classifier`: 79% accuracy on ImageNet; the published file for TensorFlow Lite, in steps of 1/256."""

    name = "efficientnet-lite3"
    id = "EfficientNet-Lite3"
    side = 280
    weights = (name,)

    def _probabilities(self, square: Pixels) -> NDArray[np.float32]:
        output, *_ = litert_outputs(self._network, square).values()
        steps = output.astype(np.float32)
        return np.asarray(steps / max(steps.sum(), 1.0), np.float32)

    @cached_property
    def _network(self) -> Any:
        return litert(self._file("efficientnet_lite3.tflite"), self.id, self._threads)


def _efficientnet_graph(weights: Mapping[str, Floats]) -> bytes:
    graph = Graph("EfficientNet-Lite2")
    planes = graph.scaled(graph.images("pictures"), np.full(3, 1 / 128), np.full(3, -127 / 128))

    def layer(planes: str, conv: str, norm: str, stride: int = 1) -> str:
        return graph.normalized_conv(
            planes, weights, conv, norm, epsilon=EFFICIENTNET_EPSILON, stride=stride, padding=None
        )

    def relu6(planes: str) -> str:
        return graph.add(
            "Clip", planes, graph.constant(np.array(0, np.float32)), graph.constant(np.array(6, np.float32))
        )

    planes = relu6(layer(planes, "_conv_stem", "_bn0", 2))
    for block in range(EFFICIENTNET_BLOCKS):
        name, before = f"_blocks.{block}", planes
        if f"{name}._expand_conv.weight" in weights:
            planes = relu6(layer(planes, f"{name}._expand_conv", f"{name}._bn0"))
        planes = relu6(
            layer(planes, f"{name}._depthwise_conv", f"{name}._bn1", 2 if block in EFFICIENTNET_STRIDED else 1)
        )
        planes = layer(planes, f"{name}._project_conv", f"{name}._bn2")
        inner, outer = weights[f"{name}._project_conv.weight"].shape[0], _channels_before(weights, name)
        if block not in EFFICIENTNET_STRIDED and inner == outer:
            planes = graph.add("Add", planes, before)
    planes = relu6(layer(planes, "_conv_head", "_bn1"))
    features = graph.add("Flatten", graph.add("GlobalAveragePool", planes))
    matrix, bias = graph.constant(weights["_fc.weight"]), graph.constant(weights["_fc.bias"])
    return graph.serialize(graph.add("Softmax", graph.add("Gemm", features, matrix, bias, transB=1)))


def _channels_before(weights: Mapping[str, Floats], block: str) -> int:
    expanded = weights.get(f"{block}._expand_conv.weight")
    return int(weights[f"{block}._depthwise_conv.weight"].shape[0] if expanded is None else expanded.shape[1])


PLACES_SIDE = 224
PLACES_EPSILON = 1e-5
"""Added to the variances of batch normalization."""
PLACES_PREFIX = "state_dict.module."
"""What the names of the weights begin with in the checkpoint."""
ATTRIBUTE_FILE = "W_sceneattribute_wideresnet18.npy"


class Places365(FromCatalog):
    """Role `scene_classifier`: about 0.2 s per image on one core.

    The wide ResNet-18 of Zhou et al. 2018 (no max pooling, so the last feature map has 14 x 14 cells), built as an ONNX
    graph from its weights. Attributes are linear functions of its pooled features, trained by the same authors on the
    SUN attribute database.
    """

    role = "scene_classifier"
    side = PLACES_SIDE
    id = "Places365 WideResNet-18"
    weights = ("places365",)
    batch = 8

    def _settings(self) -> dict[str, str | int | float]:
        return {"resize": "to the whole square"}

    def classify_scenes(self, images: Sequence[Pixels]) -> list[SceneScores]:
        """Return scene probabilities and attribute margins of each image."""
        return [self._scores(image) for image in images]

    def _scores(self, image: Pixels) -> SceneScores:
        mode = cv2.INTER_AREA if min(image.shape[:2]) > PLACES_SIDE else cv2.INTER_CUBIC
        square = np.asarray(cv2.resize(image, (PLACES_SIDE, PLACES_SIDE), interpolation=mode), np.uint8)
        probabilities, features = self._session.run(None, {"pictures": square[np.newaxis]})
        margins = self._attribute_weights @ features[0]
        return SceneScores(np.asarray(probabilities[0], np.float32), np.asarray(margins, np.float32))

    @cached_property
    def _session(self) -> Any:
        arrays = arrays_of(self.weights[0], self._weights and self._weights / "places365.npz")
        weights = {name.removeprefix(PLACES_PREFIX): array for name, array in arrays.items()}
        return onnx_session(_places_graph(weights), self.id, self._threads, one_size=True)

    @cached_property
    def _attribute_weights(self) -> NDArray[np.float64]:
        """Attributes x features."""
        return np.asarray(np.load(self._file(ATTRIBUTE_FILE), allow_pickle=False), np.float64)


def _places_graph(weights: Mapping[str, Floats]) -> bytes:
    """Build the network: scene probabilities and the 512 pooled features."""
    graph = Graph("Places365")

    def layer(planes: str, conv: str, norm: str, stride: int = 1) -> str:
        padding = weights[f"{conv}.weight"].shape[2] // 2
        return graph.normalized_conv(
            planes, weights, conv, norm, epsilon=PLACES_EPSILON, stride=stride, padding=padding
        )

    images = graph.images("pictures")
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
    return graph.serialize(graph.add("Softmax", graph.add("Gemm", features, matrix, bias, transB=1)), features)
