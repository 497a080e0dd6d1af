"""An editor is scored while it is trained: the same edits, means and absences in the history, pictures on a sheet."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image

import editgauge
from editgauge._util.images import read_image
from editgauge.errors import BadInputError, UnknownNameError


@pytest.fixture
def benchmark(make_benchmark: Callable[..., Path], tmp_path: Path) -> Path:
    return make_benchmark(tmp_path / "benchmark", edits=4)


def history(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "history.jsonl").read_text().splitlines()]


def test_a_better_editor_scores_better_and_everything_is_kept(benchmark: Path, tmp_path: Path) -> None:
    noise = np.random.default_rng(0)

    def noisy(image: Image.Image, instruction: str) -> np.ndarray[Any, Any]:
        pixels = np.asarray(image).astype(int) + noise.integers(-60, 60, (*image.size[::-1], 3))
        return pixels.clip(0, 255).astype(np.uint8)

    with editgauge.Monitor(benchmark, out=tmp_path / "eval", limit=3, protocol=["preservation"], log_to=[]) as monitor:
        first = monitor.evaluate(100, noisy)
        last = monitor.evaluate(200, lambda image, instruction: image)

    name = "preservation/ssim"
    means = [evaluation.scores[name].mean or 0 for evaluation in (first, last)]
    assert 0 < means[0] < means[1] == pytest.approx(1)
    assert [line["step"] for line in history(tmp_path / "eval")] == [100, 200]
    assert len(list((tmp_path / "eval" / "step-00000100").glob("edit-*.png"))) == 3
    assert read_image(last.sheet).shape[0] > 3 * 192


def test_an_error_of_the_editor_costs_that_outcome_alone(benchmark: Path, tmp_path: Path) -> None:
    def moody(image: Image.Image, instruction: str) -> Image.Image:
        if instruction == "Remove it.":
            raise RuntimeError("out of memory")
        return image

    with editgauge.Monitor(benchmark, out=tmp_path / "eval", limit=3, protocol=["preservation"], log_to=[]) as monitor:
        result = monitor.evaluate(1, moody)

    assert result.failures == {"edit-001": "RuntimeError: out of memory"}
    assert (result.scores["preservation/ssim"].scored, result.scores["preservation/ssim"].unscored) == (2, 1)


def test_a_pipeline_is_scored_every_so_many_steps_on_one_process(benchmark: Path, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    network = torch.nn.Dropout()
    seen: list[tuple[bool, int]] = []

    class Pipeline:
        def __init__(self) -> None:
            self.components = {"unet": network, "tokenizer": object()}

        def __call__(self, prompt: str, image: Image.Image, generator: Any, num_inference_steps: int) -> Any:
            seen.append((network.training, num_inference_steps))
            return SimpleNamespace(images=[image])

    with editgauge.Monitor(benchmark, out=tmp_path / "eval", limit=1, every=2, protocol=["preservation"]) as monitor:
        steps = [monitor.on_step_end(step, Pipeline(), num_inference_steps=3) for step in range(4)]
        other = monitor.on_step_end(4, Pipeline(), accelerator=SimpleNamespace(is_main_process=False))

    assert [step is not None for step in steps] == [True, False, True, False]
    assert other is None
    assert seen == [(False, 3)] * 2
    assert network.training


def test_tensorboard_gets_numbers_and_the_sheet(benchmark: Path, tmp_path: Path) -> None:
    pytest.importorskip("tensorboardX", reason="NOT TESTED: needs pip install tensorboardX")
    with editgauge.Monitor(
        benchmark, out=tmp_path / "eval", limit=1, protocol=["preservation"], log_to=["tensorboard"]
    ) as monitor:
        monitor.evaluate(7, lambda image, instruction: image)

    (events,) = (tmp_path / "eval" / "tensorboard").glob("events.*")
    content = events.read_bytes()
    assert b"editgauge/preservation/ssim" in content
    assert b"editgauge/sheet" in content


@pytest.mark.parametrize("wrong", [{"limit": 0}, {"every": 0}])
def test_odd_numbers_are_refused(wrong: dict[str, Any], benchmark: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="at least 1"):
        editgauge.Monitor(benchmark, out=tmp_path, **wrong)


def test_an_unknown_logger_is_refused(benchmark: Path, tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="tensorbord"):
        editgauge.Monitor(benchmark, out=tmp_path / "eval", log_to=["tensorbord"])


def test_mlflow_gets_names_that_it_accepts_and_the_sheet(
    benchmark: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("mlflow", reason="NOT TESTED: needs pip install mlflow-skinny")
    import mlflow

    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri((tmp_path / "mlruns").as_uri())
    with mlflow.start_run() as active:
        with editgauge.Monitor(benchmark, out=tmp_path / "eval", limit=1, protocol=["preservation"]) as monitor:
            monitor.evaluate(7, lambda image, instruction: image)
        for logger in monitor._loggers:
            if type(logger).__name__ == "MLflow":
                logger.log(
                    8, {"editgauge/editval/context[dinov2-s14]": 0.5}, monitor.folder / "step-00000007/sheet.png"
                )
    stored = mlflow.MlflowClient()
    assert [
        list_artifact.step
        for list_artifact in stored.get_metric_history(active.info.run_id, "editgauge/preservation/ssim")
    ] == [7]
    assert stored.get_run(active.info.run_id).data.metrics["editgauge/editval/context:dinov2-s14"] == 0.5
    assert [
        list_artifact.path for list_artifact in stored.list_artifacts(active.info.run_id, "editgauge/step-00000007")
    ] == ["editgauge/step-00000007/sheet.png"]


def test_weights_and_biases_gets_numbers_and_the_sheet(
    benchmark: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("wandb", reason="NOT TESTED: needs pip install wandb")
    import wandb

    run = wandb.init(project="test", mode="offline", dir=str(tmp_path))
    with editgauge.Monitor(benchmark, out=tmp_path / "eval", limit=1, protocol=["preservation"]) as monitor:
        monitor.evaluate(7, lambda image, instruction: image)
    summary = dict(run.summary)
    run.finish()
    assert summary["editgauge/preservation/ssim"] == pytest.approx(1)
    assert summary["editgauge/step"] == 7
    assert "editgauge/sheet" in summary
