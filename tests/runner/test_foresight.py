"""What a run will take: told before, and true afterwards."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from editgauge.cli import plan as verb
from editgauge.core.errors import BadInput
from editgauge.runner.calibration import Calibration
from editgauge.runner.execute import run
from editgauge.runner.foresight import Foresight, plan

Make = Callable[..., Path]
EMBEDDER = {"image_embedder": "mean-colour"}


@pytest.fixture
def home(tmp_path: Path, make_benchmark: Make, make_outcomes: Make, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A benchmark of twelve edits of six photographs, the outcomes of one method, and a cache of our own."""
    make_benchmark(tmp_path / "photos", edits=12, size=32)
    make_outcomes(tmp_path / "photos", tmp_path / "mine")
    monkeypatch.setenv("EDITGAUGE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("EDITGAUGE_CACHE_BYTES", "1e9")
    return tmp_path


def foresee(home: Path, **options: Any) -> Foresight:
    settings = {"protocol": ["plugin-protocol"], "model": EMBEDDER, "out": home / "run", **options}
    return plan(home / "photos", {"mine": home / "mine"}, **settings)


def score(home: Path) -> None:
    settings: dict[str, Any] = {"protocol": ["plugin-protocol"], "model": EMBEDDER, "quiet": True, "processes": 1}
    run(home / "photos", {"mine": home / "mine"}, out=home / "run", **settings)


def test_every_picture_is_looked_at_once(home: Path, plugged_in: Path) -> None:
    """Six sources, each shared by two edits, whose outcomes are the same picture."""
    found = foresee(home)
    assert [(work.model, work.question, work.forwards) for work in found.models] == [("mean-colour", "embed", 12)]
    assert (found.outcomes, found.done, found.source_images, found.told_from) == (12, 0, 6, 12)
    assert found.models[0].seconds_each > 0
    assert found.seconds > 0
    assert found.own_seconds > 0
    assert found.run_bytes > 0
    assert found.cache_bytes > 0


def test_a_few_sources_tell_the_rest(home: Path, plugged_in: Path) -> None:
    found = foresee(home, sources=2)
    assert found.told_from == 4
    assert found.models[0].forwards == 12


def test_it_changes_nothing(home: Path, plugged_in: Path) -> None:
    """Neither a run folder is made, nor an answer remembered that would spoil the next plan."""
    assert foresee(home).models[0].forwards == foresee(home).models[0].forwards
    assert not (home / "run").exists()
    assert not list((home / "cache").rglob("answers/*/*"))


def test_what_is_remembered_costs_nothing(home: Path, plugged_in: Path) -> None:
    score(home)
    found = foresee(home, out=home / "another-run")
    assert found.models == ()
    assert found.recalled == 12


def test_what_is_done_is_not_counted(home: Path, plugged_in: Path) -> None:
    score(home)
    found = foresee(home)
    assert (found.outcomes, found.done) == (0, 12)
    assert found.seconds == 0


def test_the_least_that_was_measured_is_kept(home: Path, plugged_in: Path) -> None:
    first = foresee(home).models[0].seconds_each
    kept = json.loads((home / "cache" / "calibration.json").read_text())
    ((key, seconds),) = kept.items()
    assert key.startswith("mean-colour 1 ")
    assert key.endswith(" embed on cpu")
    assert seconds == first
    (home / "cache" / "calibration.json").write_text(json.dumps({key: 1e-12}))
    assert foresee(home).models[0].seconds_each == 1e-12


@pytest.mark.parametrize("content", ["", "[]", '{"a": "b"}', '{"a": [1, 2]}', "\x00"])
def test_a_damaged_calibration_is_measured_anew(content: str, tmp_path: Path) -> None:
    (tmp_path / "calibration.json").write_text(content)
    Calibration(tmp_path / "calibration.json").add([])
    assert json.loads((tmp_path / "calibration.json").read_text()) == {}


def test_nothing_to_tell_from(home: Path, plugged_in: Path) -> None:
    (home / "list.jsonl").write_text(json.dumps({"id": "edit-000", "absence": "refused"}) + "\n")
    with pytest.raises(BadInput, match="no outcome with an image"):
        plan(home / "photos", {"mine": home / "list.jsonl"}, out=home / "run")


def test_the_command_line_tells_the_same(home: Path, plugged_in: Path) -> None:
    app = typer.Typer()
    verb.add_to(app)
    words = [str(home / "photos"), "--outcomes", f"mine={home / 'mine'}", "--protocol", "plugin-protocol"]
    words += ["--model", "image_embedder=mean-colour", "--out", str(home / "run")]
    told = CliRunner().invoke(app, words)
    assert told.exit_code == 0
    assert "12 of 6 source images" in told.stdout
    as_json = json.loads(CliRunner().invoke(app, [*words, "--json"]).stdout)
    assert as_json["models"][0]["forwards"] == 12
