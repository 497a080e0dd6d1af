"""What a run will take: told before, and true afterwards."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from editgauge._cli import app
from editgauge._util.images import write_png
from editgauge.benchmarks import open_benchmark
from editgauge.engine._trial import ModelSpeeds
from editgauge.engine.plan import Forecast, _sample_size, plan
from editgauge.engine.run import run
from editgauge.errors import BadInputError
from editgauge.results import Run, RunWriter
from tests.endpoint import MODEL, Served

Make = Callable[..., Path]
EMBEDDER = {"image_embedder": "mean-color"}


@pytest.fixture
def home(tmp_path: Path, make_benchmark: Make, make_outcomes: Make, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A benchmark of twelve edits of six photographs, the outcomes of one method, and a cache of our own."""
    make_benchmark(tmp_path / "photos", edits=12, size=32)
    make_outcomes(tmp_path / "photos", tmp_path / "mine")
    monkeypatch.setenv("EDITGAUGE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("EDITGAUGE_CACHE_BYTES", "1e9")
    return tmp_path


def foresee(home: Path, **options: Any) -> Forecast:
    settings = {"protocol": ["plugin-protocol"], "model": EMBEDDER, "out": home / "run", "sources": 6, **options}
    return plan(home / "photos", outcomes={"mine": home / "mine"}, **settings)


def score(home: Path, **options: Any) -> None:
    settings: dict[str, Any] = {"protocol": ["plugin-protocol"], "model": EMBEDDER, "quiet": True, "processes": 1}
    run(home / "photos", outcomes={"mine": home / "mine"}, **{"out": home / "run", **settings, **options})


@pytest.mark.slow
def test_every_picture_is_looked_at_once(home: Path, plugged_in: Path) -> None:
    """Six sources, each shared by two edits, whose outcomes are the same picture."""
    found = foresee(home)
    assert [(work.model, work.question, work.forwards) for work in found.models] == [("mean-color", "embed", 12)]
    assert (found.outcomes, found.done, found.source_images, found.sampled) == (12, 0, 6, 12)
    assert found.models[0].seconds_each > 0
    assert found.seconds > 0
    assert found.cpu_seconds >= found.own_seconds > 0
    assert found.seconds > found.start_seconds > 0
    assert 0 < found.free_cores <= found.cores
    assert found.run_bytes > 0
    assert found.cache_bytes > 0


def test_a_few_sources_tell_the_rest(home: Path, plugged_in: Path) -> None:
    found = foresee(home, sources=2)
    assert found.sampled == 4
    assert found.models[0].forwards == 12


def test_by_default_a_tenth_of_the_outcomes_is_scored(home: Path, plugged_in: Path) -> None:
    """A plan must cost a small fraction of the run, also of a small one: one of twelve here."""
    assert foresee(home, sources=None).sampled == 1


def test_a_sample_has_whole_sources() -> None:
    """Outcomes of one source share the work on it, so one outcome of each source would overestimate that work."""
    assert _sample_size(Counter({f"source-{number}": 4 for number in range(20)}), None) == (2, 8)
    assert _sample_size(Counter({f"source-{number}": 1 for number in range(1000)}), None) == (6, 8)
    assert _sample_size(Counter({"source": 8}), None) == (1, 1)


@pytest.mark.slow
def test_a_part_of_the_work_is_told_as_run_takes_it(home: Path, plugged_in: Path) -> None:
    assert foresee(home, limit=8).outcomes == 8
    parts = [foresee(home, shard=f"{number}/2", limit=8).outcomes for number in (1, 2)]
    assert sum(parts) == 8
    assert all(parts)


@pytest.mark.slow
def test_it_changes_nothing(home: Path, plugged_in: Path) -> None:
    """Neither a run folder is made, nor an answer remembered that would spoil the next plan."""
    assert foresee(home).models[0].forwards == foresee(home).models[0].forwards
    assert not (home / "run").exists()
    assert not list((home / "cache").rglob("answers/*/*"))


@pytest.mark.slow
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
    assert found.sampled == 0, "nothing is scored to tell that nothing is left"


@pytest.mark.slow
def test_it_is_sampled_what_is_left(home: Path, plugged_in: Path, make_outcomes: Make) -> None:
    """What a method that is done was asked before says nothing about one that is new."""
    score(home)
    make_outcomes(home / "photos", home / "theirs", 3)
    both = {"mine": home / "mine", "theirs": home / "theirs"}
    found = plan(
        home / "photos", outcomes=both, protocol=["plugin-protocol"], out=home / "run", model=EMBEDDER, sources=6
    )
    assert (found.outcomes, found.done, found.sampled) == (12, 12, 12)
    assert [work.forwards for work in found.models] == [6], "the six new pictures; sources are remembered"


@pytest.mark.slow
def test_of_a_run_that_was_stopped_the_rest_is_told(home: Path, plugged_in: Path) -> None:
    score(home)
    with RunWriter(home / "run", Run.open(home / "run").manifest, b"") as writer:
        writer.retire({key for key in writer.iter_keys() if key.edit >= "edit-008"})
    write_png(np.zeros((32, 32, 3), np.uint8), home / "mine" / "edit-000.png")
    found = foresee(home)
    assert (found.outcomes, found.done, found.source_images) == (5, 7, 3), "a picture changed, too"


@pytest.mark.slow
def test_a_further_protocol_takes_only_its_own_time(home: Path, plugged_in: Path) -> None:
    score(home, protocol=["preservation"])
    added = foresee(home, protocol=["preservation", "plugin-protocol"])
    alone = foresee(home, out=home / "another-run")
    assert (added.outcomes, added.done) == (12, 0)
    assert added.run_bytes == alone.run_bytes


@pytest.mark.slow
def test_the_least_that_was_measured_is_kept(home: Path, plugged_in: Path) -> None:
    first = foresee(home).models[0].seconds_each
    kept = json.loads((home / "cache" / "calibration.json").read_text())
    ((key, seconds),) = kept.items()
    assert key.startswith("embed by mean-color 1 ")
    assert key.endswith(" on cpu")
    assert seconds == first
    (home / "cache" / "calibration.json").write_text(json.dumps({key: 1e-12}))
    assert foresee(home).models[0].seconds_each == 1e-12


@pytest.mark.parametrize("content", ["", "[]", '{"a": "b"}', '{"a": [1, 2]}', "\x00"])
def test_a_damaged_calibration_is_measured_anew(content: str, tmp_path: Path) -> None:
    (tmp_path / "calibration.json").write_text(content)
    ModelSpeeds(tmp_path / "calibration.json").add([])
    assert json.loads((tmp_path / "calibration.json").read_text()) == {}


def test_nothing_to_tell_from(home: Path, plugged_in: Path) -> None:
    (home / "list.jsonl").write_text(json.dumps({"id": "edit-000", "absence": "refused"}) + "\n")
    with pytest.raises(BadInputError, match="No outcome has an image"):
        plan(home / "photos", outcomes={"mine": home / "list.jsonl"}, out=home / "run")


def test_the_command_line_tells_the_same(home: Path, plugged_in: Path) -> None:
    words = [str(home / "photos"), "--outcomes", f"mine={home / 'mine'}", "--protocol", "plugin-protocol"]
    words += ["--model", "image_embedder=mean-color", "--out", str(home / "run"), "--sources", "6"]
    told = CliRunner().invoke(app, ["plan", *words])
    assert told.exit_code == 0
    assert "12 of 6 source images" in told.stdout
    as_json = json.loads(CliRunner().invoke(app, ["plan", *words, "--json"]).stdout)
    assert as_json["models"][0]["forwards"] == 12


@pytest.mark.parametrize("options", [{}, {"seed": 7}, {"limit": 8}, {"shard": "1/2"}])
@pytest.mark.slow
def test_what_is_left_of_a_run_is_told_by_its_folder(home: Path, plugged_in: Path, options: dict[str, Any]) -> None:
    """With the seed, the limit and the shard it was made with: another would start it again."""
    score(home, **options)
    found = plan(home / "photos", out=home / "run")
    assert (found.outcomes, found.done) == (0, Run.open(home / "run").planned)


@pytest.mark.slow
def test_a_run_on_a_benchmark_that_has_a_name_is_enough(home: Path, plugged_in: Path) -> None:
    (home / "theirs").mkdir()
    for edit in open_benchmark("plugin-benchmark").edits:
        shutil.copy(edit.source.path, home / "theirs" / f"{edit.id}{edit.source.path.suffix}")
    run(
        "plugin-benchmark",
        protocol=["preservation"],
        outcomes={"theirs": home / "theirs"},
        out=home / "run",
        quiet=True,
        processes=1,
    )
    with RunWriter(home / "run", Run.open(home / "run").manifest, b"") as writer:
        writer.retire(set(writer.iter_keys()))
    found = plan(home / "run")
    assert (found.benchmark, found.outcomes, found.done) == ("plugin-benchmark", 3, 0)


def test_a_run_remembers_where_its_benchmark_is_and_asks_when_it_moved(home: Path, plugged_in: Path) -> None:
    score(home)
    assert plan(home / "run").outcomes == 0
    place = Path(Run.open(home / "run").manifest.locations["benchmark"])
    moved = home / "elsewhere" / place.name
    moved.parent.mkdir()
    place.rename(moved)
    with pytest.raises(BadInputError, match=r"was run on '.*photos'.*`out=.*run"):
        plan(home / "run")
    words: dict[str, Any] = {"protocol": ["plugin-protocol"], "model": EMBEDDER, "out": home / "run"}
    outcomes = {"mine": home / "mine"}
    assert plan(moved, outcomes=outcomes, **words).outcomes == 12, "sources at another path are scored again"


@pytest.mark.slow
def test_outcomes_without_an_image_take_no_time(home: Path, plugged_in: Path) -> None:
    for number in range(6):
        (home / "mine" / f"edit-{number:03d}.png").unlink()
    found = foresee(home)
    assert (found.outcomes, found.sampled) == (12, 6)
    assert found.models[0].forwards <= 12, "six outcomes and at most six sources"


@pytest.mark.slow
def test_the_time_of_a_judge(home: Path, served: Served) -> None:
    """Stated, or as the calls of the run took; it is not made up where neither is known."""
    judged: dict[str, Any] = {
        "protocol": ["editinspector"],
        "model": {},
        "judge": {"her": f"openai:{MODEL}@{served.url}"},
    }
    assert "seconds" not in foresee(home, **judged).judges["her"]
    stated = foresee(home, **judged, call_seconds=32.0)
    told = stated.judges["her"]
    assert told["seconds"] == pytest.approx(told["calls"] * 32 / told["calls at once"], rel=0.01)
    assert stated.seconds >= told["seconds"]
    assert served.requests == []
    served.plan = lambda text, seen: '{"answer": "yes"}'
    score(home, **judged, limit=6)
    measured = foresee(home, **judged).judges["her"]
    assert measured["seconds a call"] > 0
    assert measured["answered before"] > 0
