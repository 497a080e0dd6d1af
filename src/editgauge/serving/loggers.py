"""Where scores of a training run are logged: TensorBoard, MLflow, Weights & Biases, whichever is in use."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from editgauge._util.images import read_image
from editgauge.errors import BadInputError, UnknownNameError

SHEET = "editgauge/sheet"


class Logger(Protocol):
    """Somewhere to log to."""

    def log(self, step: int, values: Mapping[str, float], sheet: Path) -> None:
        """Log numbers and the contact sheet of one step."""
        ...

    def close(self) -> None:
        """Flush pending values."""
        ...


class TensorBoard:
    """Event files in a folder."""

    def __init__(self, folder: Path) -> None:
        module = "torch.utils.tensorboard" if find_spec("tensorboard") else "tensorboardX"
        self._writer: Any = import_module(module).SummaryWriter(str(folder / "tensorboard"))

    def log(self, step: int, values: Mapping[str, float], sheet: Path) -> None:
        """Scalars and an image."""
        for name, value in values.items():
            self._writer.add_scalar(name, value, step)
        self._writer.add_image(SHEET, np.asarray(read_image(sheet)), step, dataformats="HWC")
        self._writer.flush()

    def close(self) -> None:
        """Close the event file."""
        self._writer.close()


class MLflow:
    """The MLflow run that is active."""

    def __init__(self) -> None:
        self._mlflow: Any = import_module("mlflow")

    def log(self, step: int, values: Mapping[str, float], sheet: Path) -> None:
        """Metrics and an artifact."""
        self._mlflow.log_metrics({mlflow_name(name): value for name, value in values.items()}, step=step)
        self._mlflow.log_artifact(str(sheet), f"editgauge/{sheet.parent.name}")

    def close(self) -> None:
        """Do nothing: the run belongs to the training loop."""


def mlflow_name(name: str) -> str:
    """Replace characters that MLflow does not accept in a name.

    >>> mlflow_name("editgauge/editval/context[dinov2-s14]"), mlflow_name("editgauge/pixlens@released/edit")
    ('editgauge/editval/context:dinov2-s14', 'editgauge/pixlens_released/edit')
    """
    return re.sub(r"[^\w\-. :/]", "_", name.replace("[", ":").replace("]", ""), flags=re.ASCII)


class WeightsAndBiases:
    """The W&B run that is active."""

    def __init__(self) -> None:
        self._wandb: Any = import_module("wandb")

    def log(self, step: int, values: Mapping[str, float], sheet: Path) -> None:
        """Numbers and an image, without a step of W&B's own: the training loop counts those."""
        self._wandb.log({**values, SHEET: self._wandb.Image(str(sheet)), "editgauge/step": step})

    def close(self) -> None:
        """Do nothing: the run belongs to the training loop."""


LOGGER_PACKAGES = {"tensorboard": "tensorboardX", "mlflow": "mlflow", "wandb": "wandb"}
"""What can be logged to, and what to install for it."""


def active_loggers(folder: Path, names: Sequence[str] | None = None) -> list[Logger]:
    """Open the loggers of these names; by default TensorBoard if installed, and runs that the loop has started."""
    if names is None:
        names = [name for name in LOGGER_PACKAGES if _is_in_use(name)]
    for name in names:
        if name not in LOGGER_PACKAGES:
            raise UnknownNameError("logger", name, LOGGER_PACKAGES, "the documentation of editgauge.Monitor")
        if not _is_installed(name):
            raise BadInputError(f"Logging to {name} needs its library: pip install {LOGGER_PACKAGES[name]}.")
    makers: dict[str, Callable[[], Logger]] = {
        "tensorboard": lambda: TensorBoard(folder),
        "mlflow": MLflow,
        "wandb": WeightsAndBiases,
    }
    return [makers[name]() for name in names]


def _is_installed(name: str) -> bool:
    return any(find_spec(module) for module in {name, LOGGER_PACKAGES[name]})


def _is_in_use(name: str) -> bool:
    if name == "tensorboard":
        return _is_installed(name)
    module: Any = sys.modules.get(name)  # imported by the loop itself, or not in use
    return module is not None and (module.active_run() if name == "mlflow" else module.run) is not None
