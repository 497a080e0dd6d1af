"""Benchmarks pulled from a Git repository and from a hub, both on this machine."""

from __future__ import annotations

import json
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from editgauge.benchmarks import _pull, datasets, open_benchmark
from editgauge.benchmarks.metadata import BenchmarkHome, BenchmarkMetadata, benchmark_metadata
from editgauge.errors import BadInputError, FetchError, UnknownNameError

Draw = Callable[..., Path]


@pytest.fixture(autouse=True)
def cache(english_parser: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDITGAUGE_CACHE", str(tmp_path / "cache"))


def set_home(monkeypatch: pytest.MonkeyPatch, name: str, **home: Any) -> None:
    entry = benchmark_metadata()[name].model_copy(update={"home": BenchmarkHome(**home)})
    monkeypatch.setitem(benchmark_metadata(), name, entry)


def write_kris(folder: Path, draw: Draw) -> None:
    draw(folder / "biology" / "1.jpg")
    record = {"1": {"ori_img": "1.jpg", "ins_en": "Show it in a year."}}
    (folder / "biology" / "annotation.json").write_text(json.dumps(record))


@pytest.fixture
def repository(tmp_path: Path, draw: Draw, monkeypatch: pytest.MonkeyPatch) -> str:
    """The URL prefix of a repository with the data of KRIS-Bench, whose commit is pinned."""
    folder = tmp_path / "mirror" / "authors" / "kris"
    write_kris(folder / "KRIS_Bench", draw)
    (folder / "other.txt").write_text("not needed")
    settings = ("-c", "user.name=A", "-c", "user.email=a@example.com")
    for words in (("init", "-q"), ("add", "."), (*settings, "commit", "-qm", "Add data")):
        subprocess.run(["git", "-C", str(folder), *words], check=True)
    subprocess.run(["git", "-C", str(folder), "config", "uploadpack.allowAnySHA1InWant", "true"], check=True)
    commit = subprocess.run(["git", "-C", str(folder), "rev-parse", "HEAD"], capture_output=True, text=True, check=True)
    set_home(monkeypatch, "kris", git="authors/kris", revision=commit.stdout.strip(), path="KRIS_Bench")
    return f"file://{tmp_path}/mirror"


def test_a_repository_is_pulled_recorded_and_found_without_data(repository: str) -> None:
    with pytest.raises(BadInputError, match=r"Or pull it: `editgauge data pull kris`"):
        open_benchmark("kris")
    with pytest.raises(BadInputError, match=r"license: .*yes=True"):
        datasets.pull("kris", mirror=repository)
    info = datasets.pull("kris", yes=True, mirror=repository, quiet=True)
    assert (info.files, info.present) == (2, 2)
    assert [edit.id for edit in open_benchmark("kris").edits] == ["1"]
    record = json.loads((info.folders[0].parents[1] / "pulled.json").read_text())
    assert record["commit"] == record["revision"]
    assert sorted(record["files"]) == ["KRIS_Bench/biology/1.jpg", "KRIS_Bench/biology/annotation.json"]
    assert datasets.verify("kris") == datasets.info("kris") == info
    (info.folders[0] / "biology" / "1.jpg").write_bytes(b"changed")
    with pytest.raises(BadInputError, match="is not complete") as caught:
        datasets.verify("kris")
    assert caught.value.problems[0].endswith("1.jpg: differs from what was pulled")


def test_an_interrupted_pull_continues(repository: str, tmp_path: Path) -> None:
    with pytest.raises(FetchError, match="git fetch failed"):
        datasets.pull("kris", yes=True, mirror=f"file://{tmp_path}/nowhere", quiet=True)
    assert _pull.pulled_data("kris") is None
    assert datasets.pull("kris", yes=True, mirror=repository, quiet=True).present == 2


def test_a_dataset_of_the_hub_is_pulled_and_unpacked(
    tmp_path: Path, draw: Draw, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_kris(tmp_path / "files", draw)
    calls: list[tuple[str, str]] = []

    class Api:
        def __init__(self, endpoint: str | None) -> None:
            self.endpoint = endpoint

        def dataset_info(self, name: str) -> Any:
            return SimpleNamespace(sha="c" * 40)

        def snapshot_download(self, name: str, *, revision: str, local_dir: Path, **_options: Any) -> None:
            calls.append((str(self.endpoint), revision))
            with zipfile.ZipFile(local_dir / "data.zip", "w") as archive:
                for file in (tmp_path / "files").rglob("*.*"):
                    archive.write(file, file.relative_to(tmp_path / "files"))

    monkeypatch.setattr(_pull, "import_module", lambda _name: SimpleNamespace(HfApi=Api))
    set_home(monkeypatch, "kris", hub="authors/kris", unpack=True)
    datasets.pull("kris", yes=True, mirror="http://mirror", quiet=True)
    datasets.pull("kris", yes=True, quiet=True)
    assert calls == [("http://mirror", "c" * 40)], "what was pulled is not pulled again"
    assert len(open_benchmark("kris").edits) == 1


def test_an_archive_that_leaves_its_folder_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "bad.zip", "w") as archive:
        archive.writestr("../outside.txt", "x")
    with pytest.raises(FetchError, match="would leave its folder"):
        _pull._unpack(tmp_path / "bad.zip")
    assert not (tmp_path.parent / "outside.txt").exists()


def test_names_that_cannot_be_pulled() -> None:
    with pytest.raises(BadInputError, match="no home that can be pulled"):
        datasets.pull("pie_bench", yes=True)
    with pytest.raises(UnknownNameError):
        datasets.pull("kriss")
    assert isinstance(benchmark_metadata()["kris"], BenchmarkMetadata)
