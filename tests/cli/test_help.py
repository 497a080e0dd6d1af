"""The command teaches itself."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.main import get_command

import editgauge as face
from editgauge._cli import app
from editgauge._cli._show_inspect import show_names

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
    told = editgauge("--help").stdout
    assert all(f" {verb} " in told for verb in (*VERBS, "data", "models", "cache", "study"))
    assert "editgauge demo" in told
    assert "editgauge score before.png after.png" in told


def test_without_words_it_shows_the_five_commands_one_needs(editgauge: Command) -> None:
    told = editgauge().stdout
    assert [line.split()[2] for line in told.splitlines() if line.startswith("- editgauge ")] == [
        *("demo", "score", "run", "report", "list")
    ]
    assert "--help" in told


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
    told = editgauge("data", "-h").stdout
    assert all(f" {verb} " in told for verb in ("pull", "verify", "info"))


@pytest.mark.parametrize("kind", FIELDS)
def test_lists_can_be_read_by_programs(editgauge: Command, kind: str) -> None:
    found = json.loads(editgauge("list", kind, "--json").stdout)
    assert isinstance(found, list)
    for each in found:
        assert set(each) == FIELDS[kind]
        assert all(each[field] not in (None, "") for field in each)
        assert not str(each.get("about", "")).startswith("cannot be used")
    names = [each["name"] for each in found]
    assert len(set(names)) == len(names)
    if kind != "models":
        assert names


def test_lists_can_be_read_by_people(editgauge: Command) -> None:
    told = editgauge("list", "metrics").stdout
    assert "psnr" in told
    assert "0 to 100" in told


def test_lists_name_the_form_of_benchmark_that_is_opened_by_a_path(editgauge: Command) -> None:
    assert "path/to/folder" in editgauge("list", "benchmarks").stdout


def test_list_alone_names_its_kinds(editgauge: Command) -> None:
    told = editgauge("list").stdout
    assert all(kind in told for kind in FIELDS)


@pytest.mark.parametrize("kind", ["benchmarks", "methods", "protocols", "metrics", "edit-types", "rubrics", "layouts"])
def test_lists_fit_the_terminal_and_are_complete(
    kind: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    names = face.list(kind)
    show_names(kind, names)
    printed = capsys.readouterr().out
    assert max(map(len, printed.splitlines())) <= 100
    words = {word for each in names for word in str(each["about"]).split()}
    assert words <= set(printed.split())


def test_an_unknown_kind_is_named_and_guessed(editgauge: Command) -> None:
    told = editgauge("list", "metric", code=2)
    assert "no list called 'metric'. Did you mean 'metrics'?" in told.stderr
    assert told.stdout == ""


def test_a_list_cut_short_by_the_reader_leaves_no_traceback(tmp_path: Path) -> None:
    import sys

    script = Path(sys.executable).with_name("editgauge")
    with (tmp_path / "said").open("w") as said:
        subprocess.run(f"'{script}' list metrics --json | true", shell=True, stderr=said, check=True)
    assert (tmp_path / "said").read_text() == ""


def test_a_terminal_without_arrows_gets_the_table_all_the_same(editgauge: Command) -> None:
    told = editgauge("list", "metrics", env={"PYTHONIOENCODING": "ascii"})
    assert "psnr" in told.stdout
