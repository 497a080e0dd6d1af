"""Options from a file, the dry run, and layouts on the command line."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def output(tmp_path: Path, make_benchmark: Callable[..., Path], make_outcomes: Callable[..., Path]) -> dict[str, Any]:
    benchmark = make_benchmark(tmp_path / "bench", edits=4)
    make_outcomes(benchmark, tmp_path / "results" / "one")
    make_outcomes(benchmark, tmp_path / "results" / "two", 2)
    return {
        "benchmark": str(benchmark),
        "outcomes": {"one": str(tmp_path / "results" / "one")},
        "out": str(tmp_path / "run"),
        "protocol": ["preservation"],
    }


def write(tmp_path: Path, content: object) -> Path:
    file = tmp_path / "options.yaml"
    file.write_text(yaml.safe_dump(content), encoding="utf-8")
    return file


def plan(ended: subprocess.CompletedProcess[str]) -> Any:
    return yaml.safe_load(ended.stdout)


def test_a_file_gives_every_option_and_the_command_line_overrides(
    tmp_path: Path, output: dict[str, Any], editgauge: Command
) -> None:
    file = write(tmp_path, {"run": {**output, "seed": 7}})
    assert plan(editgauge("run", "--options", file, "--dry-run"))["seed"] == 7
    changed = plan(
        editgauge("run", "--options", file, "--seed", 8, f"--outcomes=two={tmp_path}/results/two", "--dry-run")
    )
    assert changed["seed"] == 8
    assert list(changed["outcomes"]) == ["two"], "the command line replaces the file's methods"


def test_a_dry_run_writes_nothing(tmp_path: Path, output: dict[str, Any], editgauge: Command) -> None:
    results = plan(editgauge("run", "--options", write(tmp_path, {"run": output}), "--dry-run"))
    assert results["then"] == "score 4 outcomes into a new run"
    assert not Path(output["out"]).exists()


def test_a_dry_run_says_what_an_earlier_run_means(tmp_path: Path, output: dict[str, Any], editgauge: Command) -> None:
    file = write(tmp_path, {"run": output})
    editgauge("run", "--options", file, "--quiet")
    more = ("--protocol", "preservation", "--protocol", "baselines", "--dry-run")
    assert plan(editgauge("run", "--options", file, *more))["then"] == (
        "continue the run; scored so far: preservation 4, baselines 0 of 4 outcomes"
    )
    anew = plan(editgauge("run", "--options", file, "--dry-run", "--seed", 1))["then"]
    assert anew == (
        "start over, because the seed changed from 0 to 1; "
        f"the earlier scores (preservation) would be kept in {output['out']}/superseded"
    )


def test_a_model_that_nobody_asks_is_told_and_left_out(
    tmp_path: Path, output: dict[str, Any], editgauge: Command
) -> None:
    """It would be taken for the one that another protocol was scored with, and start the run again."""
    file = write(tmp_path, {"run": output})
    results = plan(editgauge("run", "--options", file, "--dry-run", "--detector", "ssd-mobilenet-v2"))
    assert results["models"] == {}
    assert results["remarks"] == ["detector: ssd-mobilenet-v2 has no effect: no protocol asks a detector."]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ({"run": {"outcome": {}}}, "did you mean 'outcomes'"),
        ({"rum": {}}, "'rum' is no verb"),
        ({"run": ["sample"]}, "must hold options by name"),
        (["run"], "options by verb"),
        ({"build": {"editvall": {}}}, "'build editvall' is no verb"),
        ({"build": ["probes"]}, "'build' must hold verbs by name"),
        ({"build": {"probes": {"limits": 1}}}, "build probes: no option 'limits'; did you mean 'limit'?"),
    ],
)
def test_a_faulty_file_is_told_with_what_to_do(tmp_path: Path, content: object, text: str, editgauge: Command) -> None:
    assert text in editgauge("run", "--options", write(tmp_path, content), code=2).stderr


def test_the_verbs_of_a_group_take_their_options_too(tmp_path: Path, editgauge: Command) -> None:
    file = write(tmp_path, {"data": {"info": {"name": "photos"}}})
    by_file = editgauge("data", "info", "--options", file).stdout
    assert "photos" in by_file
    assert by_file == editgauge("data", "info", "photos").stdout


def test_a_missing_file_is_told(tmp_path: Path, editgauge: Command) -> None:
    assert "cannot be read" in editgauge("run", "--options", tmp_path / "none.yaml", code=2).stderr


def test_all_methods_of_a_folder_at_once(tmp_path: Path, output: dict[str, Any], editgauge: Command) -> None:
    words = ("run", output["benchmark"], "--outcomes", f"{tmp_path}/results/*", "--dry-run")
    assert list(plan(editgauge(*words))["outcomes"]) == ["one", "two"]


def test_a_layout_is_said_and_can_be_forced(tmp_path: Path, output: dict[str, Any], editgauge: Command) -> None:
    words = ("run", output["benchmark"], "--outcomes", f"one={tmp_path}/results/one", "--dry-run")
    assert "found 4 of 4 outcomes, plain layout" in plan(editgauge(*words))["outcomes"]["one"]
    assert "editval" in editgauge(*words, "--layout", "editvall", code=2).stderr
