"""`editgauge cache`: what is remembered, and forgetting it."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from editgauge._cli import groups
from editgauge.models._cache import Store


@pytest.fixture
def answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.setenv("EDITGAUGE_CACHE", str(tmp_path))
    monkeypatch.setenv("EDITGAUGE_CACHE_BYTES", "2e9")
    store = Store(tmp_path / "answers", 10**9)
    for number in range(3):
        store.put(f"{number:064x}", "google/owlvit" if number else "minilm", float(number))
    return store


def said(*words: str) -> str:
    ended = CliRunner().invoke(groups["cache"], words)
    assert ended.exit_code == 0, ended.output
    return ended.output


def test_info_says_how_much_of_what_and_where(answers: Store, tmp_path: Path) -> None:
    assert said("info").splitlines() == [
        "3 answers, 0.0 MB of at most 2.0 GB",
        "  google/owlvit: 2 answers, 0.0 MB",
        "  minilm: 1 answer, 0.0 MB",
        f"  in {tmp_path / 'answers'}",
    ]


def test_clear_of_one_model_leaves_the_others(answers: Store) -> None:
    assert said("clear", "--model", "google/owlvit").startswith("2 answers deleted")
    assert [entry.model for entry in answers.entries()] == ["minilm"]


def test_clear_of_old_answers_leaves_the_new(answers: Store) -> None:
    assert said("clear", "--older-than", "1").startswith("0 answers deleted")
    assert said("clear").startswith("3 answers deleted")
    assert list(answers.entries()) == []
