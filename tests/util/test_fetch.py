"""Fetching by the ordinary client: the real pip, pointed at a folder of hand-made wheels instead of an index."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from editgauge._util import packages
from editgauge._util.packages import Carrier, cache_root, fetch_package, find_faults
from editgauge.errors import FetchError

CONTENT = {"parcel/a.bin": b"first file", "parcel/deep/b.bin": b"second file"}
HASHES = {name: hashlib.sha256(content).hexdigest() for name, content in CONTENT.items()}
OTHER = "0" * 64


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that is pip's only source of packages, and an empty cache."""
    folder = tmp_path / "shelf"
    folder.mkdir()
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("EDITGAUGE_CACHE", str(tmp_path / "cache"))
    yield folder
    leftovers = (
        list((tmp_path / "cache").glob(f"packages/{packages.STAGING_PREFIX}*")) if (tmp_path / "cache").is_dir() else []
    )
    assert leftovers == []


def wheel(shelf: Path, files: dict[str, bytes] = CONTENT, python: str = ">=3.8") -> Path:
    """A wheel by hand; its module would fail the test if it were ever imported."""
    path = shelf / "parcel-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("parcel/__init__.py", "raise SystemExit('a carrier must never be imported')")
        for name, content in files.items():
            archive.writestr(name, content)
        information = "parcel-1.0.dist-info"
        metadata = (
            f"Metadata-Version: 2.1\nName: parcel\nVersion: 1.0\nRequires-Python: {python}\nRequires-Dist: nowhere\n"
        )
        archive.writestr(f"{information}/METADATA", metadata)
        archive.writestr(f"{information}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{information}/RECORD", "")
    return path


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_only_the_wanted_files_are_kept(shelf: Path) -> None:
    carrier = Carrier("parcel", "1.0", HASHES, sha256=sha256(wheel(shelf)))
    told: list[str] = []
    folder = fetch_package(carrier, told.append)
    kept = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert kept == CONTENT
    assert told == [
        "checking parcel 1.0",
        "fetching parcel 1.0 with pip",
        "unpacking 2 files of parcel 1.0",
    ]


def test_a_second_call_only_checks(shelf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel(shelf)
    folder = fetch_package(Carrier("parcel", "1.0", HASHES))
    monkeypatch.setattr(subprocess, "run", None)
    assert fetch_package(Carrier("parcel", "1.0", HASHES)) == folder


def test_missing_and_damaged_files_are_told_and_mended(shelf: Path) -> None:
    wheel(shelf)
    carrier = Carrier("parcel", "1.0", HASHES)
    assert find_faults(carrier) == ["parcel/a.bin is missing", "parcel/deep/b.bin is missing"]
    folder = fetch_package(carrier)
    assert find_faults(carrier) == []
    (folder / "parcel/a.bin").write_bytes(b"first fool")
    (folder / "parcel/deep/b.bin").unlink()
    damaged, missing = find_faults(carrier)
    assert "parcel/a.bin is damaged" in damaged
    assert HASHES["parcel/a.bin"] in damaged
    assert missing == "parcel/deep/b.bin is missing"
    fetch_package(carrier)
    assert find_faults(carrier) == []


def test_more_files_of_a_package_join_the_first(shelf: Path) -> None:
    wheel(shelf)
    one, other = (Carrier("parcel", "1.0", {name: HASHES[name]}) for name in HASHES)
    fetch_package(one)
    fetch_package(other)
    assert find_faults(one) == find_faults(other) == []


def test_a_package_made_for_another_python_can_still_carry(shelf: Path) -> None:
    wheel(shelf, python="<3")
    assert fetch_package(Carrier("parcel", "1.0", HASHES)).is_dir()


def test_another_wheel_is_refused_with_both_hashes(shelf: Path) -> None:
    actual = sha256(wheel(shelf))
    carrier = Carrier("parcel", "1.0", HASHES, sha256=OTHER)
    with pytest.raises(FetchError, match=f"The wheel of parcel 1.0 .* SHA-256 is {actual}, expected {OTHER}"):
        fetch_package(carrier)
    assert not carrier.folder.exists()


def test_another_file_is_refused_with_both_hashes(shelf: Path) -> None:
    wheel(shelf)
    carrier = Carrier("parcel", "1.0", {**HASHES, "parcel/deep/b.bin": OTHER})
    with pytest.raises(
        FetchError, match=f"'parcel/deep/b.bin' of parcel 1.0 .* is {HASHES['parcel/deep/b.bin']}, expected"
    ):
        fetch_package(carrier)
    assert not carrier.folder.exists()


def test_a_wheel_without_the_file(shelf: Path) -> None:
    wheel(shelf)
    with pytest.raises(FetchError, match=r"The wheel of parcel 1.0 lacks a file .*'parcel/c.bin'"):
        fetch_package(Carrier("parcel", "1.0", {"parcel/c.bin": OTHER}))


def test_a_truncated_wheel(shelf: Path) -> None:
    path = wheel(shelf)
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(FetchError, match=r"parcel 1.0 could not be fetched: pip says 'ERROR: .*"):
        fetch_package(Carrier("parcel", "1.0", HASHES))


def test_a_wheel_with_damaged_content(shelf: Path) -> None:
    """Its directory is whole, so pip accepts it; the bytes of a file are not."""
    path = wheel(shelf, {"parcel/a.bin": os.urandom(5000)})
    content = bytearray(path.read_bytes())
    content[1000:1400] = bytes(400)
    path.write_bytes(content)
    with pytest.raises(FetchError, match=r"The wheel of parcel 1.0 cannot be unpacked \("):
        fetch_package(Carrier("parcel", "1.0", {"parcel/a.bin": OTHER}))


@pytest.mark.parametrize(
    "name", ["../evil.bin", "/evil.bin", "parcel/../../evil.bin", "..\\evil.bin", "C:evil.bin", ""]
)
def test_names_that_would_leave_the_cache(shelf: Path, name: str) -> None:
    with pytest.raises(ValueError, match="would leave the cache folder"):
        Carrier("parcel", "1.0", {name: OTHER})


def test_names_in_the_wheel_that_would_leave_the_cache_are_never_touched(shelf: Path, tmp_path: Path) -> None:
    wheel(shelf, {**CONTENT, "../../evil.bin": b"evil", "/tmp/evil-of-editgauge.bin": b"evil"})
    fetch_package(Carrier("parcel", "1.0", HASHES))
    assert list(tmp_path.rglob("evil*")) == []
    assert not Path("/tmp/evil-of-editgauge.bin").exists()


def test_a_package_that_is_nowhere(shelf: Path) -> None:
    with pytest.raises(FetchError) as caught:
        fetch_package(Carrier("parcel", "1.0", HASHES))
    assert "pip says 'ERROR: No matching distribution found for parcel==1.0'" in str(caught.value)
    assert "Does the package index of this machine hold it?" in str(caught.value)
    assert "-m pip download --no-deps --only-binary :all: parcel==1.0` shows more" in str(caught.value)


def test_no_network(shelf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "1")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with pytest.raises(FetchError, match="The package index was not reached: is this machine online"):
        fetch_package(Carrier("parcel", "1.0", HASHES))


def test_an_environment_without_pip(shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = tmp_path / "python"
    python.write_text(
        f"#!/bin/sh\nexec {sys.executable} -S -I -c \"import sys; sys.exit('{python}: No module named pip')\"\n"
    )
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    with pytest.raises(FetchError, match=r"No module named pip'\. Install pip into this environment"):
        fetch_package(Carrier("parcel", "1.0", HASHES))


def test_a_cache_that_cannot_be_written(shelf: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where the folder should be")
    with pytest.raises(FetchError) as caught:
        fetch_package(Carrier("parcel", "1.0", HASHES))
    assert f"could not be kept in the cache folder '{tmp_path / 'cache'}'" in str(caught.value)
    assert "set EDITGAUGE_CACHE" in str(caught.value)


def test_a_full_disk(shelf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel(shelf)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(shutil, "copyfileobj", full)
    carrier = Carrier("parcel", "1.0", HASHES)
    with pytest.raises(FetchError, match=r"No space left on device. Make room there"):
        fetch_package(carrier)
    assert not carrier.folder.exists()


def test_a_kill_in_the_middle_leaves_nothing_half_written(shelf: Path) -> None:
    wheel(shelf)
    program = (
        "import os, signal, zipfile\n"
        "from editgauge._util.packages import Carrier, fetch_package\n"
        "whole, opened = zipfile.ZipFile.open, []\n"
        "def die_at_the_second_file(*given, **options):\n"
        "    opened.append(given)\n"
        "    if len(opened) == 2: os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return whole(*given, **options)\n"
        "zipfile.ZipFile.open = die_at_the_second_file\n"
        f"fetch_package(Carrier('parcel', '1.0', {HASHES!r}))\n"
    )
    killed = subprocess.run([sys.executable, "-c", program], check=False)
    assert killed.returncode == -9
    carrier = Carrier("parcel", "1.0", HASHES)
    assert not carrier.folder.exists()
    (staging,) = carrier.folder.parent.iterdir()
    long_ago = time.time() - packages.STAGING_MAX_AGE - 1
    os.utime(staging, (long_ago, long_ago))
    fetch_package(carrier)
    assert list(carrier.folder.parent.iterdir()) == [carrier.folder]
    assert find_faults(carrier) == []


def test_where_the_cache_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDITGAUGE_CACHE", "~/somewhere")
    assert cache_root() == Path.home() / "somewhere"
    monkeypatch.setenv("EDITGAUGE_CACHE", " ")
    assert cache_root().name == "editgauge"


def test_importing_it_is_light() -> None:
    program = "import sys; import editgauge._util.packages; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numpy", "torch", "pydantic", "rich", "cv2", "PIL", "yaml", "http", "pip"} & set(loaded)
