"""A package of a third party adds to every room, without a line changed here."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Command = Callable[..., subprocess.CompletedProcess[str]]
DISTRIBUTION = "editgauge-plugin-for-tests"
ADDED = {
    "metrics": "mean_color_distance",
    "benchmarks": "plugin-benchmark",
    "models": "mean-color",
    "protocols": "plugin-protocol",
    "methods": "negative",
}


LIST_ALL = f"import editgauge, json; print(json.dumps({{kind: editgauge.list(kind) for kind in {list(ADDED)}}}))"


@pytest.mark.slow
def test_what_it_adds_is_listed_with_its_name(plugin: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(plugin)}
    listed = json.loads(subprocess.check_output([sys.executable, "-c", LIST_ALL], env=environment, text=True))
    for kind, name in ADDED.items():
        (mine,) = (each for each in listed[kind] if each["name"] == name)
        assert mine["from"] == DISTRIBUTION
        assert mine["about"]
        assert not mine["about"].startswith("cannot be used")


def test_without_it_nothing_of_it_is_there(editgauge: Command) -> None:
    assert DISTRIBUTION not in editgauge("list", "protocols", "--json").stdout


@pytest.mark.slow
def test_a_broken_one_is_named_and_hides_no_other(editgauge: Command, plugin: Path) -> None:
    listed = editgauge("list", "protocols", "--json", plugin=plugin).stdout
    found = {each["name"]: each for each in json.loads(listed)}
    for name in ("broken-on-import", "not-there"):
        assert found[name]["about"].startswith("cannot be used: ")
    assert found["preservation"]["from"] == "editgauge"
    table = editgauge("list", "protocols", plugin=plugin).stdout
    assert " paper " in table, "the first of the list is broken and has no paper; the others have"


@pytest.mark.slow
def test_from_its_benchmark_to_scores(editgauge: Command, plugin: Path, tmp_path: Path) -> None:
    edit = ["edit", "plugin-benchmark", "--method", "negative", "--out", "negatives", "--quiet"]
    editgauge(*edit, plugin=plugin, cwd=tmp_path)
    run = ["run", "plugin-benchmark", "--outcomes", "negative=negatives", "--protocol", "plugin-protocol"]
    cache = {"EDITGAUGE_CACHE_BYTES": "0"}
    told = editgauge(*run, "--model", "image_embedder=mean-color", plugin=plugin, cwd=tmp_path, env=cache)
    assert "likeness ↑" in told.stdout
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text("utf-8"))
    assert manifest["models"] == {
        "image_embedder": {
            "name": "mean-color",
            "id": "mean-color",
            "revision": "1",
            "sha256": "0" * 64,
            "license": "for tests only",
            "settings": "",
        }
    }
    assert manifest["protocols"]["plugin-protocol"]["paper"] == "None; for tests only."
    lines = editgauge("export", "run", "--format", "jsonl", cwd=tmp_path).stdout.splitlines()
    scores = [json.loads(line) for line in lines]
    assert [score["edit"] for score in scores[::2]] == ["cat-black", "no-cup", "at-sea"]
    assert {score["status"] for score in scores} == {"scored"}
    assert all(score["value"] < 1 for score in scores)
    assert "is sound" in editgauge("verify", "run", cwd=tmp_path).stdout, "reading a run needs no plug-in"


@pytest.mark.slow
def test_its_metric_is_computed_by_a_protocol(editgauge: Command, plugin: Path, tmp_path: Path) -> None:
    editgauge(
        "edit", "plugin-benchmark", "--method", "negative", "--out", "negatives", "--quiet", plugin=plugin, cwd=tmp_path
    )
    protocol = "preservation[metrics=mean_color_distance]"
    words = ("run", "plugin-benchmark", "--outcomes", "negative=negatives", "--protocol", protocol, "--json", "--quiet")
    told = json.loads(editgauge(*words, plugin=plugin, cwd=tmp_path).stdout)
    means = {each["name"]: each["mean"] for each in told["means"]}
    assert means["mean_color_distance"] > 0.1
    assert means["mean_color_distance"] != means["l1"]
