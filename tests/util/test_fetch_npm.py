"""npm packages: the real npm, pointed at a registry on this machine that speaks its protocol."""

from __future__ import annotations

import base64
import hashlib
import http.server
import io
import json
import os
import shutil
import tarfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest

from editgauge._util import packages
from editgauge._util.packages import Carrier, fetch_package, find_faults
from editgauge.errors import FetchError

pytestmark = pytest.mark.slow

CONTENT = {"package/a.bin": b"first file", "package/deep/b.bin": b"second file"}
HASHES = {name: hashlib.sha256(content).hexdigest() for name, content in CONTENT.items()}
NAME, VERSION = "@post/parcel", "1.0.0"

needs_npm = pytest.mark.skipif(shutil.which("npm") is None, reason="NOT TESTED, there is no npm here")


def carrier(files: dict[str, str] = HASHES) -> Carrier:
    return Carrier(NAME, VERSION, files, kind="npm")


def tarball(files: dict[str, bytes], mark: Path) -> bytes:
    """A package whose scripts leave a mark when they are run."""
    scripts = dict.fromkeys(("prepare", "prepack", "postpack", "install", "postinstall"), f"touch {mark}")
    told = json.dumps({"name": NAME, "version": VERSION, "scripts": scripts}).encode()
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, content in {"package/package.json": told, **files}.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return packed.getvalue()


class Registry(http.server.ThreadingHTTPServer):
    """One package; what is given out can be damaged after its checksum was told."""

    def __init__(self, archive: bytes) -> None:
        super().__init__(("127.0.0.1", 0), Desk)
        self.told = self.given = archive
        self.given_out: list[str] = []

    def page(self) -> bytes:
        place = f"http://127.0.0.1:{self.server_port}/parcel.tgz"
        integrity = "sha512-" + base64.b64encode(hashlib.sha512(self.told).digest()).decode()
        version = {"name": NAME, "version": VERSION, "dist": {"tarball": place, "integrity": integrity}}
        page = {"name": NAME, "dist-tags": {"latest": VERSION}, "versions": {VERSION: version}}
        return json.dumps(page).encode()


class Desk(http.server.BaseHTTPRequestHandler):
    server: Registry

    def do_GET(self) -> None:
        answer = {f"/{NAME}": self.server.page(), "/parcel.tgz": self.server.given}.get(unquote(self.path))
        mark = f'"{hashlib.sha256(answer or b"").hexdigest()}"'
        status = 404 if answer is None else 304 if self.headers.get("If-None-Match") == mark else 200
        content = answer if answer and status == 200 else b""
        self.send_response(status)
        self.send_header("ETag", mark)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
        if content:
            self.server.given_out.append(self.path)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Registry]:
    mark = tmp_path / "was-run"
    with Registry(tarball(CONTENT, mark)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        settings = {"registry": f"http://127.0.0.1:{server.server_port}/", "cache": str(tmp_path / "npm")}
        for name, value in {**settings, "userconfig": os.devnull, "fetch_retries": "0"}.items():
            monkeypatch.setenv(f"npm_config_{name}", value)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        monkeypatch.setenv("EDITGAUGE_CACHE", str(tmp_path / "cache"))
        yield server
        server.shutdown()
    assert not mark.exists(), "the package's own scripts were run"
    assert list((tmp_path / "cache").glob(f"packages/{packages.STAGING_PREFIX}*")) == []


@needs_npm
def test_only_the_wanted_files_are_kept(registry: Registry) -> None:
    told: list[str] = []
    seen: list[int] = []
    folder = fetch_package(carrier(), told.append, seen.append)
    kept = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert kept == CONTENT
    assert told[1] == "fetching @post/parcel 1.0.0 with npm"
    assert seen == sorted(seen)
    assert seen[-1] >= len(registry.given)


@needs_npm
def test_an_archive_that_npm_has_is_not_downloaded_again(registry: Registry) -> None:
    shutil.rmtree(fetch_package(carrier()))
    fetch_package(carrier())
    assert find_faults(carrier()) == []
    assert registry.given_out.count("/parcel.tgz") == 1


@needs_npm
@pytest.mark.parametrize("damage", [lambda whole: whole[:-30], lambda whole: whole[:-30] + bytes(30)])
def test_a_damaged_or_truncated_archive(registry: Registry, damage: Callable[[bytes], bytes]) -> None:
    registry.given = damage(registry.told)
    with pytest.raises(FetchError, match=r"@post/parcel 1.0.0 could not be fetched: npm says '.*(sha512|integrity)"):
        fetch_package(carrier())
    assert not carrier().folder.exists()


@needs_npm
def test_a_file_with_another_hash(registry: Registry) -> None:
    with pytest.raises(FetchError, match=r"'package/a.bin' of @post/parcel 1.0.0 is not the one that was checked"):
        fetch_package(carrier({**HASHES, "package/a.bin": "0" * 64}))
    assert not carrier().folder.exists()


@needs_npm
def test_an_unknown_version(registry: Registry) -> None:
    with pytest.raises(FetchError, match=r"npm says '.*No matching version.*Does the package index") as caught:
        fetch_package(Carrier(NAME, "2.0.0", HASHES, kind="npm"))
    assert "`npm pack @post/parcel@2.0.0` shows more" in str(caught.value)


@needs_npm
def test_no_network(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("npm_config_registry", "http://127.0.0.1:9/")
    with pytest.raises(FetchError, match=r"The package index was not reached: is this machine online\?"):
        fetch_package(carrier())


@needs_npm
def test_a_full_disk(registry: Registry, small_disk: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    content = os.urandom(3_000_000)
    registry.told = registry.given = tarball({"package/big.bin": content}, Path("/nowhere"))
    disk = small_disk("2m")
    monkeypatch.setenv("EDITGAUGE_CACHE", str(disk / "cache"))
    with pytest.raises(FetchError, match=r"npm says .*ENOSPC.* The disk is full: make room"):
        fetch_package(carrier({"package/big.bin": hashlib.sha256(content).hexdigest()}))
    assert [path for path in disk.rglob("*") if path.is_file()] == []


def test_a_machine_without_npm(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(FetchError, match=r"there is no `npm` on this machine. Install Node.js") as caught:
        fetch_package(carrier())
    assert "`npm pack @post/parcel@1.0.0` elsewhere" in str(caught.value)
