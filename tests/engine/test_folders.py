"""A run takes a folder of its own, and nobody else's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from editgauge.engine.run import run
from editgauge.errors import BadRunError


@pytest.mark.parametrize("place", ["bench", "mine"])
def test_a_benchmark_s_or_a_method_s_folder_is_not_taken_for_a_run(
    place: str, tmp_path: Path, make_benchmark: Callable[..., Path], make_outcomes: Callable[..., Path]
) -> None:
    benchmark = make_benchmark(tmp_path / "bench", edits=2)
    outcomes = make_outcomes(benchmark, tmp_path / "mine")
    before = {path: path.read_bytes() for path in (tmp_path / place).iterdir()}
    with pytest.raises(BadRunError, match="is not empty and is no run"):
        run(benchmark, protocol=["preservation"], outcomes={"mine": outcomes}, out=tmp_path / place, quiet=True)
    assert {path: path.read_bytes() for path in (tmp_path / place).iterdir()} == before


def test_an_empty_folder_is_taken(
    tmp_path: Path, make_benchmark: Callable[..., Path], make_outcomes: Callable[..., Path]
) -> None:
    benchmark = make_benchmark(tmp_path / "bench", edits=2)
    (tmp_path / "run").mkdir()
    run(
        benchmark,
        protocol=["preservation"],
        outcomes={"mine": make_outcomes(benchmark, tmp_path / "mine")},
        out=tmp_path / "run",
        quiet=True,
    )
    assert (tmp_path / "run" / "manifest.json").is_file()
