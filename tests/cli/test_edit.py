"""`editgauge edit` on the command line: what it says, and what it hands on."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def home(tmp_path: Path, make_benchmark: Callable[..., Path]) -> Path:
    make_benchmark(tmp_path / "photos", edits=2, size=48)
    return tmp_path


def test_a_sweep_ends_with_the_command_to_score_it(editgauge: Command, plugin: Path, home: Path) -> None:
    words = ["edit", "photos", "--method", "brighter", "--out", "made", "--sweep", "light=1,2", "--seeds", 2]
    told = editgauge(*words, plugin=plugin, cwd=home).stderr
    assert "brighter[light=1]: 4 outcomes made, 0 kept, 0 absent, in made/brighter[light=1]" in told
    assert "no failures" in told
    assert told.endswith("Next: editgauge run photos --outcomes 'made/*'\n")


def test_a_command_is_a_method_and_its_failure_is_told(editgauge: Command, home: Path) -> None:
    words = ["edit", "photos", "--method", "copy", "--out", "made", "--command"]
    told = editgauge(*words, "cp {source} {output}", cwd=home).stderr
    assert "copy: 2 outcomes made" in told
    assert "Next: editgauge run photos --outcomes copy=made" in told
    failed = editgauge(*words[:-2], "elsewhere", "--command", "false {source} {output}", cwd=home, code=1).stderr
    assert "absent, for example: edit-000: crashed: 'false' ended with 1: it said nothing" in failed
    assert "2 of 2 failed (2 crashed)" in failed
    assert "Next:" not in failed  # there is nothing to score


def test_bad_options_end_with_two_and_no_folder(editgauge: Command, plugin: Path, home: Path) -> None:
    words = ["edit", "photos", "--method", "brighter", "--out", "made", "--option", "lihgt=1", "--option", "seeds=x"]
    told = editgauge(*words, plugin=plugin, cwd=home, code=2).stderr
    assert "no option 'lihgt'; did you mean 'light'?" in told
    assert "no option 'seeds'" in told
    assert not (home / "made").exists()


def test_the_list_of_methods_has_functions_classes_and_addresses(editgauge: Command, plugin: Path) -> None:
    found = {
        each["name"]: each["about"] for each in json.loads(editgauge("list", "methods", "--json", plugin=plugin).stdout)
    }
    assert found["brighter"] == "Adds light everywhere."
    assert found["mirrored"] == "Turns the picture around."
    assert {"endpoint:MODEL@URL", "python:MODULE:NAME"} <= set(found)
    assert not any(about.startswith("cannot be used") for about in found.values())
