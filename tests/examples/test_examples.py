"""Every example runs as its docstring says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.endpoint import Served

EXAMPLES = Path(__file__).parents[2] / "examples"


def run_example(name: str, *arguments: object) -> str:
    command = [sys.executable, str(EXAMPLES / name), *map(str, arguments)]
    process = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    assert process.returncode == 0, process.stderr
    return process.stdout


def test_the_readme_lists_every_example() -> None:
    listed = (EXAMPLES / "README.md").read_text("utf-8")
    assert {path.name for path in EXAMPLES.glob("*.py") if f"({path.name})" not in listed} == set()


def test_score_pair() -> None:
    assert "Done:" in run_example("score_pair.py")


@pytest.mark.slow
def test_evaluate_folder(tmp_path: Path) -> None:
    assert "index.html" in run_example("evaluate_folder.py", tmp_path)
    assert (tmp_path / "report" / "index.html").exists()


def test_compare_models(tmp_path: Path) -> None:
    assert "classical" in run_example("compare_models.py", tmp_path)


def test_judge_with_rubric(served: Served) -> None:
    served.plan = lambda text, count: '{"same_product": 5, "as_requested": 3}'
    assert "3.000" in run_example("judge_with_rubric.py", f"openai:tiny-judge@{served.url}")


def test_protocol_plugin() -> None:
    assert "mean-color/distance" in run_example("protocol_plugin.py")
