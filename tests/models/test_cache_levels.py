"""What one machine asked, no other asks again: a store of one's own, and behind it one that is shared."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from editgauge.models import _cache
from editgauge.models._cache import Store, TwoLevels

ROOM = 10_000_000
KEY = f"{7:064x}"


def levels(home: Path, machine: str) -> TwoLevels:
    return TwoLevels(Store(home / machine, ROOM), Store(home / "shared", ROOM))


def test_what_one_machine_keeps_another_recalls_and_then_has_itself(tmp_path: Path) -> None:
    levels(tmp_path, "one").put(KEY, "clip", np.arange(3.0))
    assert Store(tmp_path / "two", ROOM).get(KEY, "clip") is None
    assert np.array_equal(levels(tmp_path, "two").get(KEY, "clip"), np.arange(3.0))  # type: ignore[arg-type]
    assert np.array_equal(Store(tmp_path / "two", ROOM).get(KEY, "clip"), np.arange(3.0))  # type: ignore[arg-type]
    assert levels(tmp_path, "two").get(f"{8:064x}", "clip") is None


def test_a_damaged_answer_near_is_mended_from_the_shared_level(tmp_path: Path) -> None:
    both = levels(tmp_path, "one")
    both.put(KEY, "clip", 0.25)
    (file,) = (path for path in (tmp_path / "one").rglob("*") if path.is_file())
    file.write_bytes(file.read_bytes()[:-3] + b"???")
    assert both.get(KEY, "clip") == 0.25
    assert Store(tmp_path / "one", ROOM).get(KEY, "clip") == 0.25


def test_a_shared_disk_that_refuses_is_told_once_and_costs_nothing_else(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "shared").write_text("a file, not a folder")
    both = levels(tmp_path, "one")
    for number in range(3):
        both.put(f"{number:064x}", "clip", float(number))
    assert [both.get(f"{number:064x}", "clip") for number in range(3)] == [0.0, 1.0, 2.0]
    assert caplog.text.count("is not remembered from here on") == 1


def test_the_setting_brings_the_second_level(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDITGAUGE_CACHE_BYTES", str(ROOM))
    alone = _cache.open_store(tmp_path / "one")
    monkeypatch.setenv("EDITGAUGE_SHARED_CACHE", str(tmp_path / "disk"))
    shared, other = _cache.open_store(tmp_path / "two"), _cache.open_store(tmp_path / "three")
    assert alone is not None
    assert shared is not None
    assert other is not None
    alone.put(KEY, "clip", 0.5)
    assert shared.get(KEY, "clip") is None
    shared.put(KEY, "clip", 0.75)
    assert other.get(KEY, "clip") == 0.75
