"""Judges of one run side by side, behind a real endpoint; their panel is verified without one."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from editgauge import RunDifference, diff, run, verify
from editgauge.audits.side_by_side import side_by_side
from editgauge.errors import BadInputError
from editgauge.results import Run
from tests.endpoint import Served, say

pytestmark = pytest.mark.slow


def _always(said: str, text: str, seen: int) -> str:
    return said


def test_judges_of_a_run_are_compared(served: Served, make_benchmark: Any, make_outcomes: Any, tmp_path: Path) -> None:
    def plan(text: str, seen: int) -> Any:
        model = served.requests[-1]["model"]
        if "could not read" in text:
            return say("unclear", model=model)
        if model == "mute":
            return say("I cannot see any image.", model=model)
        return say(
            json.dumps({"following": 4, "identity": 6 + seen % 2, "quality": 8 - 2 * (model == "b")}), model=model
        )

    served.plan = plan
    benchmark = make_benchmark(tmp_path / "benchmark", 3)
    outcomes = make_outcomes(benchmark, tmp_path / "mine", 0)
    judge = [f"openai:{name}@{served.url}" for name in ("a", "b", "mute")]
    out = tmp_path / "run"
    run(benchmark, outcomes={"mine": outcomes}, protocol=["rubric:complex-edit[repeat=2]"], out=out,
        judge=judge, panel="mean", quorum=2,
        temperature=0.5, judge_seed=7, processes=1, quiet=True)  # fmt: skip
    assert {(each["temperature"], each["seed"]) for each in served.requests} == {(0.5, 7), (0.5, 8)}
    found = side_by_side(out)
    quality = next(each for each in found.scores if each.score == "quality")
    rows = {row.judge: row for row in quality.rows}
    assert set(rows) == {"a", "b", "mute", "mean2(a+b+mute)"}
    assert [rows[name].coverage.value for name in ("a", "mute", "mean2(a+b+mute)")] == [1.0, 0.0, 1.0]
    means = [row.mean.value for row in rows.values() if row.mean]
    assert sorted(means) == [6.0, 7.0, 8.0]
    assert quality.most_apart[0].endswith("2 apart")
    opened = Run.open(out)
    said = [text for key, _, text in opened.iter_evidence(set(opened.edits)) if "mean2" in key.protocol]
    assert any("(a: quality 8; b: quality 6)" in text for text in said)  # a panel has no words of its own
    assert {each.judge for each in found.retests} == {"a", "b"}
    served.shutdown()
    served.server_close()
    checked = verify(out, recompute=3, benchmark=benchmark, quiet=True)
    assert not checked.problems


def test_a_run_without_judges_has_none_to_compare(make_record: Any, make_run: Any) -> None:
    with pytest.raises(BadInputError, match="No judge was asked"):
        side_by_side(make_run(make_record("a", {"gain": 1.0, "loss": 0.0})))


def test_a_difference_of_two_runs_is_laid_at_the_judges_door(
    served: Served, make_benchmark: Any, make_outcomes: Any, tmp_path: Path
) -> None:
    benchmark = make_benchmark(tmp_path / "benchmark", 2)
    outcomes = make_outcomes(benchmark, tmp_path / "mine", 0)
    for number, day in enumerate(("april", "june")):
        said = json.dumps({"following": 4 + number, "identity": 6, "quality": 8})
        served.plan = partial(_always, said)
        judge = [f"openai:tiny-judge@{served.url}"]
        run(
            benchmark,
            outcomes={"mine": outcomes},
            protocol=["rubric:complex-edit"],
            out=tmp_path / day,
            judge=judge,
            processes=1,
            quiet=True,
        )
    difference = diff(tmp_path / "april", tmp_path / "june")
    assert isinstance(difference, RunDifference)
    shifts = {shift.name: shift for shift in difference.shifts}
    causes = shifts["following"].causes
    assert causes is not None
    assert causes.change == 1.0
    assert set(causes.parts) == {"judge"}


def test_a_run_with_ones_own_wording_says_so_and_is_verified_without_an_endpoint(
    served: Served, make_benchmark: Any, make_outcomes: Any, tmp_path: Path
) -> None:
    prompts = tmp_path / "authors.yaml"
    prompts.write_text("rubric_complex_edit_alignment: 'Words of the authors: {instruction}'\n")
    served.plan = lambda text, seen: json.dumps({"following": 4, "identity": 6, "quality": 8})
    benchmark = make_benchmark(tmp_path / "benchmark", 2)
    outcomes = make_outcomes(benchmark, tmp_path / "mine", 0)
    judge = [f"openai:tiny-judge@{served.url}"]
    protocols = ["rubric:complex-edit"]
    out = tmp_path / "run"
    made = run(benchmark, outcomes={"mine": outcomes}, protocol=protocols, out=out, judge=judge, prompts=prompts,
               processes=1, quiet=True)  # fmt: skip
    assert list(made.manifest.protocols) == ["rubric:complex-edit[tiny-judge,wording=authors]"]
    assert any("Words of the authors" in text for text in served.seen)
    served.shutdown()
    served.server_close()
    prompts.unlink()
    checked = verify(out, recompute=2, benchmark=benchmark, quiet=True)
    assert not checked.problems
    assert not checked.recomputed.unchecked
