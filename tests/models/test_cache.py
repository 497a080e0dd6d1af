"""The answer cache: encoding, store, two levels, and `editgauge cache`."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from editgauge._util.caching import LRUCache
from editgauge._util.files import DRAFT_PREFIX
from editgauge.errors import BadInputError, UnknownNameError
from editgauge.models import _cache
from editgauge.models._cache import SHARDS, Answer, DamagedAnswerError, Store, TwoLevels, pack, size_of, unpack
from editgauge.models.answers import ClassMap, Detections

MB = 1_000_000
SEED = 20261115


def key_of(number: int) -> str:
    return f"{number * 2654435761 % 2**256:064x}"[::-1]


def vector(number: int, size: int = 500) -> Any:
    return np.full(size, number, np.float32)


def same(one: Answer | None, other: Answer | None) -> bool:
    if isinstance(one, Detections) and isinstance(other, Detections):
        arrays_of = ((one.boxes, other.boxes), (one.confidences, other.confidences))
        return all(same(*pair) for pair in arrays_of) and (one.phrases, one.words) == (other.phrases, other.words)
    if isinstance(one, ClassMap) and isinstance(other, ClassMap):
        return one.classes == other.classes and same(one.labels, other.labels)
    if isinstance(one, dict) and isinstance(other, dict):
        return list(one) == list(other) and all(same(one[name], other[name]) for name in one)
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
    return type(one) is type(other) and one == other


some_arrays = st.sampled_from([np.bool_, np.uint8, np.int64, np.float16, np.float32]).flatmap(
    lambda dtype: arrays.arrays(dtype, arrays.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=9))
)


@st.composite
def some_detections(draw: st.DrawFn) -> Detections:
    count = draw(st.integers(0, 6))
    names = st.lists(st.text(max_size=8), min_size=count, max_size=count).map(tuple)
    numbers = np.random.default_rng(count).random((count, 5)).astype(np.float32)
    return Detections(numbers[:, :4].copy(), numbers[:, 4].copy(), draw(names), draw(names))


some_answers = st.one_of(
    some_arrays,
    st.dictionaries(st.text(max_size=5), some_arrays, max_size=3),
    some_detections(),
    st.builds(
        ClassMap, arrays.arrays(np.uint8, (4, 5)), st.lists(st.text(max_size=5), max_size=3).map(tuple)
    ),
    st.floats(allow_nan=False),
    st.text(),
)  # fmt: skip


@given(answer=some_answers)
def test_what_is_unpacked_is_what_was_packed(answer: Answer) -> None:
    assert same(unpack("key", pack("key", answer)), answer)


@given(answer=some_answers, where=st.integers(0, 10**6), bit=st.integers(0, 7), cut=st.booleans())
def test_no_damage_goes_unnoticed(answer: Answer, where: int, bit: int, cut: bool) -> None:
    packed = bytearray(pack("key", answer))
    where %= len(packed)
    packed[where] ^= 1 << bit
    with pytest.raises(DamagedAnswerError):
        unpack("key", bytes(packed[:where] if cut else packed))


def test_an_answer_under_another_key_is_damage() -> None:
    with pytest.raises(DamagedAnswerError):
        unpack("other", pack("key", 1.0))


def test_no_answer_is_ever_a_pickle() -> None:
    with pytest.raises(TypeError, match="which is no kind of answer"):
        pack("key", object())  # type: ignore[arg-type]
    with pytest.raises((TypeError, ValueError)):
        unpack("key", pack("key", np.array([object()], dtype=object)))


def test_another_process_reads_what_was_kept(tmp_path: Path) -> None:
    Store(tmp_path, 10 * MB).put(key_of(1), "a/model", vector(1))
    assert same(Store(tmp_path, 10 * MB).get(key_of(1), "a/model"), vector(1))
    assert Store(tmp_path, 10 * MB).get(key_of(1), "another/model") is None


def test_a_damaged_entry_is_dropped_and_can_be_kept_anew(tmp_path: Path) -> None:
    store = Store(tmp_path, 10 * MB)
    store.put(key_of(1), "m", vector(1))
    (entry,) = store.entries()
    entry.path.write_bytes(entry.path.read_bytes()[:-1] + b"!")
    assert store.get(key_of(1), "m") is None
    assert list(store.entries()) == []
    store.put(key_of(1), "m", vector(1))
    assert same(store.get(key_of(1), "m"), vector(1))


@pytest.mark.slow
def test_it_never_outgrows_its_bound_and_keeps_what_was_used_last(tmp_path: Path) -> None:
    most = SHARDS * 20 * 4096
    store = Store(tmp_path, most)
    store.put(key_of(0), "m", vector(0))
    for number in range(1, 3000):
        store.put(key_of(number), "m", vector(number))
        if number % 100 == 0:
            long_ago = time.time() - 1000 + number / 100
            for entry in store.entries():
                if entry.used > time.time() - 100:
                    os.utime(entry.path, (long_ago, long_ago))
            assert store.get(key_of(0), "m") is not None, "used all the time"
    kept = list(store.entries())
    assert sum(entry.bytes for entry in kept) <= most * (1 + 1 / 8)
    assert len(kept) > SHARDS * 12, "and it is not thrown away needlessly"
    assert store.get(key_of(1), "m") is None


def test_two_processes_share_it(tmp_path: Path) -> None:
    writers = [subprocess.Popen(_writer(tmp_path, start, 400)) for start in (0, 200)]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    store = Store(tmp_path, 100 * MB)
    assert all(same(store.get(key_of(number), "m"), vector(number, 5000)) for number in range(600))
    assert len(list(store.entries())) == 600


@pytest.mark.slow
def test_killed_at_any_moment_no_entry_is_corrupt(tmp_path: Path) -> None:
    """Every file that has its final name is whole; half-written ones never get it, and are cleared away later."""
    chance = random.Random(SEED)
    for life in range(8):
        writer = subprocess.Popen(_writer(tmp_path / str(life), 0, 100_000, "x" * 300_000))
        while not list((tmp_path / str(life)).rglob("*.m")):
            time.sleep(0.005)
        time.sleep(chance.uniform(0, 0.1))
        writer.send_signal(signal.SIGKILL)
        writer.wait()
    files = [path for path in tmp_path.rglob("*") if path.is_file() and not path.name.startswith(DRAFT_PREFIX)]
    assert len(files) > 8
    for path in files:
        unpack(path.name.partition(".")[0], path.read_bytes())


def _writer(folder: Path, start: int, count: int, text: str = "") -> list[str]:
    """A process that keeps answers one after another."""
    code = f"""
import numpy as np
from pathlib import Path
from editgauge._util.caching import LRUCache
from editgauge.models._cache import Store
store = Store(Path({str(folder)!r}), 100_000_000)
for number in range({start}, {start + count}):
    key = f"{{number * 2654435761 % 2**256:064x}}"[::-1]
    store.put(key, "m", {text[:1]!r} * {len(text)} or np.full(5000, number, np.float32))
"""
    return [sys.executable, "-c", code]


def test_drafts_of_the_dead_are_cleared_away_and_those_of_the_living_are_not(tmp_path: Path) -> None:
    store = Store(tmp_path, 64)
    store.put(key_of(1), "m", 1.0)
    shard = next((tmp_path / "v1").iterdir())
    old, new = shard / f"{DRAFT_PREFIX}old", shard / f"{DRAFT_PREFIX}new"
    for draft in (old, new):
        draft.write_text("half an ans")
    os.utime(old, (time.time() - 5000,) * 2)
    store.put(key_of(1), "m", 1.0)
    assert (old.exists(), new.exists()) == (False, True)


def test_a_full_disk_is_told_once_and_fails_nothing(tmp_path: Path, small_disk: Callable[[str], Path]) -> None:
    told: list[str] = []
    disk = small_disk("300k")
    store = Store(disk, 10**9, told.append)
    for number in range(200):
        store.put(key_of(number), "m", vector(number, 5000))
    assert len(told) == 1
    assert "No space left on device" in told[0]
    assert same(store.get(key_of(0), "m"), vector(0, 5000)), "what was kept before is there"
    assert not list(disk.rglob(f"{DRAFT_PREFIX}*"))


def test_a_disk_that_may_only_be_read_is_read(small_disk: Callable[[str], Path]) -> None:
    told: list[str] = []
    disk = small_disk("10m")
    Store(disk, 10**9).put(key_of(1), "m", 1.0)
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    store = Store(disk, 10**9, told.append)
    assert store.get(key_of(1), "m") == 1.0
    for number in (2, 3):
        store.put(key_of(number), "m", 1.0)
    assert store.get(key_of(1), "m") == 1.0
    assert len(told) == 1
    assert "Read-only file system" in told[0]


def test_a_file_in_the_place_of_the_folder_fails_nothing(tmp_path: Path) -> None:
    told: list[str] = []
    (tmp_path / "taken").write_text("mine")
    store = Store(tmp_path / "taken", 10**9, told.append)
    assert store.get(key_of(1), "m") is None
    store.put(key_of(1), "m", 1.0)
    assert len(told) == 1


def test_memory_keeps_recent_answers_within_its_bytes() -> None:
    memory = LRUCache[str, Answer](7_000, size_of)
    for number in range(4):
        memory.put(str(number), vector(number))
        memory.get("0")
    assert [memory.get(str(number)) is not None for number in range(4)] == [True, False, True, True]


@pytest.fixture
def filled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """Three answers of one model, one of another."""
    monkeypatch.setenv("EDITGAUGE_CACHE", str(tmp_path))
    monkeypatch.delenv("EDITGAUGE_CACHE_BYTES", raising=False)
    store = Store(tmp_path / "answers", 10**9)
    for number in range(3):
        store.put(key_of(number), "google/owlvit", vector(number))
    store.put(key_of(3), "minilm", "text")
    return store


def test_info_counts_by_model(filled: Store, tmp_path: Path) -> None:
    found = _cache.info()
    assert [(each.model, each.entries) for each in found.models] == [("google/owlvit", 3), ("minilm", 1)]
    assert (found.entries, found.bytes) == (4, 4 * 4096)
    assert (found.folder, found.most_bytes) == (tmp_path / "answers", 10**10)


@pytest.mark.parametrize(
    ("choice", "left"),
    [({}, 0), ({"model": "google/owlvit"}, 1), ({"older_than": 2}, 3), ({"model": "minilm", "older_than": 2}, 4)],
)
def test_clear_forgets_what_was_named(filled: Store, choice: dict[str, Any], left: int) -> None:
    days_ago = time.time() - 3 * 86_400
    first = next(entry for entry in filled.entries() if entry.model == "google+owlvit")
    os.utime(first.path, (days_ago, days_ago))
    assert _cache.clear(**choice).entries == 4 - left
    assert _cache.info().entries == left


def test_clear_of_an_unknown_model_names_those_there_are(filled: Store) -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'minilm'"):
        _cache.clear(model="minilmm")


@pytest.mark.parametrize(("given_bytes", "place"), [("0", False), ("2e9", True), ("", True)])
def test_the_bound_is_a_setting_and_zero_remembers_nothing(
    given_bytes: str, place: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EDITGAUGE_CACHE_BYTES", given_bytes)
    assert (_cache.cache_dir() is not None) == place


@pytest.mark.parametrize("wrong", ["much", "-1", "inf", "nan"])
def test_a_bound_that_is_no_number_is_told(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDITGAUGE_CACHE_BYTES", wrong)
    with pytest.raises(
        BadInputError, match=f"is a number of bytes, such as 2e9, or 0 to remember nothing; got '{wrong}'"
    ):
        _cache.most_bytes()


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


def test_a_damaged_answer_local_is_mended_from_the_shared_level(tmp_path: Path) -> None:
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
    assert caplog.text.count("are no longer cached") == 1


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
