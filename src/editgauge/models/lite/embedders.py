"""Embedders of images and texts: AugNet, DINOv2, Inception (FID) and MiniLM.

Graphs that are built or cut here run on onnxruntime from verified weights, so only Inception needs torch.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from editgauge._util.images import Pixels
from editgauge.models.answers import Keys, Patches, Vector
from editgauge.models.lite._runtime import (
    IMAGENET_MEAN,
    IMAGENET_STD,
    Floats,
    FromCatalog,
    Graph,
    imagenet_scaled,
    int8_products,
    library,
    onnx_session,
)
from editgauge.models.weights._pickles import arrays_of

AUGNET_SHORTER_SIDE = 350
AUGNET_LENGTH = 768
RESNET_BLOCKS = (3, 4, 6, 3)
EPSILON = 1e-5
"""Added to the variances of batch normalization."""

Weights = Mapping[str, Floats]


class AugNet(FromCatalog):
    """Role `image_embedder`: 768 dimensions; about 0.2 s per image.

    AugNet (Chen et al. 2021) is a ResNet-50 (He et al. 2016, with the stride in the 3 x 3 layer) trained without
    labels; its last layer gives 768 numbers between -1 and 1.
    """

    role = "image_embedder"
    batch = 4
    id = "AugNet ResNet-50"
    weights = ("augnet",)

    def _settings(self) -> dict[str, str | int | float]:
        return {"shorter_side": AUGNET_SHORTER_SIDE}

    def embed(self, images: Sequence[Pixels]) -> Vector:
        """Return one vector per image, not normalized."""
        vectors = [
            self._session.run(None, {"pictures": _resize_shorter_side(image)[np.newaxis]})[0][0] for image in images
        ]
        return np.array(vectors, np.float32).reshape(-1, AUGNET_LENGTH)

    @cached_property
    def _session(self) -> Any:
        arrays = arrays_of(self.weights[0], self._weights)
        weights = {name.removeprefix("module.pre."): array for name, array in arrays.items()}
        return onnx_session(_augnet_graph(weights), self.id, self._threads)


def _resize_shorter_side(image: Pixels) -> Pixels:
    """Resize the shorter side to 350 pixels, as in training."""
    height, width = image.shape[:2]
    scale = AUGNET_SHORTER_SIDE / min(height, width)
    size = tuple(int(max(side * scale, AUGNET_SHORTER_SIDE)) for side in (width, height))
    return np.asarray(cv2.resize(image, size, interpolation=cv2.INTER_LINEAR), np.uint8)


def _augnet_graph(weights: Weights) -> bytes:
    graph = Graph("AugNet")

    def layer(planes: str, conv: str, norm: str, stride: int = 1) -> str:
        padding = weights[f"{conv}.weight"].shape[2] // 2
        return graph.normalized_conv(planes, weights, conv, norm, epsilon=EPSILON, stride=stride, padding=padding)

    def bottleneck(planes: str, name: str, stride: int) -> str:
        around = planes
        if f"{name}.downsample.0.weight" in weights:
            around = layer(planes, f"{name}.downsample.0", f"{name}.downsample.1", stride)
        narrow = graph.add("Relu", layer(planes, f"{name}.conv1", f"{name}.bn1"))
        middle = graph.add("Relu", layer(narrow, f"{name}.conv2", f"{name}.bn2", stride))
        return graph.add("Relu", graph.add("Add", layer(middle, f"{name}.conv3", f"{name}.bn3"), around))

    planes = graph.scaled(graph.images("pictures"), 1 / (255 * IMAGENET_STD), -IMAGENET_MEAN / IMAGENET_STD)
    planes = graph.max_pool(graph.add("Relu", layer(planes, "conv1", "bn1", 2)), 3, 2, 1)
    for stage, blocks in enumerate(RESNET_BLOCKS, start=1):
        for block in range(blocks):
            planes = bottleneck(planes, f"layer{stage}.{block}", 2 if stage > 1 and block == 0 else 1)
    features = graph.add("Flatten", graph.add("GlobalAveragePool", planes))
    matrix, bias = graph.constant(weights["fc.weight"]), graph.constant(weights["fc.bias"])
    return graph.serialize(graph.add("Tanh", graph.add("Gemm", features, matrix, bias, transB=1)))


DINO_FILE = "dinov2_vits14_patch_8x8.onnx"
DINO_SIDE = 224
DINO_GRID = DINO_SIDE // 14
DINO_LENGTH = 384
LAST_NORM = "/norm/Add_1_output_0"
LAST_ATTENTION = "/blocks.11/attn/qkv/Add_output_0"
"""Queries, keys and values of the last layer, side by side."""
FLOAT_LAYERS = "/blocks.0/mlp/"
"""The layers whose activations are too uneven for eight bits."""
PER_ROW_LAYERS = "/fc2/"
"""Layers in which few tokens are far larger than the others."""


class DinoV2Small(FromCatalog):
    """Role `image_embedder`: 384 dimensions per image and patch; about 0.05 s on one core.

    The file that the package carries averages patches at its end; the graph is cut before that, at the last
    normalization, so that the output is the published network's 257 tokens: class token and 16 x 16 patches. The
    positions in the file are fixed for squares of 224 pixels. Tokens are computed in int8
    (`docs/decisions/0021-int8-tokens.md`), keys with the published weights as they are. Oquab et al. 2023.
    """

    role = "image_embedder"
    side = DINO_SIDE
    batch = 4
    id = "DINOv2 ViT-S/14"
    weights = ("dinov2-s14",)

    def _settings(self) -> dict[str, str | int | float]:
        return {"resize": "area, to the whole square", "output": "last norm", "tokens": "int8"}

    def embed(self, images: Sequence[Pixels]) -> Vector:
        """Return the class token of each image."""
        return np.array([patch.class_token for patch in self.patches(images)], np.float32).reshape(-1, DINO_LENGTH)

    def patches(self, images: Sequence[Pixels]) -> list[Patches]:
        """Return all tokens of each image."""
        return [self._tokens(image) for image in images]

    def keys(self, images: Sequence[Pixels]) -> list[Keys]:
        """Return the keys of the last attention layer for each image: class token first, then patches."""
        return [self._keys(imagenet_scaled(_dino_square(image))) for image in images]

    def keys_of_bytes(self, images: Sequence[Pixels]) -> list[Keys]:
        """Return the keys for pixels from 0 to 255, untypical for the network but used by PnPInversion."""
        return [self._keys(imagenet_scaled(_dino_square(image), white=255.0)) for image in images]

    def _keys(self, planes: NDArray[np.float32]) -> Keys:
        queries_keys_values = self._attention.run(None, {"input": planes})[0][0]
        return np.asarray(queries_keys_values[:, DINO_LENGTH : 2 * DINO_LENGTH], np.float16)

    def _tokens(self, image: Pixels) -> Patches:
        tokens = self._session.run(None, {"input": imagenet_scaled(_dino_square(image))})[0][0].astype(np.float16)
        return Patches(tokens[1:].reshape(DINO_GRID, DINO_GRID, DINO_LENGTH).copy(), tokens[0].copy())

    @cached_property
    def _session(self) -> Any:
        network = self._cut(LAST_NORM, DINO_LENGTH)
        int8_products(network, self.id, lambda name: FLOAT_LAYERS not in name, lambda name: PER_ROW_LAYERS in name)
        return self._ready(network)

    @cached_property
    def _attention(self) -> Any:
        return self._ready(self._cut(LAST_ATTENTION, 3 * DINO_LENGTH))

    def _cut(self, output: str, length: int) -> Any:
        return _cut_at(self._file(DINO_FILE), output, length)

    def _ready(self, network: Any) -> Any:
        return onnx_session(network.SerializeToString(), self.id, self._threads, one_size=True)


def _dino_square(image: Pixels) -> Pixels:
    """Resize the image to the square of the file's position embeddings, ignoring aspect ratio."""
    mode = cv2.INTER_AREA if min(image.shape[:2]) > DINO_SIDE else cv2.INTER_LINEAR
    return np.asarray(cv2.resize(image, (DINO_SIDE, DINO_SIDE), interpolation=mode), np.uint8)


def _cut_at(path: Path, output: str, length: int) -> Any:
    """Cut the graph after one value, such as before the averaging that the package added."""
    onnx = library("onnx", "DINOv2")
    network = onnx.load(str(path))
    nodes = list(network.graph.node)
    last = next(index for index, node in enumerate(nodes) if output in node.output)
    del network.graph.node[last + 1 :]
    del network.graph.output[:]
    shape = ["batch", DINO_GRID * DINO_GRID + 1, length]
    network.graph.output.append(onnx.helper.make_tensor_value_info(output, onnx.TensorProto.FLOAT, shape))
    return network


FID_SIDE = 299
FID_LENGTH = 2048
FID_LAYERS = {64: "pool0", 192: "pool1", 768: "mixed_7"}
"""Where the shallower features are taken, as the usual programs for FID do: the mean over the places of that layer."""


class InceptionFid(FromCatalog):
    """Role `fid_features`: needs torch.

    The 2,048 numbers before the last layer (Heusel et al. 2017). Shallower layers have 64, 192 or 768 numbers, which
    EditVal (appendix M) suggests for few images: the distance is less biased and says less about what is in them.
    The network is a TorchScript archive, whose program torch interprets: it convolves, normalizes, pools and joins,
    and touches nothing else. The hash of the weights ensures that it is this one.
    """

    role = "fid_features"
    side = FID_SIDE
    batch = 8
    id = "Inception (2015-12-05)"
    weights = ("inception-fid",)

    def __init__(self, weights: Path | None = None, length: int = FID_LENGTH) -> None:
        """Choose the layer by the length of its features; `weights` replaces the catalog's file."""
        super().__init__(weights)
        self._length = length

    @property
    def available(self) -> bool:
        """Whether torch is installed."""
        return find_spec("torch") is not None

    def _settings(self) -> dict[str, str | int | float]:
        resize = "bilinear from the corner, as in TensorFlow 1"
        layer = {"layer": FID_LAYERS[self._length]} if self._length in FID_LAYERS else {}
        return {"resize": resize, **layer}

    def embed(self, images: Sequence[Pixels]) -> Vector:
        """Compute the features of each image on its own, so that the batch cannot change a digit."""
        return np.array([self._features(image) for image in images], np.float32).reshape(-1, self._length)

    def _features(self, image: Pixels) -> Vector:
        torch = library("torch", self.id, extra="torch")
        planes = np.ascontiguousarray(scaled_from_corner(image, FID_SIDE).transpose(2, 0, 1))
        with torch.inference_mode():
            pixels = torch.from_numpy((planes - 128) / 128)[None]
            features = self._shallow(pixels) if self._length in FID_LAYERS else self._network(pixels)
        return np.asarray(features[0].numpy(), np.float32)

    def _shallow(self, values: Any) -> Any:
        """Average the features over all positions, after the layer of that length."""
        for name, layer in self._network.net.layers.named_children():
            values = layer(values)
            if name == FID_LAYERS[self._length]:
                break
        return values.mean(dim=(2, 3))

    @cached_property
    def _network(self) -> Any:
        torch = library("torch", self.id, extra="torch")
        path = self._file("default_1.pt")
        with warnings.catch_warnings():
            # torch wants models exported again, in a form that only those who trained them can make.
            warnings.filterwarnings("ignore", "`torch.jit.load` is deprecated", DeprecationWarning)
            return torch.jit.load(str(path), map_location="cpu").eval()


def inception_fid_64() -> InceptionFid:
    """Return the model with features of the first pooling layer."""
    return InceptionFid(length=64)


def inception_fid_192() -> InceptionFid:
    """Return the model with features of the second pooling layer."""
    return InceptionFid(length=192)


def inception_fid_768() -> InceptionFid:
    """Return the model with features before the auxiliary classifier."""
    return InceptionFid(length=768)


def scaled_from_corner(image: Pixels, side: int) -> Floats:
    """Resize to a square as TensorFlow 1 did: pixel 0 stays at 0, no rounding.

    Other ways to scale give other features, and FID moves by more than methods differ (Parmar et al. 2022).
    """
    rows, columns = (_blend(length, side) for length in image.shape[:2])
    return np.asarray(np.einsum("ih,hwc,jw->ijc", rows, image.astype(np.float32), columns, optimize=True), np.float32)


def _blend(length: int, side: int) -> Floats:
    """Return the interpolation matrix, side x length."""
    positions = np.arange(side) * (length / side)
    before = np.floor(positions).astype(int)
    after = np.minimum(before + 1, length - 1)
    share = (positions - before).astype(np.float32)
    matrix = np.zeros((side, length), np.float32)
    np.add.at(matrix, (np.arange(side), before), 1 - share)
    np.add.at(matrix, (np.arange(side), after), share)
    return matrix


MAX_TOKENS = 256
MINILM_LENGTH = 384


class MiniLm(FromCatalog):
    """Role `text_similarity`: normalized mean of the token embeddings of a sentence.

    Each text is processed individually. The network quantizes to 8 bits depending on its input, so a neighbor in the
    batch would change the answer; and a text takes a few thousandths of a second.
    """

    role = "text_similarity"
    batch = 64
    id = "all-MiniLM-L6-v2 (int8)"
    weights = ("minilm",)

    def _settings(self) -> dict[str, str | int | float]:
        return {"precision": "int8", "most_tokens": MAX_TOKENS}

    def embed(self, texts: Sequence[str]) -> Vector:
        """Embed each text as a unit vector."""
        return np.array([self._vector(text) for text in texts], np.float32).reshape(-1, MINILM_LENGTH)

    def _vector(self, text: str) -> Vector:
        tokens = np.array([self._tokenizer.encode(text).ids], np.int64)
        inputs = {"input_ids": tokens, "attention_mask": np.ones_like(tokens), "token_type_ids": np.zeros_like(tokens)}
        mean = self._session.run(["last_hidden_state"], inputs)[0][0].mean(axis=0)
        return np.asarray(mean / np.linalg.norm(mean), np.float32)

    @cached_property
    def _session(self) -> Any:
        return onnx_session(self._file("model_quantized.onnx"), self.id, self._threads)

    @cached_property
    def _tokenizer(self) -> Any:
        tokenizer = library("tokenizers", self.id).Tokenizer.from_file(str(self._file("tokenizer.json")))
        tokenizer.no_padding()
        tokenizer.enable_truncation(MAX_TOKENS)
        return tokenizer
