"""Writing leaves the old content or the new, whatever happens in between, and never anything else."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from editgauge._util.files import write_bytes, write_json, write_text
from editgauge.errors import BadInputError

TINY = 64 * 1024


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_folders_are_made_and_nothing_else_is_left(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "猫.bin"
    write_bytes(path, b"one")
    write_bytes(path, b"two")

    assert path.read_bytes() == b"two"
    assert names(path.parent) == ["猫.bin"]


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize("trouble", [OSError(28, "No space left on device"), KeyboardInterrupt(), MemoryError()])
def test_a_failure_leaves_the_old_content_and_no_other_file(
    step: str, trouble: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.json"
    write_bytes(path, b"old")

    def fail(*_: object) -> None:
        raise trouble

    monkeypatch.setattr(os if step == "fsync" else Path, step, fail)
    with pytest.raises(BadInputError if isinstance(trouble, OSError) else type(trouble)):
        write_bytes(path, b"new")

    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["a.json"]


def test_a_full_disk_leaves_the_old_content_and_no_other_file(tiny_disk: Path) -> None:
    path = tiny_disk / "a.bin"
    write_bytes(path, b"old")

    with pytest.raises(BadInputError, match=r"a\.bin' cannot be written: No space left on device"):
        write_bytes(path, bytes(2 * TINY))

    assert path.read_bytes() == b"old"
    assert names(tiny_disk) == ["a.bin"]
    write_bytes(path, b"new")
    assert path.read_bytes() == b"new"


def test_a_limit_on_file_sizes_is_met_like_a_full_disk(tmp_path: Path) -> None:
    """Needs no right to mount; in a process of its own, for the limit stays."""
    path = tmp_path / "a.bin"
    path.write_bytes(b"old")
    program = f"""
import resource
from pathlib import Path
from editgauge.errors import BadInputError
from editgauge._util.files import write_bytes
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    write_bytes(Path({str(path)!r}), bytes(5000))
except BadInputError as error:
    print(error)
"""
    said = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout

    assert "cannot be written: File too large" in said
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["a.bin"]


def test_a_file_where_a_folder_should_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"precious")

    for path in (tmp_path / "file" / "a.json", tmp_path / "file" / "deeper" / "a.json"):
        with pytest.raises(BadInputError, match=r"a\.json' cannot be written: "):
            write_bytes(path, b"new")

    assert (tmp_path / "file").read_bytes() == b"precious"


def test_a_folder_where_the_file_should_be(tmp_path: Path) -> None:
    (tmp_path / "a.json").mkdir()

    with pytest.raises(BadInputError, match="cannot be written: Is a directory"):
        write_bytes(tmp_path / "a.json", b"new")

    assert names(tmp_path) == ["a.json"]


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_others_may_read_what_the_user_s_umask_lets_them(umask: int, mode: int, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    before = os.umask(umask)
    try:
        write_bytes(path, b"text")
    finally:
        os.umask(before)

    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_text_is_utf_8_with_plain_line_ends(tmp_path: Path) -> None:
    write_text(tmp_path / "a.txt", "猫\r\nend\n")

    assert (tmp_path / "a.txt").read_bytes() == "猫\r\nend\n".encode()


def test_what_is_no_text_is_refused(tmp_path: Path) -> None:
    """A name of a file in another encoding reaches us with signs that no text may hold."""
    odd = os.fsdecode(b"caf\xe9")

    with pytest.raises(BadInputError, match="not UTF-8"):
        write_json(tmp_path / "a.json", {"path": odd})
    assert names(tmp_path) == []


def test_json_can_be_read_by_people_and_keeps_its_order(tmp_path: Path) -> None:
    write_json(tmp_path / "a.json", {"zebra": "猫", "ape": [1, None]})
    text = (tmp_path / "a.json").read_text("utf-8")

    assert '"zebra": "猫"' in text
    assert list(json.loads(text)) == ["zebra", "ape"]
    assert text.endswith("}\n")
