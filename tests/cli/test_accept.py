"""`accept` as users type it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from editgauge._cli import app
from editgauge.errors import BadInputError
from editgauge.results import JournalEntry


@pytest.fixture
def rated(make_run: Callable[..., Path], make_record: Callable[..., JournalEntry], tmp_path: Path) -> list[str]:
    random = np.random.default_rng(0)
    records, lines = [], ["edit,method,value"]
    for place in range(80):
        gain = float(random.uniform())
        records.append(make_record(f"e{place}", {"gain": gain, "loss": 0.1}, place=place, source=f"{place}.png"))
        lines += [f"e{place},mine,{1 + 4 * gain:.1f}"] if place % 2 else []
    (tmp_path / "ratings.csv").write_text("\n".join(lines))
    ratings = ["--ratings", str(tmp_path / "ratings.csv")]
    return [str(make_run(*records)), *ratings, "--level", "4", "--score", "gain"]


def test_threshold_promise_and_what_passes(rated: list[str], tmp_path: Path) -> None:
    ended = CliRunner().invoke(app, ["accept", *rated, "--plot", str(tmp_path / "curve.svg")])
    assert ended.exit_code == 0
    assert max(map(len, ended.output.splitlines())) <= 100
    assert "An edit passes above 0." in ended.output
    assert "Guarantee: of what people reject, at most 10% passes" in ended.output
    assert "Measured, leaving out one source image at a time: 0." in ended.output
    row = next(line.split() for line in ended.output.splitlines() if line.startswith("mine"))
    assert row[1] == "80"
    assert 10 < int(row[2]) < 50
    assert (tmp_path / "curve.svg").read_text("utf-8").startswith("<svg ")


def test_as_json(rated: list[str]) -> None:
    told = json.loads(CliRunner().invoke(app, ["accept", *rated, "--json"]).output)
    assert told["passing"]["mine"]["scored"] == 80
    assert told["threshold"]["alpha"] == 0.1
    assert 0 < told["measured"]["value"] < 0.2


def test_too_few_are_told(rated: list[str]) -> None:
    ended = CliRunner().invoke(app, ["accept", *rated, "--share", "0.01"])
    assert "No threshold: at most 0.01 needs rejected edits of 99 source images" in ended.output
    mistaken = CliRunner().invoke(app, ["accept", *rated, "--share", "3"])
    assert isinstance(mistaken.exception, BadInputError)
