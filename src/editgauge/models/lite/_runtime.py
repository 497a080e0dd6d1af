"""What the small models share: their cards, and the libraries that run them."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Iterator
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
        weights: another file than the catalog's, or a folder with all its files where there are several
        threads: one by default, because several processes share the cores

    """

    weights: tuple[str, ...] = ()

    def __init__(self, weights: Path | None = None, threads: int = 1) -> None:
        self._weights = weights
        self._threads = threads

    def _file(self, name: str) -> Path:
        """Return the path of one file of the first set of weights."""
        return self._weights / name if self._weights else weights_of(self.weights[0]).path(name)


def library(name: str, feature: str, extra: str = "lite") -> ModuleType:
    """Import a library; raise `MissingExtraError` in the name of `feature` when it is not installed."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise MissingExtraError(feature, [error.name or name], extra=extra) from error


def card_of(
    weights: str | tuple[str, ...],
    role: str,
    id: str,  # noqa: A002 - the word of the card
    input_size: tuple[int, int] | None = None,
    **settings: str | int | float,
) -> ModelCard:
    """Build the card of a model from the catalog entries of its weights."""
    entries = [entry_of(name) for name in ((weights,) if isinstance(weights, str) else weights)]
    return ModelCard(
        role=role,
        id=id,
        revision=", ".join(str(entry.carrier) for entry in entries),
        sha256=sha256_of_set(file.sha256 for entry in entries for file in entry.files),
        license=", ".join(dict.fromkeys(entry.license for entry in entries)),
        input_size=input_size,
        settings=settings,
    )


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
    return _watched(session, "run")


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
    return _watched(interpreter, "invoke")


def litert_outputs(network: Any, picture: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Run a TensorFlow Lite model on one image and return its outputs by name."""
    network.set_tensor(network.get_input_details()[0]["index"], picture[np.newaxis])
    network.invoke()
    return {detail["name"]: network.get_tensor(detail["index"])[0] for detail in network.get_output_details()}


class _Watched:
    """A session that records its time for profiling."""

    def __init__(self, runs: Any, how: str) -> None:
        self._runs = runs
        setattr(self, how, self._timed(getattr(runs, how)))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._runs, name)

    @staticmethod
    def _timed(run: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*arguments: Any) -> Any:
            with profiling.span("forward"):
                return run(*arguments)

        return timed


def _watched(runs: Any, how: str) -> Any:
    """Run a session inside a profiling span."""
    return _Watched(runs, how) if profiling.is_recording() else runs


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
