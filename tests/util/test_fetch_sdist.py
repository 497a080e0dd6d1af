"""Source archives: downloaded by pip's own means, and nothing inside them is ever run."""

from __future__ import annotations

import base64
import functools
import hashlib
import http.server
import io
import os
import subprocess
import sys
import tarfile
import threading
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from editgauge._util import packages
from editgauge._util.packages import Carrier, fetch_package, find_faults
from editgauge.errors import FetchError

pytestmark = pytest.mark.slow

CONTENT = {"parcel-1.0/parcel/a.bin": b"first file", "parcel-1.0/parcel/deep/b.bin": b"second file"}
HASHES = {name: hashlib.sha256(content).hexdigest() for name, content in CONTENT.items()}
OTHER = "0" * 64


def carrier(files: dict[str, str] = HASHES, sha256: str | None = None) -> Carrier:
    return Carrier("parcel", "1.0", files, sha256=sha256, kind="sdist")


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that is pip's only source of packages, and an empty cache."""
    folder = tmp_path / "shelf"
    folder.mkdir()
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("EDITGAUGE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("MARK", str(tmp_path / "was-run"))
    yield folder
    assert not (tmp_path / "was-run").exists(), "the package's own code was run"
    assert list((tmp_path / "cache").glob(f"packages/{packages.STAGING_PREFIX}*")) == []


def sdist(shelf: Path, files: dict[str, bytes] = CONTENT, links: dict[str, str] | None = None) -> Path:
    """A source archive by hand, whose setup.py and build backend leave a mark when they are run."""
    leave_a_mark = b"import os, pathlib\npathlib.Path(os.environ['MARK']).touch()\n"
    project = b'[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    code = {"setup.py": leave_a_mark, "backend.py": leave_a_mark, "pyproject.toml": project}
    path = shelf / "parcel-1.0.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name, content in {**{f"parcel-1.0/{name}": text for name, text in code.items()}, **files}.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
        for name, target in (links or {}).items():
            member = tarfile.TarInfo(name)
            member.type, member.linkname = tarfile.SYMTYPE, target
            archive.addfile(member)
    return path


def test_only_the_wanted_files_are_kept_and_nothing_is_run(shelf: Path) -> None:
    whole = hashlib.sha256(sdist(shelf).read_bytes()).hexdigest()
    folder = fetch_package(carrier(sha256=whole))
    kept = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert kept == CONTENT


def test_the_usual_command_would_run_it(shelf: Path, tmp_path: Path) -> None:
    """Why the detour is worth it: should this ever fail, the ordinary command will do."""
    sdist(shelf)
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-binary", ":all:", "--no-build-isolation"]
    subprocess.run([*command, "--dest", str(tmp_path / "down"), "parcel==1.0"], capture_output=True, check=False)
    assert (tmp_path / "was-run").exists()
    (tmp_path / "was-run").unlink()


def test_old_source_archives_are_zips(shelf: Path) -> None:
    with zipfile.ZipFile(shelf / "parcel-1.0.zip", "w") as archive:
        for name, content in CONTENT.items():
            archive.writestr(name, content)
    assert find_faults(carrier()) == [f"{name} is missing" for name in CONTENT]
    fetch_package(carrier())
    assert find_faults(carrier()) == []


def test_another_archive_and_another_file_are_refused(shelf: Path) -> None:
    sdist(shelf)
    with pytest.raises(FetchError, match=rf"The source archive of parcel 1.0 .* expected {OTHER}"):
        fetch_package(carrier(sha256=OTHER))
    with pytest.raises(FetchError, match=rf"'parcel-1.0/parcel/a.bin' of parcel 1.0 .* expected {OTHER}"):
        fetch_package(carrier({**HASHES, "parcel-1.0/parcel/a.bin": OTHER}))
    assert not carrier().folder.exists()


@pytest.mark.parametrize("left", [0, 40, 200])
def test_a_truncated_archive(shelf: Path, left: int) -> None:
    path = sdist(shelf, {**CONTENT, "parcel-1.0/z.bin": os.urandom(4000)})
    path.write_bytes(path.read_bytes()[:left])
    with pytest.raises(FetchError, match=r"The source archive of parcel 1.0 cannot be unpacked .* cut short"):
        fetch_package(carrier())
    assert not carrier().folder.exists()


def test_a_link_in_the_place_of_a_file_is_not_followed(shelf: Path) -> None:
    sdist(shelf, links={"parcel-1.0/secret.bin": "/etc/hostname"})
    with pytest.raises(FetchError, match=r"lacks a file that was expected in it: 'parcel-1.0/secret.bin'"):
        fetch_package(carrier({"parcel-1.0/secret.bin": OTHER}))


def test_members_that_would_leave_the_cache_are_never_touched(shelf: Path, tmp_path: Path) -> None:
    sdist(shelf, {"../../evil.bin": b"evil", **CONTENT})
    fetch_package(carrier())
    assert list(tmp_path.rglob("evil*")) == []


def test_a_package_that_is_nowhere(shelf: Path) -> None:
    with pytest.raises(FetchError, match=r"No matching distribution found for parcel==1.0'\. Does the package index"):
        fetch_package(carrier())


def test_a_full_disk(shelf: Path, small_disk: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    content = os.urandom(3_000_000)
    sdist(shelf, {"parcel-1.0/big.bin": content})
    disk = small_disk("2m")
    monkeypatch.setenv("EDITGAUGE_CACHE", str(disk / "cache"))
    with pytest.raises(FetchError, match=r"No space left on device.*The disk is full: make room"):
        fetch_package(carrier({"parcel-1.0/big.bin": hashlib.sha256(content).hexdigest()}))
    assert [path for path in disk.rglob("*") if path.is_file()] == []


def test_a_disk_that_is_full_when_unpacking(
    shelf: Path, small_disk: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    content = bytes(8_000_000)
    sdist(shelf, {"parcel-1.0/big.bin": content})
    disk = small_disk("2m")
    monkeypatch.setenv("EDITGAUGE_CACHE", str(disk / "cache"))
    with pytest.raises(FetchError, match=r"could not be kept in the cache folder .* No space left on device"):
        fetch_package(carrier({"parcel-1.0/big.bin": hashlib.sha256(content).hexdigest()}))
    assert [path for path in disk.rglob("*") if path.is_file()] == []


def test_two_processes_at_once_do_no_harm(shelf: Path) -> None:
    sdist(shelf)
    program = (
        "from editgauge._util.packages import Carrier, faults, fetch_package\n"
        f"wanted = Carrier('parcel', '1.0', {HASHES!r}, kind='sdist')\n"
        "fetch_package(wanted)\n"
        "assert faults(wanted) == []\n"
    )
    both = [subprocess.Popen([sys.executable, "-c", program]) for _ in range(2)]
    assert [each.wait() for each in both] == [0, 0]
    assert find_faults(carrier()) == []


class Index(http.server.SimpleHTTPRequestHandler):
    """A package index that wants a password."""

    def do_GET(self) -> None:
        if self.headers.get("Authorization") != "Basic " + base64.b64encode(b"me:secret").decode():
            self.send_response(401)
            self.send_header("WWW-Authenticate", "Basic")
            self.end_headers()
        else:
            super().do_GET()

    def log_message(self, *_: object) -> None:
        pass


def test_the_index_and_credentials_are_those_of_pip(
    shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "index" / "simple" / "parcel"
    page.mkdir(parents=True)
    sdist(page)
    (page / "index.html").write_text('<a href="parcel-1.0.tar.gz">parcel-1.0.tar.gz</a>')
    handler = functools.partial(Index, directory=str(tmp_path / "index"))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        settings = tmp_path / "pip.conf"
        settings.write_text(f"[global]\nindex-url = http://me:secret@127.0.0.1:{server.server_port}/simple\n")
        monkeypatch.setenv("PIP_CONFIG_FILE", str(settings))
        monkeypatch.delenv("PIP_NO_INDEX")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        seen: list[int] = []
        fetch_package(carrier(), grown=seen.append)
        server.shutdown()
    assert find_faults(carrier()) == []
    assert seen[-1] == (page / "parcel-1.0.tar.gz").stat().st_size
