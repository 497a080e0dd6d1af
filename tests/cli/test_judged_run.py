"""`editgauge run --judge`, as users type it, against an endpoint on a real socket."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.endpoint import MODEL, Reply, Served, say

pytestmark = pytest.mark.slow

Command = Callable[..., subprocess.CompletedProcess[str]]
Make = Callable[..., Path]
OUTCOMES = 4


@pytest.fixture
def home(tmp_path: Path, make_benchmark: Make, make_outcomes: Make) -> Path:
    """A folder with the benchmark `photos` and the outcomes of a method."""
    make_outcomes(make_benchmark(tmp_path / "photos", edits=OUTCOMES, size=48), tmp_path / "mine")
    return tmp_path


@pytest.fixture
def run(editgauge: Command, home: Path, served: Served) -> Callable[..., subprocess.CompletedProcess[str]]:
    served.plan = answer
    words = ["run", "photos", "--outcomes", "mine=mine", "--protocol", "editinspector", "--out", "run"]

    def given(*more: str, judge: str = f"openai:{MODEL}@{served.url}", code: int = 0) -> Any:
        return editgauge(*words, "--judge", judge, *more, cwd=home, code=code)

    return given


def answer(text: str, seen: int) -> str:
    """Yes to what is asked with a JSON form, and a sentence to anything else."""
    return '{"answer": "yes"}' if '"yes"' in text else "The edge of the patch is too sharp."


def scores(editgauge: Command, home: Path) -> str:
    return editgauge("export", "run", "--format", "jsonl", cwd=home).stdout


def test_a_judged_run_is_named_after_its_judge_and_asks_nothing_twice(
    run: Command, editgauge: Command, home: Path, served: Served
) -> None:
    told = run().stderr
    assert f"judge {MODEL}: {MODEL} at {served.url}" in told
    asked = len(served.requests)
    assert asked >= 4 * OUTCOMES
    first = scores(editgauge, home)
    lines = [json.loads(line) for line in first.splitlines()]
    assert {line["protocol"] for line in lines} == {f"editinspector[{MODEL}]"}
    assert sum(line["value"] == 1.0 for line in lines) >= 3 * OUTCOMES
    assert "nothing is left to do" in run().stderr
    for file in (home / "run" / "scores").iterdir():
        file.unlink()
    manifest = json.loads((home / "run" / "manifest.json").read_text())
    (home / "run" / "manifest.json").write_text(json.dumps({**manifest, "segments": {}, "finished": None}))
    run()
    assert len(served.requests) == asked
    assert scores(editgauge, home) == first


def test_a_replay_and_a_verification_need_no_endpoint(
    run: Command, editgauge: Command, home: Path, served: Served
) -> None:
    run()
    first, asked = scores(editgauge, home), len(served.requests)
    transcripts = home / "again" / "transcripts"
    transcripts.parent.mkdir()
    (home / "run" / "transcripts").rename(transcripts)
    nowhere = f"openai:{MODEL}@http://127.0.0.1:9/v1"
    run("--replay", "--out", "again", judge=nowhere)
    again = editgauge("export", "again", "--format", "jsonl", cwd=home).stdout
    assert again == first
    assert len(served.requests) == asked
    told = editgauge("verify", "again", "--recompute", "4", "--benchmark", "photos", cwd=home).stdout
    assert re.search(r"\b[1-9]\d* scores", told), told
    assert len(served.requests) == asked


def test_what_failed_for_a_passing_reason_is_asked_again(
    run: Command, editgauge: Command, home: Path, served: Served
) -> None:
    never = {"precise": Reply(status=401, content="who are you?")}
    served.plan = lambda text, seen: never["precise"] if "cleanly made" in text else answer(text, seen)
    told = run().stdout
    assert f"{OUTCOMES} unscored, unreachable" in told
    assert "the same command asks it again" in told
    assert "who are you?" in told, "without what the endpoint said nobody finds a wrong key"
    reasons = {json.loads(line)["reason"] for line in scores(editgauge, home).splitlines()}
    assert "unreachable" in reasons
    served.plan = answer
    assert "unreachable" not in run().stdout
    lines = [json.loads(line) for line in scores(editgauge, home).splitlines()]
    assert "unreachable" not in {line["reason"] for line in lines}
    assert sum(line["value"] == 1.0 for line in lines) >= 3 * OUTCOMES


def test_two_judges_stand_side_by_side(run: Command, editgauge: Command, home: Path, served: Served) -> None:
    run()
    run("--judge", f"strict=openai:{MODEL}@{served.url}")
    protocols = {json.loads(line)["protocol"] for line in scores(editgauge, home).splitlines()}
    assert protocols == {f"editinspector[{MODEL}]", "editinspector[strict]"}


def test_a_budget_stops_before_it_is_exceeded(run: Command, editgauge: Command, home: Path, served: Served) -> None:
    served.plan = lambda text, seen: say(answer(text, seen), tokens=(100, 10))
    run("--price", "100,100", "--budget", "0.2", "--max-tokens", "100")
    lines = [json.loads(line) for line in scores(editgauge, home).splitlines()]
    assert sum(line["reason"] == "budget" for line in lines)
    spent = len(served.requests) * (100 + 10) * 100 / 1e6
    assert 0 < spent <= 0.2


def test_a_dry_run_tells_the_cost_and_asks_nobody(run: Command, served: Served) -> None:
    told = run("--dry-run", "--price", "2.5,10").stdout
    assert "asking:" in told
    assert re.search(r"calls: [1-9]", told)
    assert re.search(r"cost at most: 0\.[0-9]*[1-9]", told)
    assert served.requests == []


def test_no_more_calls_are_made_than_were_foreseen(run: Command, served: Served) -> None:
    served.plan = lambda text, seen: "no" if seen % 2 else "Hm, hard to tell."
    (told,) = yaml.safe_load(run("--dry-run").stdout)["asking"].values()
    run()
    assert told["calls"] <= told["calls at most"]
    assert 0 < len(served.requests) <= told["calls at most"]
    served.requests.clear()


def test_the_cost_of_shards_is_the_cost_of_the_whole(run: Command, served: Served) -> None:
    def calls(*words: str) -> int:
        (told,) = yaml.safe_load(run("--dry-run", *words).stdout)["asking"].values()
        return int(told["calls"])

    assert calls("--shard", "1/2") + calls("--shard", "2/2") == calls()


def test_own_prompts_are_asked_and_start_the_run_anew(run: Command, home: Path, served: Served) -> None:
    run()
    own = home / "own"
    own.mkdir()
    (own / "inspect_precise.v2.txt").write_text(
        'Clean work, after "{instruction}"? Answer as JSON: {"answer": "yes"} or {"answer": "no"}.'
    )
    told = run("--prompts", "own").stderr
    assert "other prompts" in told
    assert any("Clean work" in text for text in served.seen)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--judge", "gpt-4o"], "--judge takes an address such as"),
        (["--price", "cheap"], "--price is the cost of a million"),
        (["--budget", "3"], "A budget needs a price"),
        (["--prompts", "nowhere"], "No prompts at"),
        (["--replay", "--out", "new"], "There are no transcripts to replay"),
    ],
)
def test_bad_options_say_what_to_do(run: Command, words: list[str], told: str) -> None:
    assert told in run(*words, code=2).stderr


def test_a_protocol_that_needs_a_judge_says_so(editgauge: Command, home: Path) -> None:
    words = ["run", "photos", "--outcomes", "mine=mine", "--protocol", "editinspector", "--out", "run"]
    told = editgauge(*words, cwd=home, code=2).stderr
    assert "editinspector needs a judge" in told
    assert "--judge" in told


def test_one_picture_is_judged(editgauge: Command, home: Path, served: Served) -> None:
    served.plan = answer
    words = ["score", "photos/0.png", "mine/edit-000.png", "Make it black.", "--protocol", "editinspector"]
    told = editgauge(*words, "--judge", f"openai:{MODEL}@{served.url}", "--json", cwd=home).stdout
    found = {each["name"]: each["value"] for each in json.loads(told)["scores"]}
    assert found["edit"] == 1.0


def test_a_judge_that_never_answers_stops_the_run(run: Command, editgauge: Command, home: Path, served: Served) -> None:
    served.plan = lambda text, seen: Reply(status=401, content="who are you?")
    told = run(code=2).stderr
    assert f"The judge '{MODEL}' answered none of" in told
    assert "does not accept the key" in told
    served.plan = answer
    run()
    assert "unreachable" not in {json.loads(line)["reason"] for line in scores(editgauge, home).splitlines()}


def test_a_mistyped_option_is_no_judge(run: Command, served: Served) -> None:
    told = run("--protocol", "editinspector[repaet]", code=2).stderr
    assert "'editinspector[repaet]' asks 'repaet'" in told
    assert served.requests == []


def test_a_judge_that_nobody_asks_is_told(editgauge: Command, home: Path, served: Served) -> None:
    words = ["run", "photos", "--outcomes", "mine=mine", "--out", "run", "--judge", f"openai:{MODEL}@{served.url}"]
    words += ["--protocol", "preservation"]
    assert "no protocol uses one" in editgauge(*words, cwd=home).stderr


def test_what_a_judge_was_asked_is_told_afterwards(run: Command, home: Path, served: Served) -> None:
    served.plan = lambda text, seen: say(answer(text, seen), tokens=(100, 10))
    said = run("--price", "2,10").stderr
    calls = len(served.requests)
    cost = calls * (100 * 2 + 10 * 10) / 1e6
    line = (
        rf"judge {MODEL}: {calls} calls, (\d+) of (\d+) questions answered before, {100 * calls:,} \+ {10 * calls:,} "
    )
    told = re.search(line + rf"tokens, cost {cost:.4g}\n", said)
    assert told, said
    before, questions = map(int, told.groups())
    assert questions - before == calls


def test_answers_from_transcripts_cost_nothing(run: Command, home: Path, served: Served) -> None:
    """Scored again into another folder with the calls of the first; and without a price, no cost is reported."""
    run()
    calls = len(served.requests)
    (home / "again").mkdir()
    shutil.copytree(home / "run" / "transcripts", home / "again" / "transcripts")
    told = json.loads(run("--out", "again", "--json").stdout)
    asked = told["judges"][MODEL]
    assert (asked["calls"], asked["questions"], asked["cost"]) == (0, calls, None)
    assert (asked["prompt_tokens"], asked["completion_tokens"]) == (0, 0)
    assert len(served.requests) == calls
    assert {row["protocol"] for row in told["means"]} == {f"editinspector[{MODEL}]"}


def test_what_the_budget_forbids_was_not_asked(run: Command, home: Path, served: Served) -> None:
    served.plan = lambda text, seen: say(answer(text, seen), tokens=(1000, 10))
    run("--price", "2,10", "--budget", "0.008")
    (asked,) = json.loads((home / "run" / "asked.json").read_text()).values()
    assert asked["calls"] == len(served.requests) > 0
    assert asked["held_back"] > 0
    assert asked["questions"] >= asked["calls"] + asked["held_back"]
