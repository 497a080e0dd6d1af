"""The gate fails when a run is surely worse than its baseline, and only then."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path

import numpy as np
import pytest
import yaml
from typer.testing import CliRunner

from editgauge._cli import app
from editgauge.analysis.gate import GateResult, assert_edit_not_worse, gate
from editgauge.errors import BadInputError
from editgauge.results import JournalEntry

MakeRun = Callable[..., Path]
Make = Callable[..., JournalEntry]
Scored = Callable[..., Path]

pytest_plugins = ["pytester"]
PLUGIN = "editgauge._cli.pytest_plugin"
ROOT = Path(__file__).parents[2]


@pytest.fixture
def scored(make_run: MakeRun, make_record: Make) -> Scored:
    """A run of 30 source images whose gain is moved by so much."""

    def make(name: str, drop: float = 0.0, edits: int = 30, **manifest: object) -> Path:
        gains = np.random.default_rng(0).uniform(0.4, 0.9, size=30)[:edits]
        noise = np.random.default_rng(len(name)).normal(0, 0.02, size=edits)
        values = np.clip(gains - drop + noise, 0, 1)
        return make_run(
            *(
                make_record(f"e{i}", {"gain": float(value), "loss": float(1 - value)}, place=i, source=f"{i}.png")
                for i, value in enumerate(values)
            ),
            name=name,
            **manifest,
        )

    return make


def checked(gated: GateResult) -> dict[str, str]:
    return {check.spec.name: check.judged for check in gated.checks}


def test_a_surely_worse_run_fails_in_either_direction_of_a_score(scored: Scored, tmp_path: Path) -> None:
    summary = tmp_path / "gate.md"
    gated = gate(
        scored("new", drop=0.2), against=scored("base"), score=["gain", "loss"], max_drop=0.05, summary=summary
    )
    assert checked(gated) == {"gain": "worse", "loss": "worse"}
    assert not gated.passed
    assert "failed" in summary.read_text()
    assert "| toy/gain | mine |" in summary.read_text()


def test_a_drop_within_the_margin_or_none_passes(scored: Scored) -> None:
    base = scored("base")
    assert checked(gate(base, against=base, score=["gain"], max_drop=0)) == {"gain": "not worse"}, "nothing changed"
    assert checked(gate(scored("alike"), against=base, score=["gain"], max_drop=0.05)) == {"gain": "not worse"}
    assert checked(gate(scored("little", drop=0.05), against=base, score=["gain"], max_drop=0.1)) == {
        "gain": "not worse"
    }
    assert checked(gate(scored("better", drop=-0.1), against=base, score=["gain"], max_drop=0)) == {"gain": "not worse"}


def test_what_cannot_be_said_does_not_fail(scored: Scored) -> None:
    few = gate(scored("new", drop=0.3, edits=8), against=scored("base", edits=8), score=["gain"], max_drop=0.05)
    assert checked(few) == {"gain": "undecided"}
    assert few.passed
    assert "passed, but 1 of 1 check undecided" in few.markdown
    assert "fewer than 10 source images" in few.markdown
    near = gate(scored("near", drop=0.05), against=scored("based"), score=["gain"], max_drop=0.05)
    assert checked(near) == {"gain": "undecided"}


def test_edits_that_lost_their_score_are_counted(make_run: MakeRun, make_record: Make) -> None:
    def made(name: str, second: float | str) -> Path:
        scores: dict[str, float | str] = {"gain": second}
        return make_run(make_record("a", {"gain": 0.5}), make_record("b", scores, place=1), name=name)

    gated = gate(made("new", "crashed"), against=made("base", 0.5), score=["gain"], max_drop=0.1)
    assert [check.lost for check in gated.checks] == [1]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"editgauge": "0.0.1"}, "version of editgauge"),
        ({"models": {"detector": {"name": "owl", "revision": "2"}}, "roles": {"toy": ["detector"]}}, "models"),
        (
            {"models": {"detector": {"name": "owl", "revision": "1", "sha256": "f"}}, "roles": {"toy": ["detector"]}},
            "the weights or settings of the models changed: detector owl 1",
        ),
        ({"benchmark": "others"}, "the benchmark changed"),
    ],
)
def test_runs_that_cannot_be_compared_are_refused(scored: Scored, changes: dict[str, object], reason: str) -> None:
    models: dict[str, object] = (
        {"models": {"detector": {"name": "owl", "revision": "1"}}, "roles": {"toy": ["detector"]}}
        if "models" in changes
        else {}
    )
    with pytest.raises(BadInputError) as refused:
        gate(scored("new", **changes), against=scored("base", **models), score=["gain"], max_drop=0.05)
    assert reason in str(refused.value)


def test_unfinished_runs_and_odd_margins_are_refused(scored: Scored) -> None:
    with pytest.raises(BadInputError, match="at least 0"):
        gate(scored("new"), against=scored("base"), max_drop=-1)
    with pytest.raises(BadInputError, match="is not finished"):
        gate(scored("unfinished", finish=False), against=scored("bases"), max_drop=0.1)


def test_the_command_ends_with_1_only_when_worse(scored: Scored) -> None:
    base, bad, good = (str(scored(name, drop=drop)) for name, drop in (("base", 0.0), ("bad", 0.3), ("good", 0.0)))
    options = ["--against", base, "--score", "gain", "--max-drop", "0.05"]
    failed, passed = (CliRunner().invoke(app, ["gate", run, *options]) for run in (bad, good))
    assert failed.exit_code == 1
    assert "worse" in failed.output
    assert passed.exit_code == 0
    assert "not worse" in passed.output


def test_the_assertion_shows_the_summary(scored: Scored) -> None:
    base = scored("base")
    assert assert_edit_not_worse(scored("same"), base, score=["gain"], max_drop=0.05).passed
    with pytest.raises(AssertionError, match="toy/gain"):
        assert_edit_not_worse(scored("worse", drop=0.3), base, score=["gain"], max_drop=0.05)


def test_the_plugin_takes_the_baseline_from_the_command_line(scored: Scored, pytester: pytest.Pytester) -> None:
    base, bad = scored("base"), scored("bad", drop=0.3)
    pytester.makepyfile(f"""
        def test_same(assert_edit_not_worse):
            assert_edit_not_worse({str(base)!r}, score=["gain"], max_drop=0.05)

        def test_worse(assert_edit_not_worse):
            assert_edit_not_worse({str(bad)!r}, score=["gain"], max_drop=0.05)
    """)
    is_installed = any(point.value == PLUGIN for point in entry_points(group="pytest11"))
    plugin = (*(() if is_installed else ("-p", PLUGIN)), "-p", "no:cacheprovider")
    pytester.runpytest_inprocess(*plugin, "--edit-baseline", str(base)).assert_outcomes(passed=1, failed=1)
    pytester.runpytest_inprocess(*plugin).assert_outcomes(skipped=2)


@pytest.mark.parametrize(("status", "summary"), [(0, "passed"), (1, "failed"), (2, "")])
def test_the_action_passes_its_inputs_on_and_ends_as_the_gate_does(tmp_path: Path, status: int, summary: str) -> None:
    """The script of `action.yml`, with a stand-in that writes down how it was called."""
    (step,) = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))["runs"]["steps"]
    program = tmp_path / "bin" / "editgauge"
    program.parent.mkdir()
    writes = f"echo {summary} > gate.md" if summary else "true"
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > called\n{writes}\nexit {status}\n')
    program.chmod(0o755)
    inputs = {"RUN": "my run", "AGAINST": "baseline", "MAX_DROP": "0.05", "SCORE": "edit *", "METHOD": ""}
    assert inputs.keys() == step["env"].keys()
    environment = {**inputs, "PATH": f"{program.parent}:/usr/bin:/bin", "GITHUB_STEP_SUMMARY": str(tmp_path / "page")}
    ended = subprocess.run(["bash", "-e", "-c", step["run"]], cwd=tmp_path, env=environment, check=False)

    expected = ["gate", "my run", "--against", "baseline", "--max-drop", "0.05"]
    assert ended.returncode == status
    assert (tmp_path / "called").read_text().splitlines() == [
        *expected, "--score", "edit", "--score", "*", "--summary", "gate.md",
    ]  # fmt: skip
    assert ((tmp_path / "page").read_text().strip() if summary else "") == summary


@pytest.fixture
def partly_scored(make_run: MakeRun, make_record: Make) -> Scored:
    """A run of 15 source images of which the first `scored` have a score."""

    def make(name: str, scored: int, reason: str = "missing_outcome") -> Path:
        scores: list[float | str] = [0.5 if i < scored else reason for i in range(15)]
        records = [make_record(f"e{i}", {"gain": score}, place=i, source=f"{i}.png") for i, score in enumerate(scores)]
        return make_run(*records, name=name)

    return make


@pytest.mark.parametrize("scored", [0, 1, 14])
def test_missing_outcomes_fail_with_their_own_exit_code(partly_scored: Scored, scored: int) -> None:
    base, run = str(partly_scored("base", 15)), str(partly_scored("new", scored))
    gated = gate(run, against=base, score=["gain"], max_drop=0.1)
    command = ["gate", run, "--against", base, "--score", "gain", "--max-drop", "0.1"]
    failed, allowed = (CliRunner().invoke(app, [*command, *more]) for more in ((), ("--allow-missing", "1")))

    assert checked(gated) == {"gain": "incomplete"}
    assert not gated.passed
    assert [check.missing_share for check in gated.checks] == [pytest.approx((15 - scored) / 15)]
    assert failed.exit_code == gated.exit_code == 3
    assert "incomplete" in failed.output
    assert allowed.exit_code == 0


def test_a_small_share_of_missing_outcomes_passes(partly_scored: Scored) -> None:
    gated = gate(
        partly_scored("new", 14), against=partly_scored("base", 15), score=["gain"], max_drop=0.1, allow_missing=0.07
    )
    assert gated.passed


def test_edits_that_neither_run_can_score_are_not_missing(partly_scored: Scored) -> None:
    run, base = partly_scored("new", 12, "not_detected"), partly_scored("base", 12, "not_detected")
    assert gate(run, against=base, score=["gain"], max_drop=0.1).passed


def test_two_runs_without_any_score_are_incomplete(partly_scored: Scored) -> None:
    run, base = partly_scored("new", 0, "crashed"), partly_scored("base", 0, "crashed")
    gated = gate(run, against=base, score=["gain"], max_drop=0.1)
    assert checked(gated) == {"gain": "incomplete"}
    assert gated.exit_code == 3


def test_a_worse_score_outranks_a_missing_one(make_run: MakeRun, make_record: Make) -> None:
    def made(name: str, value: float, scored: int) -> Path:
        values = [value + 0.01 * (i % 3) for i in range(20)]
        scores: list[float | str] = [score if i < scored else "crashed" for i, score in enumerate(values)]
        records = (make_record(f"e{i}", {"gain": score}, place=i, source=f"{i}.png") for i, score in enumerate(scores))
        return make_run(*records, name=name)

    gated = gate(made("new", 0.2, 15), against=made("base", 0.8, 20), score=["gain"], max_drop=0.05)
    assert checked(gated) == {"gain": "worse"}
    assert gated.exit_code == 1


def test_identical_runs_differ_by_zero_on_the_scale_of_each_score(make_run: MakeRun, make_record: Make) -> None:
    def scored(name: str) -> Path:
        scores = ({"gain": 0.02 + 0.06 * n, "loss": 0.001 * n} for n in range(15))
        records = [make_record(f"e{n}", values, place=n, source=f"{n}.png") for n, values in enumerate(scores)]
        return make_run(*records, name=name)

    checks = gate(scored("new"), against=scored("old"), max_drop=0.5, score=["gain", "loss"]).checks
    pairs = {check.spec.name: check.difference for check in checks}
    for name, spread in (("gain", 0.9), ("loss", 0.015)):
        pair = pairs[name]
        assert pair is not None
        assert pair.value == 0
        assert pair.high is not None
        assert 0 < pair.high < spread / 3
    assert {check.judged for check in checks} == {"not worse"}
