"""ONNX graphs: networks written layer by layer from arrays of weights, so they run without torch; int8 products."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from editgauge.models.lite._runtime import library

Floats = NDArray[np.float32]
OPSET = 17
IR_VERSION = 9
"""Of the file format that belongs to this opset; the newest one might be ahead of the available onnxruntime."""
LARGEST_WEIGHT = 63
"""Weights take seven bits: with eight, processors without VNNI instructions overflow and give other numbers."""


class Graph:
    """Builder of an ONNX graph. Every layer takes the name of its input and returns that of its output."""

    def __init__(self, feature: str) -> None:
        self._onnx = library("onnx", feature)
        self._helper = library("onnx.helper", feature)
        self._arrays = library("onnx.numpy_helper", feature)
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._inputs: list[Any] = []

    def pictures(self, name: str) -> str:
        """Add an input of images of any number and size, height x width x 3, from 0 to 255."""
        shape = ["pictures", "height", "width", 3]
        self._inputs.append(self._helper.make_tensor_value_info(name, self._onnx.TensorProto.UINT8, shape))
        return name

    def planes(self, name: str, depth: int) -> str:
        """Add an input of `count` planes of any size."""
        shape = [1, depth, f"{name}_height", f"{name}_width"]
        self._inputs.append(self._helper.make_tensor_value_info(name, self._onnx.TensorProto.FLOAT, shape))
        return name

    def constant(self, values: NDArray[Any]) -> str:
        """Add a constant array."""
        name = f"constant{len(self._constants)}"
        self._constants.append(self._arrays.from_array(np.ascontiguousarray(values), name))
        return name

    def add(self, kind: str, *inputs: str, **settings: Any) -> str:
        """Add an ONNX operation and return its output."""
        name = f"{kind.lower()}{len(self._nodes)}"
        self._nodes.append(self._helper.make_node(kind, list(inputs), [name], name=name, **settings))
        return name

    def scaled(self, pictures: str, factor: NDArray[Any], offset: NDArray[Any]) -> str:
        """Convert images to planes and apply a factor and an offset per channel."""
        numbers = self.add("Cast", pictures, to=self._onnx.TensorProto.FLOAT)
        planes = self.add("Transpose", numbers, perm=[0, 3, 1, 2])
        times, plus = (self.constant(item.astype(np.float32).reshape(1, 3, 1, 1)) for item in (factor, offset))
        return self.add("Add", self.add("Mul", planes, times), plus)

    def conv(self, planes: str, weight: Floats, bias: Floats, stride: int = 1, padding: int = 0) -> str:
        """Add a convolution."""
        sides = {"strides": [stride] * 2, "pads": [padding] * 4, "kernel_shape": list(weight.shape[2:])}
        return self.add("Conv", planes, self.constant(weight), self.constant(bias), **sides)

    def normalized_conv(
        self,
        planes: str,
        weights: Mapping[str, Floats],
        conv: str,
        norm: str,
        *,
        epsilon: float,
        stride: int = 1,
        padding: int | None = 0,
    ) -> str:
        """Add a convolution with its batch normalization folded into the weights.

        Args:
            planes: what goes in
            weights: all weights of the network by torch's names
            conv: the name of the convolution
            norm: the name of the normalization
            epsilon: added to the variances
            stride: in both directions
            padding: on all sides; None for TensorFlow's "same", which may pad more below and on the right

        """
        factor = weights[f"{norm}.weight"] / np.sqrt(weights[f"{norm}.running_var"] + epsilon)
        kernel = (weights[f"{conv}.weight"] * factor[:, np.newaxis, np.newaxis, np.newaxis]).astype(np.float32)
        bias = (weights[f"{norm}.bias"] - weights[f"{norm}.running_mean"] * factor).astype(np.float32)
        if padding is not None:
            return self.conv(planes, kernel, bias, stride, padding)
        settings = {"strides": [stride] * 2, "auto_pad": "SAME_UPPER", "kernel_shape": list(kernel.shape[2:])}
        groups = len(kernel) if kernel.shape[1] == 1 else 1
        return self.add("Conv", planes, self.constant(kernel), self.constant(bias), group=groups, **settings)

    def max_pool(self, planes: str, side: int, stride: int, padding: int = 0) -> str:
        """Add a max-pooling layer."""
        return self.add("MaxPool", planes, kernel_shape=[side] * 2, strides=[stride] * 2, pads=[padding] * 4)

    def finished(self, *outputs: str) -> bytes:
        """Serialize the graph to ONNX with float outputs."""
        floats = self._onnx.TensorProto.FLOAT
        results = [self._helper.make_tensor_value_info(output, floats, None) for output in outputs]
        graph = self._helper.make_graph(self._nodes, "editgauge", self._inputs, results, self._constants)
        opset = self._helper.make_opsetid("", OPSET)
        model = self._helper.make_model(graph, opset_imports=[opset], ir_version=IR_VERSION)
        content: bytes = model.SerializeToString()
        return content


def int8_products(
    network: Any, feature: str, is_selected: Callable[[str], bool], by_row: Callable[[str], bool]
) -> None:
    """Quantize products with constant matrices, in place.

    Weights are rounded once, column by column. What they are multiplied with is rounded at each run, on one scale.

    Args:
        network: an ONNX model
        feature: what it is called in messages
        is_selected: is the product with this name replaced?
        by_row: does each row of its input get a scale of its own, because a few rows are far larger than the others?

    """
    constants = {item.name: item for item in network.graph.initializer}
    nodes = list(network.graph.node)
    del network.graph.node[:]
    for node in nodes:
        if node.op_type == "MatMul" and node.input[1] in constants and is_selected(node.name):
            matrix = constants[node.input[1]]
            network.graph.initializer.remove(matrix)
            _Product(network.graph, node, feature).replace(matrix, by_row=by_row(node.name))
        else:
            network.graph.node.append(node)


class _Product:
    """One matrix product, rewritten as int8 operations."""

    def __init__(self, graph: Any, node: Any, feature: str) -> None:
        self._graph, self._node, self._onnx = graph, node, library("onnx", feature)

    def replace(self, matrix: Any, *, by_row: bool) -> None:
        """Append the quantized operations to the graph."""
        weights = self._onnx.numpy_helper.to_array(matrix)
        scales = np.abs(weights).max(axis=0) / LARGEST_WEIGHT
        numbers = self._constant("numbers", np.round(weights / scales).astype(np.int8))
        values = self._node.input[0]
        if by_row:
            (sizes,) = self._add("Abs", values)
            (largest,) = self._add("ReduceMax", sizes, axes=[-1], keepdims=1)
            (values,) = self._add("Div", values, largest)
        rounded, scale, zero = self._add("DynamicQuantizeLinear", values, outputs=3)
        (product,) = self._add("MatMulInteger", rounded, numbers, zero)
        (product,) = self._add("Cast", product, to=self._onnx.TensorProto.FLOAT)
        (scale,) = self._add("Mul", scale, self._constant("scales", scales.astype(np.float32)))
        (product,) = self._add("Mul", product, scale)
        if by_row:
            self._add("Mul", product, largest)
        self._graph.node[-1].output[0] = self._node.output[0]

    def _constant(self, name: str, values: NDArray[Any]) -> str:
        name = f"{self._node.name}/{name}"
        self._graph.initializer.append(self._onnx.numpy_helper.from_array(values, name))
        return name

    def _add(self, kind: str, *inputs: str, outputs: int = 1, **settings: Any) -> list[str]:
        """Return the output names of an operation."""
        name = f"{self._node.name}/{len(self._graph.node)}"
        names = [f"{name}/{index}" for index in range(outputs)]
        self._graph.node.append(self._onnx.helper.make_node(kind, list(inputs), names, name=name, **settings))
        return names
