"""The whole way there and back, by the command line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from editgauge._cli import groups
from editgauge.studies import Study


def run(*words: object) -> str:
    ended = CliRunner().invoke(groups["study"], [str(word) for word in words], catch_exceptions=False)
    assert ended.exit_code == 0, ended.output
    return ended.output


@pytest.mark.parametrize("tool", ["mturk", "label-studio"])
def test_items_go_there_and_answers_come_back(
    make_study: Callable[..., Study], turk: Any, studio: Any, tool: str, tmp_path: Path
) -> None:
    study = make_study(edits=2, methods=("a", "b"), design="2afc", raters=2)
    out = tmp_path / "out"
    assert "2 lines" in run("export", study.folder, "--form", tool, "--out", out, "--url", "https://lab.example/images")
    platform = (turk if tool == "mturk" else studio)(out)
    for place in (0, 1):
        platform.hand_in(place, "7" if tool == "mturk" else 7, {"better": "left"})
    file = tmp_path / ("results.csv" if tool == "mturk" else "export.json")
    back = platform.results(file) if tool == "mturk" else platform.export(file)
    assert (
        run("import", study.folder, back, "--form", tool).splitlines()[-1].startswith("2 count, 0 are surplus, 0 void")
    )
