"""A run with a profile is the same run, and tells where its time went."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from editgauge._util.profiling import FOLDER, TIMELINE, read_profile
from editgauge.engine.run import run
from editgauge.reports.export import export
from editgauge.reports.report import report
from editgauge.results import Run

Make = Callable[..., Path]
MODEL = {"perceptual_distance": "lpips-alex"}
LPIPS = "LPIPS 0.1 (AlexNet)"
EDITS = 3


def sources(out: Path) -> int:
    """How many source images a run has."""
    return len(set(Run.open(out).scores["source"].to_pylist()))


@pytest.mark.slow
def test_a_run_with_a_profile_is_the_same_run_and_tells_where_its_time_went(
    tmp_path: Path, make_benchmark: Make, make_outcomes: Make
) -> None:
    photos = make_benchmark(tmp_path / "photos", edits=EDITS, size=64)
    mine = {"mine": make_outcomes(photos, tmp_path / "mine")}
    run(photos, protocol=["preservation"], outcomes=mine, out=tmp_path / "plain", model=MODEL, processes=1, quiet=True)
    run(
        photos,
        protocol=["preservation"],
        outcomes=mine,
        out=tmp_path / "timed",
        model=MODEL,
        processes=1,
        timings=True,
        quiet=True,
    )
    assert export(tmp_path / "timed", format="jsonl") == export(tmp_path / "plain", format="jsonl")
    assert read_profile(tmp_path / "plain") is None

    profile = read_profile(tmp_path / "timed")
    assert profile is not None
    spent = {(each.of, each.stage): each for each in profile.spent}
    asked = spent[LPIPS, "queue"].times
    assert EDITS <= asked <= spent[LPIPS, "forward"].times, "source, outcome and comparison are passes of their own"
    assert asked <= spent[LPIPS, "unknown"].times, "two items may wait for one answer"
    assert spent["pictures", "decode"].times == EDITS + sources(tmp_path / "timed"), "each picture once"
    assert spent["preservation", "score"].times > EDITS, "each waits for its model at least once"
    work = (LPIPS, "load"), (LPIPS, "forward"), ("pictures", "decode"), ("preservation", "score")
    assert all(0 < spent[each].seconds < profile.seconds for each in work)
    assert 'class="spent-forward"' in report(tmp_path / "timed", out=tmp_path / "report", quiet=True).read_text()


def test_a_profile_tells_of_the_last_command_that_scored_something(
    tmp_path: Path, make_benchmark: Make, make_outcomes: Make
) -> None:
    photos = make_benchmark(tmp_path / "photos", edits=EDITS, size=16)
    mine = {"mine": make_outcomes(photos, tmp_path / "mine")}
    out = tmp_path / "run"
    run(photos, protocol=["preservation"], outcomes=mine, out=out, timings=True, processes=1, quiet=True)
    before = (out / FOLDER / TIMELINE).read_bytes()
    run(photos, protocol=["preservation"], outcomes=mine, out=out, timings=True, processes=1, quiet=True)
    assert (out / FOLDER / TIMELINE).read_bytes() == before, "nothing was left to do"
    more = mine | {"other": make_outcomes(photos, tmp_path / "other", 1)}
    run(photos, protocol=["preservation"], outcomes=more, out=out, timings=True, processes=1, quiet=True)
    events = json.loads((out / FOLDER / TIMELINE).read_text())["traceEvents"]
    assert len({event["pid"] for event in events}) == 1
    profile = read_profile(out)
    assert profile is not None
    decoded = [each.times for each in profile.spent if each.stage == "decode"]
    assert decoded == [EDITS + sources(out)]
