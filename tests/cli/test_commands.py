"""The command teaches itself."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.main import get_command

import editgauge as face
from editgauge._cli import app
from editgauge._cli._show_inspect import show_names
from editgauge._util.images import Pixels, write_png
from editgauge.results import JournalEntry
from tests.endpoint import MODEL, Reply, Served, say

Command = Callable[..., subprocess.CompletedProcess[str]]
VERBS = [name for name, command in vars(get_command(app))["commands"].items() if "commands" not in vars(command)]
ALIASES = {"understand": "parse"}
FIELDS = {
    "benchmarks": {"name", "from", "about"},
    "methods": {"name", "from", "about"},
    "protocols": {"name", "from", "about", "paper", "scores"},
    "metrics": {"name", "from", "about", "higher_is_better", "range", "formula"},
    "models": {"name", "from", "about", "role"},
    "judges": {"name", "from", "about"},
    "datasets": {"name", "from", "about"},
    "edit-types": {"name", "about", "fields", "example"},
}


def test_the_first_help_names_every_verb_and_where_to_begin(editgauge: Command) -> None:
    output = editgauge("--help").stdout
    assert all(f" {verb} " in output for verb in (*VERBS, "data", "models", "cache", "study") if verb not in ALIASES)
    assert "editgauge demo" in output
    assert "editgauge score before.png after.png" in output


def test_without_words_it_shows_the_five_commands_one_needs(editgauge: Command) -> None:
    output = editgauge().stdout
    assert [line.split()[2] for line in output.splitlines() if line.startswith("- editgauge ")] == [
        *("demo", "score", "run", "report", "list")
    ]
    assert "--help" in output


def test_the_version_is_told(editgauge: Command) -> None:
    assert editgauge("--version").stdout == f"editgauge {face.__version__}\n"


@pytest.mark.parametrize("verb", VERBS)
def test_the_help_of_a_verb_explains_it_and_shows_an_example(editgauge: Command, verb: str) -> None:
    words = " ".join(editgauge(verb, "--help").stdout.split())
    after_usage = words.partition(f"Usage: editgauge {verb}")[2]
    assert "Example" in after_usage[:200], "it starts with an example"
    assert f"editgauge {ALIASES.get(verb, verb)} " in after_usage, "an example to copy"
    assert len(after_usage) > 200


def test_the_help_of_data_explains_what_it_does(editgauge: Command) -> None:
    output = editgauge("data", "-h").stdout
    assert all(f" {verb} " in output for verb in ("pull", "verify", "info"))


@pytest.mark.parametrize("kind", FIELDS)
def test_lists_can_be_read_by_programs(editgauge: Command, kind: str) -> None:
    results = json.loads(editgauge("list", kind, "--json").stdout)
    assert isinstance(results, list)
    for result in results:
        assert set(result) == FIELDS[kind]
        assert all(result[field] not in (None, "") for field in result)
        assert not str(result.get("about", "")).startswith("cannot be used")
    names = [result["name"] for result in results]
    assert len(set(names)) == len(names)
    if kind != "models":
        assert names


def test_lists_can_be_read_by_people(editgauge: Command) -> None:
    output = editgauge("list", "metrics").stdout
    assert "psnr" in output
    assert "0 to 100" in output


def test_lists_name_the_form_of_benchmark_that_is_opened_by_a_path(editgauge: Command) -> None:
    assert "path/to/folder" in editgauge("list", "benchmarks").stdout


def test_list_alone_names_its_kinds(editgauge: Command) -> None:
    output = editgauge("list").stdout
    assert all(kind in output for kind in FIELDS)


@pytest.mark.parametrize("kind", ["benchmarks", "methods", "protocols", "metrics", "edit-types", "rubrics", "layouts"])
def test_lists_fit_the_terminal_and_are_complete(
    kind: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    names = face.list(kind)
    show_names(kind, names)
    printed = capsys.readouterr().out
    assert max(map(len, printed.splitlines())) <= 100
    words = {word for item in names for word in str(item["about"]).split()}
    assert words <= set(printed.split())


def test_an_unknown_kind_is_named_and_guessed(editgauge: Command) -> None:
    output = editgauge("list", "metric", code=2)
    assert "no list called 'metric'. Did you mean 'metrics'?" in output.stderr
    assert output.stdout == ""


def test_a_list_cut_short_by_the_reader_leaves_no_traceback(tmp_path: Path) -> None:
    import sys

    script = Path(sys.executable).with_name("editgauge")
    with (tmp_path / "said").open("w") as sentence:
        subprocess.run(f"'{script}' list metrics --json | true", shell=True, stderr=sentence, check=True)
    assert (tmp_path / "said").read_text() == ""


def test_a_terminal_without_arrows_gets_the_table_all_the_same(editgauge: Command) -> None:
    output = editgauge("list", "metrics", env={"PYTHONIOENCODING": "ascii"})
    assert "psnr" in output.stdout


SECONDS = 120
"""A command that waits for a pipe waits for ever; one that does not takes a few seconds for all of them."""
SCRIPT = """
import json, sys
import editgauge
from editgauge.errors import EditGaugeError
for verb, words, options in json.load(sys.stdin):
    call = editgauge
    for part in verb.split("."):
        call = getattr(call, part)
    try:
        result = call(*words, **options)
        print(json.dumps(str(getattr(result, "problems", result))))
    except EditGaugeError as error:
        print(json.dumps(str(error)))
    except Exception as error:
        print(json.dumps(f"CRASH {type(error).__name__}: {error}"))
"""


def messages(*calls: tuple[str, list[Any], dict[str, Any]]) -> list[str]:
    """What each verb says; one process for all, which is stopped when it hangs."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        check=True,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        input=json.dumps(calls),
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def pipe(path: Path) -> Path:
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(path)
    return path


@pytest.mark.slow
def test_no_verb_waits_for_a_pipe(
    tmp_path: Path, photo: Pixels, make_record: Callable[..., JournalEntry], make_run: Callable[..., Path]
) -> None:
    picture = tmp_path / "a.png"
    write_png(photo, picture)
    waiting = str(pipe(tmp_path / "pipe.png"))
    manifest, edits, columns, journal = (make_run(make_record(), name=name) for name in "abcd")
    pipe(manifest / "manifest.json")
    pipe(edits / "edits.jsonl")
    pipe(next((columns / "scores").glob("*.parquet")))
    pipe(journal / "scores" / "00007.jsonl")
    own = tmp_path / "own"
    pipe(own / "edits.jsonl")

    texts = messages(
        ("score", [str(picture), waiting, "Make it red."], {}),
        ("score", [str(picture), str(picture), "Make it red."], {"mask": waiting}),
        ("changes", [waiting, str(picture)], {}),
        ("see", [waiting, ["cat"]], {}),
        ("verify", [str(edits)], {"quiet": True}),
        ("verify", [str(columns)], {"quiet": True}),
        ("verify", [str(journal)], {"quiet": True}),
        ("report", [str(manifest)], {"out": str(tmp_path / "report")}),
        ("report", [str(columns)], {"out": str(tmp_path / "report")}),
        ("study.create", [str(columns)], {"out": str(tmp_path / "study"), "quiet": True}),
        ("study.create", [str(edits)], {"out": str(tmp_path / "study"), "gold": waiting, "quiet": True}),
        ("run", [str(own)], {"outcomes": ["copy=" + str(tmp_path)], "out": str(tmp_path / "run1"), "quiet": True}),
        ("agree", [str(edits)], {"ratings": str(pipe(tmp_path / "ratings.jsonl"))}),
    )

    assert len(texts) == 13
    assert [text for text in texts if not any(word in text for word in ("regular file", "is not a run folder"))] == []


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


def answer(text: str, detections: int) -> str:
    """Yes to what is asked with a JSON form, and a sentence to anything else."""
    return '{"answer": "yes"}' if '"yes"' in text else "The edge of the patch is too sharp."


def scores(editgauge: Command, home: Path) -> str:
    return editgauge("export", "run", "--format", "jsonl", cwd=home).stdout


@pytest.mark.slow
def test_a_judged_run_is_named_after_its_judge_and_asks_nothing_twice(
    run: Command, editgauge: Command, home: Path, served: Served
) -> None:
    output = run().stderr
    assert f"judge {MODEL}: {MODEL} at {served.url}" in output
    requests = len(served.requests)
    assert requests >= 4 * OUTCOMES
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
    assert len(served.requests) == requests
    assert scores(editgauge, home) == first


@pytest.mark.slow
def test_a_replay_and_a_verification_need_no_endpoint(
    run: Command, editgauge: Command, home: Path, served: Served
) -> None:
    run()
    first, requests = scores(editgauge, home), len(served.requests)
    transcripts = home / "again" / "transcripts"
    transcripts.parent.mkdir()
    (home / "run" / "transcripts").rename(transcripts)
    nowhere = f"openai:{MODEL}@http://127.0.0.1:9/v1"
    run("--replay", "--out", "again", judge=nowhere)
    again = editgauge("export", "again", "--format", "jsonl", cwd=home).stdout
    assert again == first
    assert len(served.requests) == requests
    output = editgauge("verify", "again", "--recompute", "4", "--benchmark", "photos", cwd=home).stdout
    assert re.search(r"\b[1-9]\d* scores", output), output
    assert len(served.requests) == requests


@pytest.mark.slow
def test_what_failed_for_a_passing_reason_is_asked_again(
    run: Command, editgauge: Command, home: Path, served: Served
) -> None:
    never = {"precise": Reply(status=401, content="who are you?")}
    served.plan = lambda text, detections: never["precise"] if "cleanly made" in text else answer(text, detections)
    output = run().stdout
    assert f"{OUTCOMES} unscored, unreachable" in output
    assert "the same command asks it again" in output
    assert "who are you?" in output, "without what the endpoint said nobody finds a wrong key"
    reasons = {json.loads(line)["reason"] for line in scores(editgauge, home).splitlines()}
    assert "unreachable" in reasons
    served.plan = answer
    assert "unreachable" not in run().stdout
    lines = [json.loads(line) for line in scores(editgauge, home).splitlines()]
    assert "unreachable" not in {line["reason"] for line in lines}
    assert sum(line["value"] == 1.0 for line in lines) >= 3 * OUTCOMES


@pytest.mark.slow
def test_two_judges_stand_side_by_side(run: Command, editgauge: Command, home: Path, served: Served) -> None:
    run()
    run("--judge", f"strict=openai:{MODEL}@{served.url}")
    protocols = {json.loads(line)["protocol"] for line in scores(editgauge, home).splitlines()}
    assert protocols == {f"editinspector[{MODEL}]", "editinspector[strict]"}


@pytest.mark.slow
def test_a_budget_stops_before_it_is_exceeded(run: Command, editgauge: Command, home: Path, served: Served) -> None:
    served.plan = lambda text, detections: say(answer(text, detections), tokens=(100, 10))
    run("--price", "100,100", "--budget", "0.2", "--max-tokens", "100")
    lines = [json.loads(line) for line in scores(editgauge, home).splitlines()]
    assert sum(line["reason"] == "budget" for line in lines)
    spent = len(served.requests) * (100 + 10) * 100 / 1e6
    assert 0 < spent <= 0.2


@pytest.mark.slow
def test_a_dry_run_tells_the_cost_and_asks_nobody(run: Command, served: Served) -> None:
    output = run("--dry-run", "--price", "2.5,10").stdout
    assert "asking:" in output
    assert re.search(r"calls: [1-9]", output)
    assert re.search(r"cost at most: 0\.[0-9]*[1-9]", output)
    assert served.requests == []


@pytest.mark.slow
def test_no_more_calls_are_made_than_were_foreseen(run: Command, served: Served) -> None:
    served.plan = lambda text, detections: "no" if detections % 2 else "Hm, hard to tell."
    (output,) = yaml.safe_load(run("--dry-run").stdout)["asking"].values()
    run()
    assert output["calls"] <= output["calls at most"]
    assert 0 < len(served.requests) <= output["calls at most"]
    served.requests.clear()


@pytest.mark.slow
def test_the_cost_of_shards_is_the_cost_of_the_whole(run: Command, served: Served) -> None:
    def calls(*words: str) -> int:
        (output,) = yaml.safe_load(run("--dry-run", *words).stdout)["asking"].values()
        return int(output["calls"])

    assert calls("--shard", "1/2") + calls("--shard", "2/2") == calls()


@pytest.mark.slow
def test_own_prompts_are_asked_and_start_the_run_anew(run: Command, home: Path, served: Served) -> None:
    run()
    own = home / "own"
    own.mkdir()
    (own / "inspect_precise.v2.txt").write_text(
        'Clean work, after "{instruction}"? Answer as JSON: {"answer": "yes"} or {"answer": "no"}.'
    )
    output = run("--prompts", "own").stderr
    assert "other prompts" in output
    assert any("Clean work" in text for text in served.seen)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "output"),
    [
        (["--judge", "gpt-4o"], "--judge takes an address such as"),
        (["--price", "cheap"], "--price is the cost of a million"),
        (["--budget", "3"], "A budget needs a price"),
        (["--prompts", "nowhere"], "No prompts at"),
        (["--replay", "--out", "new"], "There are no transcripts to replay"),
    ],
)
def test_bad_options_say_what_to_do(run: Command, words: list[str], output: str) -> None:
    assert output in run(*words, code=2).stderr


@pytest.mark.slow
def test_a_protocol_that_needs_a_judge_says_so(editgauge: Command, home: Path) -> None:
    words = ["run", "photos", "--outcomes", "mine=mine", "--protocol", "editinspector", "--out", "run"]
    output = editgauge(*words, cwd=home, code=2).stderr
    assert "editinspector needs a judge" in output
    assert "--judge" in output


@pytest.mark.slow
def test_one_picture_is_judged(editgauge: Command, home: Path, served: Served) -> None:
    served.plan = answer
    words = ["score", "photos/0.png", "mine/edit-000.png", "Make it black.", "--protocol", "editinspector"]
    output = editgauge(*words, "--judge", f"openai:{MODEL}@{served.url}", "--json", cwd=home).stdout
    results = {item["name"]: item["value"] for item in json.loads(output)["scores"]}
    assert results["edit"] == 1.0


@pytest.mark.slow
def test_a_judge_that_never_answers_stops_the_run(run: Command, editgauge: Command, home: Path, served: Served) -> None:
    served.plan = lambda text, detections: Reply(status=401, content="who are you?")
    output = run(code=2).stderr
    assert f"The judge '{MODEL}' answered none of" in output
    assert "does not accept the key" in output
    served.plan = answer
    run()
    assert "unreachable" not in {json.loads(line)["reason"] for line in scores(editgauge, home).splitlines()}


@pytest.mark.slow
def test_a_mistyped_option_is_no_judge(run: Command, served: Served) -> None:
    output = run("--protocol", "editinspector[repaet]", code=2).stderr
    assert "'editinspector[repaet]' asks 'repaet'" in output
    assert served.requests == []


@pytest.mark.slow
def test_a_judge_that_nobody_asks_is_told(editgauge: Command, home: Path, served: Served) -> None:
    words = ["run", "photos", "--outcomes", "mine=mine", "--out", "run", "--judge", f"openai:{MODEL}@{served.url}"]
    words += ["--protocol", "preservation"]
    assert "no protocol uses one" in editgauge(*words, cwd=home).stderr


@pytest.mark.slow
def test_what_a_judge_was_asked_is_told_afterwards(run: Command, home: Path, served: Served) -> None:
    served.plan = lambda text, detections: say(answer(text, detections), tokens=(100, 10))
    sentence = run("--price", "2,10").stderr
    calls = len(served.requests)
    cost = calls * (100 * 2 + 10 * 10) / 1e6
    line = (
        rf"judge {MODEL}: {calls} calls, (\d+) of (\d+) questions answered before, {100 * calls:,} \+ {10 * calls:,} "
    )
    output = re.search(line + rf"tokens, cost {cost:.4g}\n", sentence)
    assert output, sentence
    before, questions = map(int, output.groups())
    assert questions - before == calls


@pytest.mark.slow
def test_answers_from_transcripts_cost_nothing(run: Command, home: Path, served: Served) -> None:
    """Scored again into another folder with the calls of the first; and without a price, no cost is reported."""
    run()
    calls = len(served.requests)
    (home / "again").mkdir()
    shutil.copytree(home / "run" / "transcripts", home / "again" / "transcripts")
    output = json.loads(run("--out", "again", "--json").stdout)
    requests = output["judges"][MODEL]
    assert (requests["calls"], requests["questions"], requests["cost"]) == (0, calls, None)
    assert (requests["prompt_tokens"], requests["completion_tokens"]) == (0, 0)
    assert len(served.requests) == calls
    assert {row["protocol"] for row in output["means"]} == {f"editinspector[{MODEL}]"}


@pytest.mark.slow
def test_what_the_budget_forbids_was_not_asked(run: Command, home: Path, served: Served) -> None:
    served.plan = lambda text, detections: say(answer(text, detections), tokens=(1000, 10))
    run("--price", "2,10", "--budget", "0.008")
    (requests,) = json.loads((home / "run" / "asked.json").read_text()).values()
    assert requests["calls"] == len(served.requests) > 0
    assert requests["held_back"] > 0
    assert requests["questions"] >= requests["calls"] + requests["held_back"]
