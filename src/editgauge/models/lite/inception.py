"""Inception features for FID (Heusel et al. 2017) and KID: the 2,048 numbers before the last layer.

Shallower layers have 64, 192 or 768 numbers. With few images they are the way out that EditVal names (appendix M):
the distance is then less biased, and says less about what is in the images.

The network comes as a TorchScript archive, whose program torch interprets. We read that program: it convolves,
normalizes, pools and joins, and touches nothing else. The hash of the weights makes sure that it is this one.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from editgauge._util.images import Pixels
from editgauge.models.answers import Vector
from editgauge.models.lite._graphs import Floats
from editgauge.models.lite._runtime import card_of, library
from editgauge.models.roles import ModelCard
from editgauge.models.weights import weights_of

NAME = "inception-fid"
ID = "Inception (2015-12-05)"
SIDE = 299
LENGTH = 2048
LAYERS = {64: "pool0", 192: "pool1", 768: "mixed_7"}
"""Where the shallower features are taken, as the usual programs for FID do: the mean over the places of that layer."""


class InceptionFid:
    """Role `fid_features`: needs torch."""

    batch = 8
    weights = (NAME,)

    def __init__(self, weights: Path | None = None, length: int = LENGTH) -> None:
        """Choose the layer by the length of its features; `weights` replaces the catalog's file."""
        self._weights = weights
        self._length = length

    @property
    def available(self) -> bool:
        """Whether torch is installed."""
        return find_spec("torch") is not None

    @property
    def card(self) -> ModelCard:
        """Identity of the model."""
        resize = "bilinear from the corner, as in TensorFlow 1"
        layer = {"layer": LAYERS[self._length]} if self._length in LAYERS else {}
        return card_of(NAME, "fid_features", ID, (SIDE, SIDE), resize=resize, **layer)

    def embed(self, images: Sequence[Pixels]) -> Vector:
        """Compute the features of each image on its own, so that the batch cannot change a digit."""
        return np.array([self._features(image) for image in images], np.float32).reshape(-1, self._length)

    def _features(self, image: Pixels) -> Vector:
        torch = library("torch", ID, extra="torch")
        planes = np.ascontiguousarray(scaled_from_corner(image, SIDE).transpose(2, 0, 1))
        with torch.inference_mode():
            pixels = torch.from_numpy((planes - 128) / 128)[None]
            features = self._shallow(pixels) if self._length in LAYERS else self._network(pixels)
        return np.asarray(features[0].numpy(), np.float32)

    def _shallow(self, values: Any) -> Any:
        """Average the features over all positions, after the layer of that length."""
        for name, layer in self._network.net.layers.named_children():
            values = layer(values)
            if name == LAYERS[self._length]:
                break
        return values.mean(dim=(2, 3))

    @cached_property
    def _network(self) -> Any:
        torch = library("torch", ID, extra="torch")
        path = self._weights or weights_of(NAME).path("default_1.pt")
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
