"""`editgauge agree`, as users type it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import editgauge as face
from editgauge._cli._show_agreement import PAGE_LEVELS, _show_best_rated
from editgauge.results import JournalEntry
from editgauge.types import ScoreSpec

Command = Callable[..., subprocess.CompletedProcess[str]]
METHODS = ("first-method", "second-method", "third-method")


@pytest.fixture
def run(make_run: Callable[..., Path], make_record: Callable[..., JournalEntry], tmp_path: Path) -> Path:
    """A run of three methods, with ratings and choices beside it."""
    random = np.random.default_rng(0)
    records, ratings, choices = [], ["edit,method,rater,value"], []
    for edit in range(10):
        for index, method in enumerate(METHODS):
            gain = float(random.uniform(0, 0.5) + 0.2 * index)
            scores: dict[str, float | str] = {"gain": gain, "loss": 1 - gain if edit else "crashed"}
            records.append(make_record(f"e{edit}", scores, method=method, place=edit, source=f"{edit}.png"))
            ratings += [f"e{edit},{method},{rater},{gain + random.normal() / 5}" for rater in ("anna", "ben")]
        output = {"edit": f"e{edit}", "first": METHODS[0], "second": METHODS[2], "chosen": "second" if edit else "tie"}
        choices.append(json.dumps(output))
    (tmp_path / "ratings.csv").write_text("\n".join([*ratings, "e99,nobody,anna,1"]) + "\n")
    (tmp_path / "choices.jsonl").write_text("\n".join(choices) + "\n")
    return make_run(*records)


def test_ratings_are_shown_level_by_level_in_a_hundred_columns(editgauge: Command, run: Path, tmp_path: Path) -> None:
    output = editgauge("agree", run, "--verbose", "--ratings", tmp_path / "ratings.csv").stdout
    assert max(map(len, output.splitlines())) <= 100
    header = next(line for line in output.splitlines() if "pooled" in line)
    assert header.split() == ["score", "pooled", "per", "method", "per", "rater", "by", "type", "system"]
    assert output.index("Mean ratings") < output.index("Spearman"), "what people said comes first"
    assert "toy: gain ↑" in output
    assert "toy: loss ↓" in output
    assert "3 outcomes unscored" in output
    assert "lower is better (↓) is negated" in output
    words = " ".join(output.split())
    assert (
        "Ratings: 60 of outcomes of this run; 1 about other outcomes, excluded, such as edit 'e99', method 'nobody'."
        in words
    )


def test_without_verbose_it_is_one_page(editgauge: Command, run: Path, tmp_path: Path) -> None:
    files = ("--ratings", tmp_path / "ratings.csv", "--choices", tmp_path / "choices.jsonl")
    output = editgauge("agree", run, *files).stdout
    lines = output.splitlines()
    assert len(lines) <= 45
    assert max(map(len, lines)) <= 100
    assert "toy: gain ↑" in output
    assert "--verbose" in output


def test_one_score_is_taken_apart(editgauge: Command, run: Path, tmp_path: Path) -> None:
    output = editgauge("agree", run, "--verbose", "--ratings", tmp_path / "ratings.csv", "--score", "gain").stdout
    rows = [line.split() for line in output.splitlines()]
    assert all(any(row[:3] == ["per", "rater", name] for row in rows) for name in ("anna", "ben"))
    assert any(row[:3] == ["by", "type", "color"] for row in rows)
    assert "loss" not in output


def test_choices_are_shown_with_the_best_against_the_others(editgauge: Command, run: Path, tmp_path: Path) -> None:
    output = editgauge("agree", run, "--verbose", "--choices", tmp_path / "choices.jsonl").stdout
    assert max(map(len, output.splitlines())) <= 100
    assert "Ties, excluded: 1." in output
    assert "toy/gain against the other scores, on the choices that both can answer" in output
    assert "rank of each method, by people's choices and by every score" in output
    header = next(line for line in output.splitlines() if "oracle" in line)
    assert header.split()[-2:] == ["oracle", "average"]


def test_everything_that_evaluators_can_be_asked_fits_a_terminal(editgauge: Command, run: Path, tmp_path: Path) -> None:
    verdicts = [
        {"edit": f"e{n}", "first": METHODS[2], "second": other, "chosen": "first", "swapped": side, "rater": "tiny"}
        for n, side in enumerate(["first", "second", None] * 3)
        for other in METHODS[:2]
    ]
    (tmp_path / "judge.jsonl").write_text("".join(json.dumps(verdict) + "\n" for verdict in verdicts))
    roles = f"good={METHODS[2]},preserved={METHODS[1]},modified={METHODS[0]}"
    words = ("--triplets", roles, "--judge-choices", tmp_path / "judge.jsonl", "--rerun", run)
    output = editgauge(
        "agree", run, "--verbose", *words, "--blend", "loss,gain", "--plot", tmp_path / "blend.svg"
    ).stdout
    assert max(map(len, output.splitlines())) <= 100
    assert "judge[tiny]: prefers ↑" in output
    flat = " ".join(output.split())
    assert "Judge tiny: 18 pairs; 0 ties; 6 unanswered, excluded; the same choice in both orders" in flat
    assert "10 triplets. Equal highest scores count as guessing among them would." in flat
    assert "γ x toy/loss + (1 - γ) x toy/gain: agreement along γ" in flat
    assert "over 2 runs: how far scores and their agreement move" in flat
    assert (tmp_path / "blend.svg").read_text("utf-8").startswith("<svg")


def test_metrics_are_chosen_by_pattern(editgauge: Command, run: Path, tmp_path: Path) -> None:
    output = editgauge("agree", run, "--verbose", "--choices", tmp_path / "choices.jsonl", "--metrics", "t?y/g*").stdout
    assert "toy: gain ↑" in output
    assert "loss" not in output


def test_people_are_shown_beside_the_scores(editgauge: Command, run: Path, tmp_path: Path) -> None:
    output = " ".join(editgauge("agree", run, "--verbose", "--ratings", tmp_path / "ratings.csv").stdout.split())
    assert "Mean ratings: first-method 0." in output
    assert "2 raters: a majority on 0.0% of 30 outcomes (30 without); unanimous on 0.0%;" in output
    assert "Krippendorff's alpha (ordinal) 0." in output
    assert "each rater against the others 0." in output


def test_everything_can_be_had_as_json(editgauge: Command, run: Path, tmp_path: Path) -> None:
    words = ("--ratings", tmp_path / "ratings.csv", "--choices", tmp_path / "choices.jsonl", "--json")
    output = json.loads(editgauge("agree", run, *words).stdout)
    results = face.agree(run, ratings=tmp_path / "ratings.csv", choices=tmp_path / "choices.jsonl")
    assert output["ratings"]["unmatched"] == 1
    assert [item["spec"]["name"] for item in output["rated"]] == [item.spec.name for item in results.rated]
    assert (
        output["rated"][0]["levels"]["pooled"]["spearman"]["value"] == results.rated[0].levels["pooled"].spearman.value
    )
    assert (
        output["choice_scores"]["pairs"][0]["oracle"]["value"] >= output["choice_scores"]["scores"][0]["share"]["value"]
    )
    assert output["people"][0]["raters"] == 2


@pytest.mark.parametrize(
    ("words", "output"),
    [
        ([], "give --ratings, --choices, or --triplets"),
        (["--ratings", "broken.csv"], "broken.csv:2: 'value' must be a number, got 'x'"),
    ],
)
def test_a_mistake_is_one_message(editgauge: Command, run: Path, tmp_path: Path, words: list[str], output: str) -> None:
    (tmp_path / "broken.csv").write_text("edit,method,value\ne1,first-method,x\n")
    ended = editgauge("agree", run, "--verbose", *words, cwd=tmp_path, code=2)
    assert output in ended.stderr
    assert ended.stdout == ""


def test_no_number_of_the_page_is_cut_off(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Long names are folded in a hundred columns; intervals and counts stay whole."""
    estimate = SimpleNamespace(value=-0.3123, low=-0.4211, high=-0.1234, n=12345, reason=None)
    levels = dict.fromkeys(PAGE_LEVELS, SimpleNamespace(spearman=estimate))
    spec = ScoreSpec("histogram_correlation_outside", True, (0.0, 1.0))
    score: Any = SimpleNamespace(protocol="preservation-aligned", spec=spec, levels=levels)
    monkeypatch.setenv("COLUMNS", "100")
    _show_best_rated("", [score])
    out = capsys.readouterr().out
    assert out.count("-0.31 -0.42…-0.12") == len(PAGE_LEVELS)
    assert "12345" in out
    assert max(map(len, out.splitlines())) <= 100
