"""Score an editor on a small fixed set while it is trained, and log scores and a contact sheet."""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

import numpy as np
from PIL import Image, ImageDraw

from editgauge._util.files import write_text
from editgauge._util.images import ImageLike, Pixels, read_image, write_png
from editgauge.benchmarks import open_benchmark
from editgauge.engine.result import ScoreResult
from editgauge.engine.scorer import Scorer
from editgauge.errors import BadInputError, UnknownNameError
from editgauge.options import JudgeOptions, ModelOptions, Pairs, ScorerOptions
from editgauge.types import Edit

Editor = Callable[[Image.Image, str], ImageLike]
"""Takes a source image and an instruction, returns the edited image."""
HISTORY = "history.jsonl"
CELL = 192
"""Pixels of a picture on the contact sheet."""
LINE = 16
WHITE, GRAY = (255, 255, 255), (96, 96, 96)
SHEET = "editgauge/sheet"


@dataclass(frozen=True, slots=True)
class MeanScore:
    """One score over the set: its mean over what could be scored, and how much could not."""

    mean: float | None
    scored: int
    unscored: int


@dataclass(frozen=True, slots=True)
class Evaluation:
    """How the editor did at one step."""

    step: int
    scores: Mapping[str, MeanScore]
    """By `protocol/score`."""
    failures: Mapping[str, str]
    """Edits for which the editor raised an error, and what it said."""
    sheet: Path
    """Contact sheet: sources, outcomes and verdicts."""
    seconds_editing: float
    seconds_scoring: float


class Monitor:
    """Score an editor on the same few edits repeatedly while it is trained.

    >>> monitor = editgauge.Monitor("sample", out="eval", limit=8, every=500)  # doctest: +SKIP
    >>> for step, batch in enumerate(batches):  # doctest: +SKIP
    ...     train_on(batch)
    ...     monitor.on_step_end(step, pipeline)

    `on_step_end` takes a diffusers pipeline; `evaluate` any function from a source image and an instruction to the
    edited image. Results go to `out/history.jsonl` and to the trackers that are in use: TensorBoard (files in
    `out/tensorboard`), a running MLflow run, a running Weights & Biases run.

    Args:
        benchmark: a name from `editgauge list benchmarks`, or a folder of your own.
        out: folder for outcomes, contact sheets and history.
        limit: number of edits; the first ones of the benchmark.
        every: steps between two evaluations.
        protocol: how to score, as in `editgauge.score`.
        models: model profile.
        model: models for single roles.
        judge: model used as judge.
        prompts: folder or file with prompts for the judge.
        log_to: where to log: `tensorboard`, `mlflow`, `wandb`; by default wherever the loop logs already.
        data: folder with the benchmark's public files.
        images: folder with its source images.

    """

    def __init__(
        self,
        benchmark: str | Path = "sample",
        *,
        out: str | Path,
        limit: int = 8,
        every: int = 1,
        protocol: Sequence[str] = (),
        models: str | ModelOptions | None = None,
        model: Pairs = (),
        judge: str | Pairs | JudgeOptions | None = (),
        prompts: str | Path | None = None,
        log_to: Sequence[str] | None = None,
        data: str | Path | None = None,
        images: str | Path | None = None,
    ) -> None:
        if limit < 1 or every < 1:
            raise BadInputError(f"`limit` and `every` are at least 1, got {limit} and {every}.")
        self.folder, self.every = Path(out), every
        self.folder.mkdir(parents=True, exist_ok=True)
        self._edits: list[Edit] = list(open_benchmark(benchmark, data=data, images=images).edits[:limit])
        self._sources = [read_image(edit.source.path) for edit in self._edits]
        self._loggers: list[Logger] = active_loggers(self.folder, log_to)
        options = ScorerOptions(protocol=protocol, models=models, model=model, judge=judge, prompts=prompts)
        self._scorer = Scorer.from_options(options).__enter__()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Release the models and close the log files."""
        self._scorer.__exit__()
        for logger in self._loggers:
            logger.close()

    def on_step_end(self, step: int, pipeline: Any, accelerator: Any = None, **options: Any) -> Evaluation | None:
        """Every few steps, evaluates a diffusers pipeline; on one process only when there is an accelerator.

        Args:
            step: the number of the training step.
            pipeline: pipeline that takes `prompt` and `image`, such as InstructPix2Pix.
            accelerator: `accelerate.Accelerator` of the loop.
            options: options of the pipeline's call, such as `num_inference_steps`.

        """
        if step % self.every or (accelerator is not None and not accelerator.is_main_process):
            return None
        with _for_inference(pipeline):
            return self.evaluate(step, pipeline_editor(pipeline, **options))

    def evaluate(self, step: int, editor: Editor) -> Evaluation:
        """Edit the set, score it, write and log the result. An error of the editor affects that outcome only."""
        began = time.perf_counter()
        outcomes, failures = self._outcomes(step, editor)
        edited = time.perf_counter()
        results = self._scored(outcomes)
        sheet = self.folder / f"step-{step:08d}" / "sheet.png"
        write_png(_contact_sheet(self._edits, self._sources, outcomes, results), sheet)
        evaluation = Evaluation(
            step=step,
            scores=_means(results, len(self._edits)),
            failures=failures,
            sheet=sheet,
            seconds_editing=edited - began,
            seconds_scoring=time.perf_counter() - edited,
        )
        self._record(evaluation)
        return evaluation

    def _outcomes(self, step: int, editor: Editor) -> tuple[dict[str, Pixels], dict[str, str]]:
        outcomes, failures = {}, {}
        for edit, source in zip(self._edits, self._sources, strict=True):
            try:
                outcomes[edit.id] = read_image(editor(Image.fromarray(source), edit.instruction), "outcome")
            except Exception as error:  # a training run of days must not end because of one picture
                failures[edit.id] = f"{type(error).__name__}: {error}"
                continue
            file = self.folder / f"step-{step:08d}" / f"{edit.id}.png"
            file.parent.mkdir(parents=True, exist_ok=True)
            write_png(outcomes[edit.id], file)
        return outcomes, failures

    def _scored(self, outcomes: Mapping[str, Pixels]) -> dict[str, ScoreResult]:
        under_way = {
            edit.id: self._scorer.submit_edit(edit, source, outcomes[edit.id])
            for edit, source in zip(self._edits, self._sources, strict=True)
            if edit.id in outcomes
        }
        return {name: future.result() for name, future in under_way.items()}

    def _record(self, evaluation: Evaluation) -> None:
        line = {**asdict(evaluation), "sheet": str(evaluation.sheet.relative_to(self.folder))}
        history = self.folder / HISTORY
        earlier = history.read_text("utf-8") if history.exists() else ""
        write_text(history, earlier + json.dumps(line) + "\n")
        values = {name: score.mean for name, score in evaluation.scores.items() if score.mean is not None}
        values |= {f"unscored/{name}": float(score.unscored) for name, score in evaluation.scores.items()}
        values |= {"seconds_editing": evaluation.seconds_editing, "seconds_scoring": evaluation.seconds_scoring}
        values = {f"editgauge/{name}": value for name, value in values.items()}
        for logger in self._loggers:
            logger.log(evaluation.step, values, evaluation.sheet)


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


def pipeline_editor(pipeline: Any, seed: int = 0, **options: Any) -> Editor:
    """Wrap a diffusers pipeline as an editor with a fixed seed, so that steps can be compared."""
    import torch

    def edit(image: Image.Image, instruction: str) -> ImageLike:
        generator = torch.Generator().manual_seed(seed)
        edited: ImageLike = pipeline(prompt=instruction, image=image, generator=generator, **options).images[0]
        return edited

    return edit


@contextmanager
def _for_inference(pipeline: Any) -> Iterator[None]:
    """Networks without dropout, and back into training afterwards."""
    training = [part for part in pipeline.components.values() if getattr(part, "training", False)]
    for part in training:
        part.eval()
    try:
        yield
    finally:
        for part in training:
            part.train()


def _means(results: Mapping[str, ScoreResult], edits: int) -> dict[str, MeanScore]:
    values: dict[str, list[float]] = {}
    for result in results.values():
        for score in result:
            column = values.setdefault(f"{score.protocol}/{score.name}", [])
            if score.value is not None:
                column.append(score.value)
    return {
        name: MeanScore(float(np.mean(column)) if column else None, len(column), edits - len(column))
        for name, column in values.items()
    }


def _contact_sheet(
    edits: Sequence[Edit],
    sources: Sequence[Pixels],
    outcomes: Mapping[str, Pixels],
    results: Mapping[str, ScoreResult],
) -> Pixels:
    """Draw one row per edit: source, outcome, and below them the instruction and the verdict."""
    height = CELL + 3 * LINE
    sheet = Image.new("RGB", (2 * CELL + LINE, height * len(edits)), WHITE)
    draw = ImageDraw.Draw(sheet)
    for row, (edit, source) in enumerate(zip(edits, sources, strict=True)):
        top = row * height
        for column, pixels in enumerate((source, outcomes.get(edit.id))):
            if pixels is not None:
                picture = Image.fromarray(pixels)
                picture.thumbnail((CELL, CELL))
                sheet.paste(picture, (column * (CELL + LINE), top))
        verdict = results[edit.id].verdict.sentence if edit.id in results else "No outcome."
        for number, text in enumerate((edit.instruction, verdict)):
            draw.text((2, top + CELL + 2 + number * LINE), text[:64], fill=GRAY)
    return np.asarray(sheet, dtype=np.uint8)
