"""Fetching by the ordinary client: the real pip, pointed at a folder of hand-made wheels instead of an index."""

from __future__ import annotations

import base64
import errno
import functools
import hashlib
import http.server
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest
from filelock import FileLock

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
    long_ago = time.time() - packages.STAGING_GRACE_SECONDS - 1
    os.utime(staging, (long_ago, long_ago))
    fetch_package(carrier)
    assert list(carrier.folder.parent.iterdir()) == [carrier.folder]
    assert find_faults(carrier) == []


@pytest.mark.parametrize("age", [3600, -3600], ids=["older", "clock set back"])
def test_the_staging_folder_of_a_running_fetch_is_left_alone(shelf: Path, age: int) -> None:
    wheel(shelf)
    carrier = Carrier("parcel", "1.0", HASHES)
    staging = carrier.folder.parent / f"{packages.STAGING_PREFIX}running"
    staging.mkdir(parents=True)
    with FileLock(staging / packages.STAGING_LOCK):
        os.utime(staging, (time.time() - age, time.time() - age))
        fetch_package(carrier)
        assert staging.is_dir()
    os.utime(staging, (time.time() - age, time.time() - age))
    (carrier.folder / next(iter(HASHES))).unlink()
    fetch_package(carrier)
    assert not staging.exists()


def test_where_the_cache_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDITGAUGE_CACHE", "~/somewhere")
    assert cache_root() == Path.home() / "somewhere"
    monkeypatch.setenv("EDITGAUGE_CACHE", " ")
    assert cache_root().name == "editgauge"


def test_importing_it_is_light() -> None:
    program = "import sys; import editgauge._util.packages; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numpy", "torch", "pydantic", "rich", "cv2", "PIL", "yaml", "http", "pip"} & set(loaded)


NPM_CONTENT = {"package/a.bin": b"first file", "package/deep/b.bin": b"second file"}
NPM_HASHES = {name: hashlib.sha256(content).hexdigest() for name, content in NPM_CONTENT.items()}
NAME, VERSION = "@post/parcel", "1.0.0"

needs_npm = pytest.mark.skipif(shutil.which("npm") is None, reason="NOT TESTED, there is no npm here")


def carrier(files: dict[str, str] = NPM_HASHES) -> Carrier:
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
    with Registry(tarball(NPM_CONTENT, mark)) as server:
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


@pytest.mark.slow
@needs_npm
def test_npm_only_the_wanted_files_are_kept(registry: Registry) -> None:
    told: list[str] = []
    seen: list[int] = []
    folder = fetch_package(carrier(), told.append, seen.append)
    kept = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert kept == NPM_CONTENT
    assert told[1] == "fetching @post/parcel 1.0.0 with npm"
    assert seen == sorted(seen)
    assert seen[-1] >= len(registry.given)


@pytest.mark.slow
@needs_npm
def test_an_archive_that_npm_has_is_not_downloaded_again(registry: Registry) -> None:
    shutil.rmtree(fetch_package(carrier()))
    fetch_package(carrier())
    assert find_faults(carrier()) == []
    assert registry.given_out.count("/parcel.tgz") == 1


@pytest.mark.slow
@needs_npm
@pytest.mark.parametrize("damage", [lambda whole: whole[:-30], lambda whole: whole[:-30] + bytes(30)])
def test_a_damaged_or_truncated_archive(registry: Registry, damage: Callable[[bytes], bytes]) -> None:
    registry.given = damage(registry.told)
    with pytest.raises(FetchError, match=r"@post/parcel 1.0.0 could not be fetched: npm says '.*(sha512|integrity)"):
        fetch_package(carrier())
    assert not carrier().folder.exists()


@pytest.mark.slow
@needs_npm
def test_a_file_with_another_hash(registry: Registry) -> None:
    with pytest.raises(FetchError, match=r"'package/a.bin' of @post/parcel 1.0.0 is not the one that was checked"):
        fetch_package(carrier({**NPM_HASHES, "package/a.bin": "0" * 64}))
    assert not carrier().folder.exists()


@pytest.mark.slow
@needs_npm
def test_an_unknown_version(registry: Registry) -> None:
    with pytest.raises(FetchError, match=r"npm says '.*No matching version.*Does the package index") as caught:
        fetch_package(Carrier(NAME, "2.0.0", NPM_HASHES, kind="npm"))
    assert "`npm pack @post/parcel@2.0.0` shows more" in str(caught.value)


@pytest.mark.slow
@needs_npm
def test_npm_no_network(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("npm_config_registry", "http://127.0.0.1:9/")
    with pytest.raises(FetchError, match=r"The package index was not reached: is this machine online\?"):
        fetch_package(carrier())


@pytest.mark.slow
@needs_npm
def test_npm_a_full_disk(
    registry: Registry, small_disk: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    content = os.urandom(3_000_000)
    registry.told = registry.given = tarball({"package/big.bin": content}, Path("/nowhere"))
    disk = small_disk("2m")
    monkeypatch.setenv("EDITGAUGE_CACHE", str(disk / "cache"))
    with pytest.raises(FetchError, match=r"npm says .*ENOSPC.* The disk is full: make room"):
        fetch_package(carrier({"package/big.bin": hashlib.sha256(content).hexdigest()}))
    assert [path for path in disk.rglob("*") if path.is_file()] == []


@pytest.mark.slow
def test_a_machine_without_npm(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(FetchError, match=r"there is no `npm` on this machine. Install Node.js") as caught:
        fetch_package(carrier())
    assert "`npm pack @post/parcel@1.0.0` elsewhere" in str(caught.value)


SDIST_CONTENT = {"parcel-1.0/parcel/a.bin": b"first file", "parcel-1.0/parcel/deep/b.bin": b"second file"}
SDIST_HASHES = {name: hashlib.sha256(content).hexdigest() for name, content in SDIST_CONTENT.items()}
SDIST_OTHER = "0" * 64


def sdist_carrier(files: dict[str, str] = SDIST_HASHES, sha256: str | None = None) -> Carrier:
    return Carrier("parcel", "1.0", files, sha256=sha256, kind="sdist")


@pytest.fixture
def sdist_shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
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


def sdist(sdist_shelf: Path, files: dict[str, bytes] = SDIST_CONTENT, links: dict[str, str] | None = None) -> Path:
    """A source archive by hand, whose setup.py and build backend leave a mark when they are run."""
    leave_a_mark = b"import os, pathlib\npathlib.Path(os.environ['MARK']).touch()\n"
    project = b'[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    code = {"setup.py": leave_a_mark, "backend.py": leave_a_mark, "pyproject.toml": project}
    path = sdist_shelf / "parcel-1.0.tar.gz"
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


@pytest.mark.slow
def test_only_the_wanted_files_are_kept_and_nothing_is_run(sdist_shelf: Path) -> None:
    whole = hashlib.sha256(sdist(sdist_shelf).read_bytes()).hexdigest()
    folder = fetch_package(sdist_carrier(sha256=whole))
    kept = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert kept == SDIST_CONTENT


@pytest.mark.slow
def test_the_usual_command_would_run_it(sdist_shelf: Path, tmp_path: Path) -> None:
    """Why the detour is worth it: should this ever fail, the ordinary command will do."""
    sdist(sdist_shelf)
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-binary", ":all:", "--no-build-isolation"]
    subprocess.run([*command, "--dest", str(tmp_path / "down"), "parcel==1.0"], capture_output=True, check=False)
    assert (tmp_path / "was-run").exists()
    (tmp_path / "was-run").unlink()


@pytest.mark.slow
def test_old_source_archives_are_zips(sdist_shelf: Path) -> None:
    with zipfile.ZipFile(sdist_shelf / "parcel-1.0.zip", "w") as archive:
        for name, content in SDIST_CONTENT.items():
            archive.writestr(name, content)
    assert find_faults(sdist_carrier()) == [f"{name} is missing" for name in SDIST_CONTENT]
    fetch_package(sdist_carrier())
    assert find_faults(sdist_carrier()) == []


@pytest.mark.slow
def test_another_archive_and_another_file_are_refused(sdist_shelf: Path) -> None:
    sdist(sdist_shelf)
    with pytest.raises(FetchError, match=rf"The source archive of parcel 1.0 .* expected {OTHER}"):
        fetch_package(sdist_carrier(sha256=SDIST_OTHER))
    with pytest.raises(FetchError, match=rf"'parcel-1.0/parcel/a.bin' of parcel 1.0 .* expected {OTHER}"):
        fetch_package(sdist_carrier({**SDIST_HASHES, "parcel-1.0/parcel/a.bin": SDIST_OTHER}))
    assert not sdist_carrier().folder.exists()


@pytest.mark.slow
@pytest.mark.parametrize("left", [0, 40, 200])
def test_a_truncated_archive(sdist_shelf: Path, left: int) -> None:
    path = sdist(sdist_shelf, {**SDIST_CONTENT, "parcel-1.0/z.bin": os.urandom(4000)})
    path.write_bytes(path.read_bytes()[:left])
    with pytest.raises(FetchError, match=r"The source archive of parcel 1.0 cannot be unpacked .* cut short"):
        fetch_package(sdist_carrier())
    assert not sdist_carrier().folder.exists()


@pytest.mark.slow
def test_a_link_in_the_place_of_a_file_is_not_followed(sdist_shelf: Path) -> None:
    sdist(sdist_shelf, links={"parcel-1.0/secret.bin": "/etc/hostname"})
    with pytest.raises(FetchError, match=r"lacks a file that was expected in it: 'parcel-1.0/secret.bin'"):
        fetch_package(sdist_carrier({"parcel-1.0/secret.bin": SDIST_OTHER}))


@pytest.mark.slow
def test_members_that_would_leave_the_cache_are_never_touched(sdist_shelf: Path, tmp_path: Path) -> None:
    sdist(sdist_shelf, {"../../evil.bin": b"evil", **SDIST_CONTENT})
    fetch_package(sdist_carrier())
    assert list(tmp_path.rglob("evil*")) == []


@pytest.mark.slow
def test_sdist_a_package_that_is_nowhere(sdist_shelf: Path) -> None:
    with pytest.raises(FetchError, match=r"No matching distribution found for parcel==1.0'\. Does the package index"):
        fetch_package(sdist_carrier())


@pytest.mark.slow
def test_sdist_a_full_disk(
    sdist_shelf: Path, small_disk: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    content = os.urandom(3_000_000)
    sdist(sdist_shelf, {"parcel-1.0/big.bin": content})
    disk = small_disk("2m")
    monkeypatch.setenv("EDITGAUGE_CACHE", str(disk / "cache"))
    with pytest.raises(FetchError, match=r"No space left on device.*The disk is full: make room"):
        fetch_package(sdist_carrier({"parcel-1.0/big.bin": hashlib.sha256(content).hexdigest()}))
    assert [path for path in disk.rglob("*") if path.is_file()] == []


@pytest.mark.slow
def test_a_disk_that_is_full_when_unpacking(
    sdist_shelf: Path, small_disk: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    content = bytes(8_000_000)
    sdist(sdist_shelf, {"parcel-1.0/big.bin": content})
    disk = small_disk("2m")
    monkeypatch.setenv("EDITGAUGE_CACHE", str(disk / "cache"))
    with pytest.raises(FetchError, match=r"could not be kept in the cache folder .* No space left on device"):
        fetch_package(sdist_carrier({"parcel-1.0/big.bin": hashlib.sha256(content).hexdigest()}))
    assert [path for path in disk.rglob("*") if path.is_file()] == []


@pytest.mark.slow
def test_two_processes_at_once_do_no_harm(sdist_shelf: Path) -> None:
    sdist(sdist_shelf)
    program = (
        "from editgauge._util.packages import Carrier, fetch_package, find_faults\n"
        f"wanted = Carrier('parcel', '1.0', {SDIST_HASHES!r}, kind='sdist')\n"
        "fetch_package(wanted)\n"
        "assert find_faults(wanted) == []\n"
    )
    both = [subprocess.Popen([sys.executable, "-c", program]) for _ in range(2)]
    assert [each.wait() for each in both] == [0, 0]
    assert find_faults(sdist_carrier()) == []


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


@pytest.mark.slow
def test_the_index_and_credentials_are_those_of_pip(
    sdist_shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
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
        fetch_package(sdist_carrier(), grown=seen.append)
        server.shutdown()
    assert find_faults(sdist_carrier()) == []
    assert seen[-1] == (page / "parcel-1.0.tar.gz").stat().st_size
