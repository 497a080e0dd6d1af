"""Base class of the small models, the libraries that run them, and a builder of ONNX graphs."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from editgauge._util import profiling
from editgauge._util.images import Pixels, as_unit
from editgauge.errors import EditGaugeError, MissingExtraError, summarize_error
from editgauge.models.roles import ModelCard
from editgauge.models.weights import entry_of, weights_of
from editgauge.models.weights._store import sha256_of_set

IMAGENET_MEAN = np.array([0.485, 0.456, 0.406], np.float32)
IMAGENET_STD = np.array([0.229, 0.224, 0.225], np.float32)


class UnloadableWeightsError(EditGaugeError):
    """A file of weights that its library cannot load."""

    def __init__(self, feature: str, model: Path | bytes, error: Exception) -> None:
        source = "its weights" if isinstance(model, bytes) else f"'{model}'"
        super().__init__(
            f"{feature} cannot load {source}: {summarize_error(error)}. `editgauge models verify` lists damaged files; "
            "`editgauge models pull` downloads them again."
        )


class FromCatalog:
    """Base class of small models whose weights are listed in the catalog.

    Args:
        weights: another file than the catalog's, or a folder with all its files where there are several.
        threads: one by default, because several processes share the cores.

    """

    role: str
    id: str
    weights: tuple[str, ...] = ()
    side: int | None = None
    """Of the square that the network sees; None if images keep their shape."""

    def __init__(self, weights: Path | None = None, threads: int = 1) -> None:
        self._weights = weights
        self._threads = threads

    @property
    def card(self) -> ModelCard:
        """Identity of the model, from the catalog entries of its weights."""
        entries = [entry_of(name) for name in self.weights]
        return ModelCard(
            role=self.role,
            id=self.id,
            revision=", ".join(str(entry.carrier) for entry in entries),
            sha256=sha256_of_set(file.sha256 for entry in entries for file in entry.files),
            license=", ".join(dict.fromkeys(entry.license for entry in entries)),
            input_size=None if self.side is None else (self.side, self.side),
            settings=self._settings(),
        )

    def _settings(self) -> dict[str, str | int | float]:
        """Return what else decides an answer, for the card."""
        return {}

    def _file(self, name: str) -> Path:
        """Return the path of one file of the first set of weights; the set may be a single file."""
        if self._weights is None:
            return weights_of(self.weights[0]).path(name)
        return self._weights / name if self._weights.is_dir() else self._weights


def library(name: str, feature: str, extra: str = "lite") -> ModuleType:
    """Import a library; raise `MissingExtraError` in the name of `feature` when it is not installed."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise MissingExtraError(feature, [error.name or name], extra=extra) from error


def onnx_session(model: Path | bytes, feature: str, threads: int, *, one_size: bool = False) -> Any:
    """Open an ONNX graph from a file or bytes on the CPU.

    Args:
        model: the file, or its content
        feature: what the graph is called in messages
        threads: how many run it
        one_size: every input has the same shape, so memory may be kept from image to image; a fifth faster

    """
    runtime = library("onnxruntime", feature)
    options = runtime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3  # its warnings speak of how others exported the graph
    options.enable_cpu_mem_arena = one_size  # an arena keeps the most that any image ever needed, per network
    content = model if isinstance(model, bytes) else str(model)
    try:
        session = runtime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # the runtime has a class of its own for every mistake
        raise UnloadableWeightsError(feature, model, error) from error
    return _profiled(session, "run")


def litert(model: Path | bytes, feature: str, threads: int) -> Any:
    """Open a TensorFlow Lite model from a file or bytes."""
    make = library("ai_edge_litert.interpreter", feature).Interpreter
    arguments = {"model_content": model} if isinstance(model, bytes) else {"model_path": str(model)}
    with native_output_silenced():
        try:
            interpreter = make(**arguments, num_threads=threads)
            interpreter.allocate_tensors()
        except (ValueError, RuntimeError, OSError) as error:
            raise UnloadableWeightsError(feature, model, error) from error
    return _profiled(interpreter, "invoke")


def litert_outputs(network: Any, picture: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Run a TensorFlow Lite model on one image and return its outputs by name."""
    network.set_tensor(network.get_input_details()[0]["index"], picture[np.newaxis])
    network.invoke()
    return {detail["name"]: network.get_tensor(detail["index"])[0] for detail in network.get_output_details()}


class _ProfiledSession:
    """A session that records its time for profiling."""

    def __init__(self, session: Any, method: str) -> None:
        self._session = session
        setattr(self, method, self._with_span(getattr(session, method)))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)

    @staticmethod
    def _with_span(run: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*arguments: Any) -> Any:
            with profiling.span("forward"):
                return run(*arguments)

        return timed


def _profiled(session: Any, method: str) -> Any:
    """Wrap a session so that its method runs in a profiling span, if profiling is on."""
    return _ProfiledSession(session, method) if profiling.is_recording() else session


@contextmanager
def native_output_silenced() -> Iterator[None]:
    """Silence what native libraries print to standard error on start."""
    sys.stderr.flush()
    saved_stderr, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(saved_stderr, 2)
        os.close(saved_stderr)
        os.close(nowhere)


def imagenet_scaled(image: Pixels, white: float = 1.0) -> NDArray[np.float32]:
    """Normalize with ImageNet's mean and standard deviation, to 1 x 3 x height x width.

    `white` is the value of a white pixel before that; networks were trained with 1.
    """
    scaled = (as_unit(image) * np.float32(white) - IMAGENET_MEAN) / IMAGENET_STD
    return np.ascontiguousarray(scaled.transpose(2, 0, 1)[np.newaxis])


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

    def images(self, name: str) -> str:
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

    def serialize(self, *outputs: str) -> bytes:
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
