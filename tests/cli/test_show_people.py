"""`accept` as users type it."""

from __future__ import annotations

import json
import subprocess
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
    for position in range(80):
        gain = float(random.uniform())
        records.append(
            make_record(f"e{position}", {"gain": gain, "loss": 0.1}, place=position, source=f"{position}.png")
        )
        lines += [f"e{position},mine,{1 + 4 * gain:.1f}"] if position % 2 else []
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
    output = json.loads(CliRunner().invoke(app, ["accept", *rated, "--json"]).output)
    assert output["passing"]["mine"]["scored"] == 80
    assert output["threshold"]["alpha"] == 0.1
    assert 0 < output["measured"]["value"] < 0.2


def test_too_few_are_told(rated: list[str]) -> None:
    ended = CliRunner().invoke(app, ["accept", *rated, "--share", "0.01"])
    assert "No threshold: at most 0.01 needs rejected edits of 99 source images" in ended.output
    mistaken = CliRunner().invoke(app, ["accept", *rated, "--share", "3"])
    assert isinstance(mistaken.exception, BadInputError)


Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(make_run: Callable[..., Path], make_record: Callable[..., JournalEntry]) -> Path:
    random = np.random.default_rng(0)
    records, gains = [], {}
    for index in range(80):
        for method in ("imagic[eta=0.8]", "theirs"):
            gain = gains[f"e{index}", method] = float(random.uniform())
            records.append(make_record(f"e{index}", {"gain": gain}, method=method, place=index, source=f"{index // 2}"))
    folder: Path = make_run(*records)
    lines = [f"e{index},theirs,{1 + 4 * gains[f'e{index}', 'theirs']:.1f}" for index in range(0, 80, 4)]
    (folder / "ratings.csv").write_text("\n".join(["edit,method,value", *lines]))
    return folder


def fits(text: str) -> bool:
    return max(map(len, text.splitlines())) <= 100


def test_estimate_shows_both_means_and_what_the_scores_bring(editgauge: Command, run: Path) -> None:
    output = editgauge("estimate", str(run), "--ratings", str(run / "ratings.csv"), "--score", "gain").stdout

    row = next(line.split() for line in output.splitlines() if line.startswith("theirs"))
    assert row[1:3] == ["20", "60"]
    assert 40 <= int(row[-2].rstrip("%")) <= 75
    assert "imagic[eta=0.8]: no outcome has both a rating and this score." in output
    assert fits(output)


def test_estimate_as_json(editgauge: Command, run: Path) -> None:
    words = ("--ratings", run / "ratings.csv", "--score", "gain", "--method", "theirs", "--json")
    (output,) = json.loads(editgauge("estimate", run, *words).stdout)
    assert output["method"] == "theirs"
    assert output["mean"]["low"] < output["mean"]["value"] < output["mean"]["high"]


def test_estimate_tells_why_a_score_does_not_count(editgauge: Command, run: Path) -> None:
    (run / "few.csv").write_text("edit,method,value\ne0,theirs,1\ne2,theirs,2\n")
    words = ("--ratings", run / "few.csv", "--score", "gain", "--method", "theirs")
    output = editgauge("estimate", run, *words).stdout

    assert "theirs: fewer than 10 source images are rated" in output
    assert "imagic" not in output


def test_power_shows_a_row_for_each_number_of_edits_per_source(editgauge: Command, run: Path) -> None:
    words = ("power", str(run), "--detect", "0.1", "--score", "gain")
    output = editgauge(*words, "--methods", "imagic[eta=0.8]", "theirs").stdout

    assert "toy/gain, imagic[eta=0.8] against theirs: a difference of 0.1, power 80%" in output
    rows = [line.split() for line in output.splitlines() if line.strip()[:1].isdigit()]
    assert [row[0] for row in rows] == ["1", "2", "4", "8"]
    assert all(int(row[2]) == int(row[0]) * int(row[1]) for row in rows)
    assert fits(output)
    means = editgauge(*words, "--edits-per-source", "3").stdout
    assert "mean of theirs: known to ± 0.1" in means
    assert fits(means)


def test_many_planned_comparisons_need_more(editgauge: Command, run: Path) -> None:
    words = ("power", str(run), "--detect", "0.1", "--score", "gain", "--methods", "imagic[eta=0.8]", "theirs")
    one, many = (editgauge(*words, "--comparisons", str(number)).stdout for number in (1, 12))
    assert "one of 12 comparisons" in " ".join(many.split())
    needed = [
        int(next(line.split()[1] for line in output.splitlines() if line.split()[:1] == ["1"]))
        for output in (one, many)
    ]
    assert needed[1] > 1.5 * needed[0]
    assert "--comparisons needs two --methods" in editgauge(*words[:6], "--comparisons", "3", code=2).stderr


def test_a_mistake_is_one_message(editgauge: Command, run: Path) -> None:
    assert "choose one with --score" in editgauge("power", str(run), "--detect", "0.1", code=2).stderr
    missing = editgauge("estimate", str(run), "--ratings", str(run / "none.csv"), "--score", "gain", code=2)
    assert "none.csv" in missing.stderr
    assert missing.stdout == ""


def test_power_without_data_fails(
    editgauge: Command, make_run: Callable[..., Path], make_record: Callable[..., JournalEntry]
) -> None:
    refused = [
        make_record(f"e{position}", {"gain": "refused"}, place=position, source=f"{position}") for position in range(12)
    ]
    ended = editgauge("power", make_run(*refused), "--detect", "0.1", "--score", "gain", code=1)
    assert not any(line.strip()[:1].isdigit() for line in ended.stdout.splitlines()), "a sample size from nothing"
    assert "nothing can be planned" in ended.stdout
    assert "cautious" not in ended.stdout
