"""LPIPS (Zhang et al. 2018), version 0.1: how different two pictures look.

Both pictures go through a network that learned to name what is in photographs. At five depths each place's features
are brought to length one; the squared differences, weighted as people's judgments taught, are averaged over the
picture, and the five averages summed. The graph is built here from the paper and the verified weights.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from editgauge.core.errors import CannotTell
from editgauge.core.images import Pixels
from editgauge.models.interfaces import ModelCard
from editgauge.models.lite.graphs import Floats, Graph
from editgauge.models.lite.runtime import FromCatalog, card_of, onnx_session
from editgauge.models.weights.converted import arrays_of

SHIFT = np.array([-0.030, -0.088, -0.188], np.float32)
SCALE = np.array([0.458, 0.448, 0.450], np.float32)
"""Of the colors, after they were brought to the range from -1 to 1."""
NEVER_ZERO = np.array(1e-10, np.float32)


class _Lpips(FromCatalog, ABC):
    name: str
    """Of its weights in the catalog."""
    id: str
    least_side: int
    """Of a picture of which something is left at the greatest depth."""
    batch = 8

    @property
    def card(self) -> ModelCard:
        """What it is."""
        return card_of(self.name, "perceptual_distance", self.id, version="0.1")

    def compare(self, pairs: Sequence[tuple[Pixels, Pixels]]) -> list[float]:
        """One distance per pair; raises `CannotTell` for pictures of different sizes or of too few pixels."""
        return [self._distance(before, after) for before, after in pairs]

    def _distance(self, before: Pixels, after: Pixels) -> float:
        if before.shape != after.shape:
            sizes = " and ".join(f"{width} x {height}" for height, width in (before.shape[:2], after.shape[:2]))
            raise CannotTell("not_applicable", f"{self.id} compares pictures of one size, and these are {sizes}")
        if min(before.shape[:2]) < self.least_side:
            height, width = before.shape[:2]
            least = f"{self.least_side} pixels on each side"
            raise CannotTell("not_applicable", f"{self.id} needs {least}, and the pictures are {width} x {height}")
        return float(self._session.run(None, {"pictures": np.stack([before, after])})[0])

    @cached_property
    def _session(self) -> Any:
        return onnx_session(self._graph(arrays_of(self.name, self._weights)), self.id, self._threads)

    @abstractmethod
    def _graph(self, weights: Mapping[str, Floats]) -> bytes:
        """The network, from its weights by name."""


class LpipsAlex(_Lpips):
    """Role `perceptual_distance`: LPIPS on AlexNet, the variant that its authors advise for comparing pictures."""

    name = "lpips-alex"
    weights = ("lpips-alex",)
    id = "LPIPS 0.1 (AlexNet)"
    least_side = 31

    def _graph(self, weights: Mapping[str, Floats]) -> bytes:
        graph = Graph(self.id)
        planes = _scaled(graph)
        distances = []
        for depth, (stride, padding) in enumerate([(4, 2), (1, 2), (1, 1), (1, 1), (1, 1)]):
            if depth in (1, 2):
                planes = graph.max_pool(planes, 3, 2)
            kernel, bias = weights[f"trunk.{depth}.weight"], weights[f"trunk.{depth}.bias"]
            planes = graph.add("Relu", graph.conv(planes, kernel, bias, stride, padding))
            distances.append(_distance_at(graph, planes, weights[f"lin.{depth}"]))
        return graph.finished(graph.add("Sum", *distances))


class LpipsVgg(_Lpips):
    """Role `perceptual_distance`: LPIPS on VGG-16, which many papers report and which takes twenty times as long."""

    name = "lpips-vgg"
    weights = ("lpips-vgg",)
    id = "LPIPS 0.1 (VGG-16)"
    least_side = 16

    def _graph(self, weights: Mapping[str, Floats]) -> bytes:
        weights = {name: _planes_first(array) for name, array in weights.items()}
        graph = Graph(self.id)
        planes = _scaled(graph)
        distances = []
        layer = 0
        for depth, layers in enumerate([2, 2, 3, 3, 3]):
            if depth:
                planes = graph.max_pool(planes, 2, 2)
            for _ in range(layers):
                kernel, bias = weights[f"VGG16_0.Conv_{layer}.kernel"], weights[f"VGG16_0.Conv_{layer}.bias"]
                planes = graph.add("Relu", graph.conv(planes, kernel, bias, padding=1))
                layer += 1
            distances.append(_distance_at(graph, planes, weights[f"NetLinLayer_{depth}.Conv_0.kernel"]))
        return graph.finished(graph.add("Sum", *distances))


def _scaled(graph: Graph) -> str:
    """Both pictures, in the colors that the networks expect."""
    return graph.scaled(graph.pictures("pictures"), 1 / (127.5 * SCALE), (-1 - SHIFT) / SCALE)


def _distance_at(graph: Graph, planes: str, weight: Floats) -> str:
    """The weighted mean squared difference between the unit features of the two pictures at one depth."""
    lengths = graph.add("ReduceL2", planes, axes=[1], keepdims=1)
    units = graph.add("Div", planes, graph.add("Add", lengths, graph.constant(NEVER_ZERO)))
    before, after = (graph.add("Gather", units, graph.constant(np.array([place])), axis=0) for place in (0, 1))
    difference = graph.add("Sub", before, after)
    squared = graph.add("Mul", difference, difference)
    weighted = graph.add("Conv", squared, graph.constant(weight))
    return graph.add("ReduceMean", weighted, keepdims=0)


def _planes_first(array: Floats) -> Floats:
    """A kernel of height x width x in x out as out x in x height x width; anything else as it is."""
    return array.transpose(3, 2, 0, 1) if array.ndim == 4 else array
