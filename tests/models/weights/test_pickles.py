"""Weights in pickles: read without running code, and converted once."""

from __future__ import annotations

import builtins
import io
import os
import pickle
import zipfile
from collections import OrderedDict
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from editgauge.models.lite.lpips import LpipsAlex
from editgauge.models.weights import _pickles, available, weights_of
from editgauge.models.weights._pickles import (
    Array,
    UnsafePickleError,
    arrays_of,
    read_numpy_pickle,
    read_torch_checkpoint,
)
from editgauge.models.weights._store import DamagedWeightsError


class Calls:
    """Pickles to a call of a function."""

    def __init__(self, function: Any, *given: Any) -> None:
        self.call = (function, given)

    def __reduce__(self) -> Any:
        return self.call


def nested(mark: Path) -> bytes:
    """A path of attributes, as protocol 4 may ask for: `os.path.os.system`."""
    order = f"touch {mark}".encode()
    return b"\x80\x04\x8c\x02os\x8c\x0epath.os.system\x93\x8c" + bytes([len(order)]) + order + b"\x85R."


def attacks(mark: Path) -> dict[str, tuple[bytes, str]]:
    return {
        "os.system": (pickle.dumps({"w": Calls(os.system, f"touch {mark}")}), r"(posix|nt)\.system"),
        "eval": (pickle.dumps([Calls(builtins.eval, f"open({str(mark)!r}, 'w')")]), r"builtins\.eval"),
        "a path": (nested(mark), r"os\.path\.os\.system"),
        "open": (pickle.dumps(Calls(open, str(mark), "w"), protocol=0), r"io\.open|_io\.open"),
    }


def torch_zip(path: Path, pickled: bytes) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("net/data.pkl", pickled)
        archive.writestr("net/data/0", np.arange(6, dtype="<f4").tobytes())
    return path


@pytest.mark.parametrize("name", ["os.system", "eval", "a path", "open"])
@pytest.mark.parametrize("form", ["torch", "numpy"])
def test_an_attack_is_named_and_nothing_runs(tmp_path: Path, name: str, form: str) -> None:
    mark = tmp_path / "was-run"
    pickled, told = attacks(mark)[name]
    path = tmp_path / "net.pt"
    if form == "torch":
        torch_zip(path, pickled)
    else:
        path.write_bytes(pickled)
    with pytest.raises(UnsafePickleError, match=rf"asks for '({told})', which weights have no need of. It was not run"):
        (read_torch_checkpoint if form == "torch" else read_numpy_pickle)(path)
    assert not mark.exists()


def test_a_pickle_cannot_change_the_reader(tmp_path: Path) -> None:
    """Setting attributes on what a name stands for would reach every later reading."""
    for asked in (b"ctorch._utils\n_rebuild_tensor_v2\n", b"ctorch\nFloatStorage\n", b"ccollections\nOrderedDict\n"):
        tampering = b"\x80\x02" + asked + b"N}X\x0c\x00\x00\x00__defaults__))s\x86b."
        with pytest.raises(UnsafePickleError, match="cannot be read as weights"):
            read_torch_checkpoint(torch_zip(tmp_path / "net.pt", tampering))


def test_a_tensor_may_not_reach_beyond_its_block(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    path = tmp_path / "net.pt"
    torch.save({"w": torch.zeros(6)}, path)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    inside = next(name for name in members if name.endswith("data.pkl"))
    shape = b"K\x06\x85q"
    assert shape in members[inside]
    members[inside] = members[inside].replace(shape, b"K\x40\x85q")
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    with pytest.raises(UnsafePickleError, match="reaches beyond its block"):
        read_torch_checkpoint(path)


def test_torch_checkpoints_are_read_as_torch_reads_them(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    whole = torch.arange(24, dtype=torch.float32).reshape(4, 6)
    state = OrderedDict(
        {
            "plain": whole,
            "turned": whole.T,
            "part": whole[1:3, ::2],
            "scalar": torch.tensor(3, dtype=torch.int64),
            "half": whole.half(),
            "empty": torch.zeros(0, 3),
            "flags": whole > 5,
            "parameter": torch.nn.Parameter(whole + 1),
            "nested": {"list": [whole[0], {"deep": whole[1]}]},
            "note": "made for a test",
        }
    )
    torch.save(state, tmp_path / "net.pt")
    result = read_torch_checkpoint(tmp_path / "net.pt")
    assert set(result) == {*state} - {"nested", "note"} | {"nested.list.0", "nested.list.1.deep"}
    for name in ("plain", "turned", "part", "scalar", "half", "empty", "flags", "parameter"):
        expected = state[name].detach().numpy()
        assert result[name].dtype == expected.dtype
        np.testing.assert_array_equal(result[name], expected)
    np.testing.assert_array_equal(result["nested.list.1.deep"], whole[1])


@pytest.mark.parametrize("name", ["lpips-alex", "augnet"])
def test_real_checkpoints_are_read_as_torch_reads_them(name: str) -> None:
    torch = pytest.importorskip("torch")
    if not available(name):
        pytest.skip(f"NOT TESTED, {name} is not on this machine")
    path = next(iter(weights_of(name).files.values()))
    expected = flat(torch.load(path, weights_only=True, map_location="cpu"), torch.Tensor)
    result = read_torch_checkpoint(path)
    assert set(result) == set(expected)
    assert all(np.array_equal(result[item], tensor.numpy()) for item, tensor in expected.items())


def flat(thing: Any, tensor: type, prefix: str = "") -> dict[str, Any]:
    if isinstance(thing, tensor):
        return {prefix: thing}
    pairs = thing.items() if isinstance(thing, dict) else enumerate(thing) if isinstance(thing, list) else ()
    parts = [flat(item, tensor, f"{prefix}.{name}" if prefix else str(name)) for name, item in pairs]
    return {name: item for part in parts for name, item in part.items()}


def test_the_real_vgg_pickle() -> None:
    if not available("lpips-vgg"):
        pytest.skip("NOT TESTED, lpips-vgg is not on this machine")
    result = read_numpy_pickle(weights_of("lpips-vgg").path("vgg16.ckpt"))
    assert len(result) == 31
    assert result["VGG16_0.Conv_0.kernel"].shape == (3, 3, 3, 64)
    assert result["NetLinLayer_4.Conv_0.kernel"].shape == (1, 1, 512, 1)


numbers = arrays.arrays(
    dtype=st.sampled_from([np.float32, np.float64, np.int64, np.uint8, np.bool_]),
    shape=arrays.array_shapes(min_dims=0, max_dims=3, max_side=4),
)


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(saved=st.dictionaries(st.text("abc", min_size=1), numbers), protocol=st.sampled_from([3, 4, 5]))
def test_numpy_pickles_come_back_as_they_were(tmp_path: Path, saved: dict[str, Any], protocol: int) -> None:
    (tmp_path / "net.pkl").write_bytes(pickle.dumps(saved, protocol=protocol))
    result = read_numpy_pickle(tmp_path / "net.pkl")
    assert set(result) == set(saved)
    for name, array in saved.items():
        assert result[name].dtype == array.dtype
        np.testing.assert_array_equal(result[name], array)


def test_objects_inside_an_array_are_refused(tmp_path: Path) -> None:
    (tmp_path / "net.pkl").write_bytes(pickle.dumps({"w": np.array([{}, None], dtype=object)}))
    with pytest.raises(UnsafePickleError, match="numbers of the kind 'O8'"):
        read_numpy_pickle(tmp_path / "net.pkl")


@pytest.mark.parametrize("content", [b"", b"no pickle", pickle.dumps(np.zeros(50))[:60]])
def test_damaged_files_are_one_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "net.bin"
    path.write_bytes(content)
    with pytest.raises(UnsafePickleError, match=r"net\.bin"):
        read_numpy_pickle(path)
    with pytest.raises(UnsafePickleError, match="no torch checkpoint"):
        read_torch_checkpoint(path)


def test_a_block_that_is_missing(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    saved = io.BytesIO()
    torch.save({"w": torch.zeros(3)}, saved)
    with zipfile.ZipFile(saved) as whole, zipfile.ZipFile(tmp_path / "net.pt", "w") as less:
        for name in whole.namelist():
            if "/data/" not in name:
                less.writestr(name, whole.read(name))
    with pytest.raises(UnsafePickleError, match="cannot be read as weights: KeyError"):
        read_torch_checkpoint(tmp_path / "net.pt")


def test_the_older_form_of_torch_checkpoints_is_read_and_held_to_its_size(tmp_path: Path) -> None:
    torch: Any = pytest.importorskip("torch")
    path = tmp_path / "old.pth"
    state = {"a.weight": torch.arange(12.0).reshape(3, 4).T, "a.count": torch.tensor(3), "b": torch.ones(2, 2).half()}
    torch.save(state, path, _use_new_zipfile_serialization=False)

    arrays = read_torch_checkpoint(path)
    assert set(arrays) == set(state)
    for name, tensor in state.items():
        np.testing.assert_array_equal(arrays[name], tensor.numpy())

    content = path.read_bytes()
    for end in (len(content) - 1, len(content) // 2, 20):
        path.write_bytes(content[:end])
        with pytest.raises(UnsafePickleError, match=r"old\.pth"):
            read_torch_checkpoint(path)


def crafted(*steps: tuple[bytes, object]) -> bytes:
    """A pickle written opcode by opcode: what no library writes."""
    out = b"\x80\x02"
    for code, argument in steps:
        out += code + (str(argument).encode() + b"\n" if argument is not None else b"")
    return out + b"."


DTYPE = [(b"c", "numpy\ndtype"), (b"(", None), (b"V", "V8"), (b"I", 0), (b"I", 1), (b"t", None), (b"R", None)]
HOSTILE = {
    "records": crafted(*DTYPE),
    "objects": crafted(*[(code, "O8" if word == "V8" else word) for code, word in DTYPE]),
    "the class called": crafted((b"c", "numpy\nndarray"), (b"(", None), (b"I", 10**9), (b"t", None), (b"R", None)),
    "an array without numbers": crafted(
        *((b"c", "numpy.core.multiarray\n_reconstruct"), (b"(", None), (b"c", "numpy\nndarray")),
        *((b"I", 0), (b"V", "b"), (b"t", None), (b"R", None)),
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_crafted_kinds_of_numbers_are_refused_and_crash_nothing(name: str, tmp_path: Path) -> None:
    (tmp_path / "net.pkl").write_bytes(HOSTILE[name])

    with pytest.raises(UnsafePickleError):
        read_numpy_pickle(tmp_path / "net.pkl")


@pytest.mark.parametrize(
    "state",
    [
        (3, "<", None, ("a", "b"), {"a": ("f4", 0)}, 8, 1, 0),  # a record
        (3, "<", ("f4", (10**9,)), None, None, -1, -1, 0),  # an array in every number
        (3, "?", None, None, None, -1, -1, 0),
        (3,),
        "state",
    ],
)
def test_a_crafted_state_of_a_kind_of_numbers_is_refused(state: object, tmp_path: Path) -> None:
    class Crafted:
        def __reduce__(self) -> Any:
            return np.dtype, ("f4", False, True), state

    (tmp_path / "net.pkl").write_bytes(pickle.dumps({"w": Crafted()}))

    with pytest.raises(UnsafePickleError):
        read_numpy_pickle(tmp_path / "net.pkl")


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_damage_to_a_pickle_gives_anything_but_arrays_or_a_refusal(data: st.DataObject, tmp_path: Path) -> None:
    whole = pickle.dumps({"w": np.arange(6, dtype="<f4").reshape(2, 3), "b": [np.float64(1), "note"]}, protocol=4)
    content = bytearray(whole)
    for place in data.draw(st.lists(st.integers(0, len(whole) - 1), min_size=1, max_size=4)):
        content[place] = data.draw(st.integers(0, 255))
    (tmp_path / "net.pkl").write_bytes(bytes(content))

    with suppress(UnsafePickleError):
        assert all(isinstance(array, np.ndarray) for array in read_numpy_pickle(tmp_path / "net.pkl").values())


def test_a_checkpoint_that_unpacks_to_far_more_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "net.pt", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("net/data.pkl", b"")
        archive.writestr("net/data/0", bytes(50_000_000))

    with pytest.raises(UnsafePickleError, match="would unpack to 50,000,000 bytes"):
        read_torch_checkpoint(tmp_path / "net.pt")


needs_weights = pytest.mark.skipif(not available("lpips-alex"), reason="NOT TESTED: run `editgauge models pull lite`")


def test_a_pickle_that_the_catalog_does_not_know_is_refused_unread(tmp_path: Path) -> None:
    (tmp_path / "own.pt").write_bytes(pickle.dumps({"w": np.zeros(3)}))
    with pytest.raises(UnsafePickleError, match=r"own\.pt' has the SHA-256 .* save weights of your own as \.npz"):
        arrays_of("lpips-alex", tmp_path / "own.pt")
    picture = np.zeros((32, 32, 3), np.uint8)
    with pytest.raises(UnsafePickleError):
        LpipsAlex(tmp_path / "own.pt").compare([(picture, picture + 1)])


def test_own_arrays_are_read_and_hold_numbers_only(tmp_path: Path) -> None:
    np.savez(tmp_path / "own.npz", w=np.arange(3.0))
    np.testing.assert_array_equal(arrays_of("lpips-alex", tmp_path / "own.npz")["w"], [0, 1, 2])
    np.savez(tmp_path / "objects.npz", w=np.array([{"a": 1}], object))
    (tmp_path / "torn.npz").write_bytes((tmp_path / "own.npz").read_bytes()[:100])
    for name in ("objects.npz", "torn.npz"):
        with pytest.raises(DamagedWeightsError, match="cannot be read as arrays"):
            arrays_of("lpips-alex", tmp_path / name)


@needs_weights
def test_the_pickle_is_read_once_and_again_when_the_copy_is_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = weights_of("lpips-alex").path("lpips_alex_v0.1.pt")
    reads: list[Path] = []

    def counted(path: Path) -> dict[str, Array]:
        reads.append(path)
        return read_torch_checkpoint(path)

    monkeypatch.setattr(_pickles, "read_torch_checkpoint", counted)
    monkeypatch.setenv("EDITGAUGE_CACHE", str(tmp_path))
    first, second = arrays_of("lpips-alex", source), arrays_of("lpips-alex", source)
    assert len(reads) == 1
    assert first.keys() == second.keys()
    assert all(np.array_equal(first[name], second[name]) for name in first)
    (copy,) = (tmp_path / "converted").iterdir()
    copy.write_bytes(copy.read_bytes()[:1000])
    assert arrays_of("lpips-alex", source).keys() == first.keys()
    assert len(reads) == 2
