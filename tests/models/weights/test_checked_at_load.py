"""Weights are hashed before they are used: what has another content never answers."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from editgauge._util.concurrency import run_async
from editgauge._util.images import Pixels
from editgauge.models._factory import describe
from editgauge.models.perception import ModelService
from editgauge.models.weights import DamagedWeightsError, available, entry_of, pull, weights_of
from editgauge.models.weights._catalog import WeightsEntry
from editgauge.models.weights._store import measured_sha256

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
