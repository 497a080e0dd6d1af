"""Published pickles are converted once; others are refused."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

from editgauge.models.lite.lpips import LpipsAlex
from editgauge.models.weights import _pickles, available, weights_of
from editgauge.models.weights._pickles import Array, UnsafePickleError, arrays_of, read_torch_checkpoint
from editgauge.models.weights._store import DamagedWeightsError

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
