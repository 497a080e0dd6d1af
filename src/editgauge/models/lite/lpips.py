"""LPIPS (Zhang et al. 2018), version 0.1: how different two images look.

Both images go through a network that learned to name what is in photographs. At five depths each place's features
are brought to length one; the squared differences, weighted as people's judgments taught, are averaged over the
image, and the five averages summed. The graphs are built here from the paper and the verified weights: one for the
features of an image, which are kept for the latest sources, because many outcomes are compared with one source; and
one for the distance.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from editgauge._util.caching import LRUCache
from editgauge._util.images import Pixels, pixel_hash
from editgauge.errors import UnscorableError
from editgauge.models.lite._runtime import Floats, FromCatalog, Graph, onnx_session
from editgauge.models.weights._pickles import arrays_of

SHIFT = np.array([-0.030, -0.088, -0.188], np.float32)
SCALE = np.array([0.458, 0.448, 0.450], np.float32)
"""Of the colors, after they were brought to the range from -1 to 1."""
EPSILON = np.array(1e-10, np.float32)


class _Lpips(FromCatalog, ABC):
    role = "perceptual_distance"
    name: str
    """Of its weights in the catalog."""
    id: str
    least_side: int
    """Of an image of which something is left at the greatest depth."""
    sources_kept: int
    """Features of this many of the latest sources stay in memory."""
    batch = 8

    def _settings(self) -> dict[str, str | int | float]:
        return {"version": "0.1"}

    def compare(self, pairs: Sequence[tuple[Pixels, Pixels]]) -> list[float]:
        """Return one distance per pair; raise `UnscorableError` for images that differ in size or are too small."""
        return [self._distance(before, after) for before, after in pairs]

    def _distance(self, before: Pixels, after: Pixels) -> float:
        if before.shape != after.shape:
            sizes = " and ".join(f"{width} x {height}" for height, width in (before.shape[:2], after.shape[:2]))
            raise UnscorableError("not_applicable", f"{self.id} compares pictures of one size, and these are {sizes}")
        if min(before.shape[:2]) < self.least_side:
            height, width = before.shape[:2]
            least = f"{self.least_side} pixels on each side"
            raise UnscorableError("not_applicable", f"{self.id} needs {least}, and the pictures are {width} x {height}")
        if np.array_equal(before, after):
            return 0.0
        source, outcome = self._features_of_source(before), self._features(after)
        inputs = {
            f"{which}{depth}": planes
            for which, all_planes in (("before", source), ("after", outcome))
            for depth, planes in enumerate(all_planes)
        }
        return float(self._comparison.run(None, inputs)[0])

    def _features_of_source(self, picture: Pixels) -> list[NDArray[np.float32]]:
        return self._sources.get_or_create(pixel_hash(picture), lambda: self._features(picture))

    def _features(self, picture: Pixels) -> list[NDArray[np.float32]]:
        """Return the features at each depth, normalized to unit length at each position."""
        features: list[NDArray[np.float32]] = self._trunk.run(None, {"pictures": picture[np.newaxis]})
        return features

    @cached_property
    def _sources(self) -> LRUCache[str, list[NDArray[np.float32]]]:
        """Features of the latest sources by pixel hash."""
        return LRUCache(self.sources_kept)

    @cached_property
    def _trunk(self) -> Any:
        graph = Graph(self.id)
        units = [_units(graph, planes) for planes in self._depths(graph, _scaled(graph), self._arrays)]
        return onnx_session(graph.serialize(*units), self.id, self._threads)

    @cached_property
    def _comparison(self) -> Any:
        graph = Graph(self.id)
        distances = [_distance_at(graph, depth, weight) for depth, weight in enumerate(self._judgment(self._arrays))]
        return onnx_session(graph.serialize(graph.add("Sum", *distances)), self.id, self._threads)

    @cached_property
    def _arrays(self) -> Mapping[str, Floats]:
        return arrays_of(self.name, self._weights)

    @abstractmethod
    def _depths(self, graph: Graph, planes: str, weights: Mapping[str, Floats]) -> list[str]:
        """Add the backbone and return its features at each depth."""

    @abstractmethod
    def _judgment(self, weights: Mapping[str, Floats]) -> list[Floats]:
        """Session that compares features with the learned weights."""


class LpipsAlex(_Lpips):
    """Role `perceptual_distance`: LPIPS on AlexNet, the variant its authors recommend."""

    name = "lpips-alex"
    weights = ("lpips-alex",)
    id = "LPIPS 0.1 (AlexNet)"
    least_side = 31
    sources_kept = 2

    def _depths(self, graph: Graph, planes: str, weights: Mapping[str, Floats]) -> list[str]:
        depths = []
        for depth, (stride, padding) in enumerate([(4, 2), (1, 2), (1, 1), (1, 1), (1, 1)]):
            if depth in (1, 2):
                planes = graph.max_pool(planes, 3, 2)
            kernel, bias = weights[f"trunk.{depth}.weight"], weights[f"trunk.{depth}.bias"]
            planes = graph.add("Relu", graph.conv(planes, kernel, bias, stride, padding))
            depths.append(planes)
        return depths

    def _judgment(self, weights: Mapping[str, Floats]) -> list[Floats]:
        return [weights[f"lin.{depth}"] for depth in range(5)]


class LpipsVgg(_Lpips):
    """Role `perceptual_distance`: LPIPS on VGG-16, reported by many papers, twenty times slower."""

    name = "lpips-vgg"
    weights = ("lpips-vgg",)
    id = "LPIPS 0.1 (VGG-16)"
    least_side = 16
    sources_kept = 1  # 150 MB for an image of 640 x 480

    def _depths(self, graph: Graph, planes: str, weights: Mapping[str, Floats]) -> list[str]:
        depths = []
        layer = 0
        for depth, layers in enumerate([2, 2, 3, 3, 3]):
            if depth:
                planes = graph.max_pool(planes, 2, 2)
            for _ in range(layers):
                kernel, bias = weights[f"VGG16_0.Conv_{layer}.kernel"], weights[f"VGG16_0.Conv_{layer}.bias"]
                planes = graph.add("Relu", graph.conv(planes, _planes_first(kernel), bias, padding=1))
                layer += 1
            depths.append(planes)
        return depths

    def _judgment(self, weights: Mapping[str, Floats]) -> list[Floats]:
        return [_planes_first(weights[f"NetLinLayer_{depth}.Conv_0.kernel"]) for depth in range(5)]


def _scaled(graph: Graph) -> str:
    """Normalize the colors for the networks."""
    return graph.scaled(graph.images("pictures"), 1 / (127.5 * SCALE), (-1 - SHIFT) / SCALE)


def _units(graph: Graph, planes: str) -> str:
    """Normalize features to unit length at each position."""
    lengths = graph.add("ReduceL2", planes, axes=[1], keepdims=1)
    return graph.add("Div", planes, graph.add("Add", lengths, graph.constant(EPSILON)))


def _distance_at(graph: Graph, depth: int, weight: Floats) -> str:
    """Add the weighted mean squared difference between the unit features of two images at one depth."""
    before, after = (graph.planes(f"{which}{depth}", weight.shape[1]) for which in ("before", "after"))
    difference = graph.add("Sub", before, after)
    squared = graph.add("Mul", difference, difference)
    weighted = graph.add("Conv", squared, graph.constant(weight))
    return graph.add("ReduceMean", weighted, keepdims=0)


def _planes_first(array: Floats) -> Floats:
    """Transpose a kernel from HWIO to OIHW; leave other arrays unchanged."""
    return array.transpose(3, 2, 0, 1) if array.ndim == 4 else array
