"""Benchmarks: named sets of edits with their source images."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from editgauge.core.registry import Registry

if TYPE_CHECKING:
    from editgauge.core.types import Benchmark

BUILT_IN = {
    "sample": "editgauge.benchmarks.sample:load",
}

benchmarks: Registry[Callable[[], Benchmark]] = Registry("benchmark", BUILT_IN)


def open_benchmark(benchmark: str | Path) -> Benchmark:
    """The benchmark of that name, or the one in that folder."""
    name = str(benchmark)
    looks_like_path = isinstance(benchmark, Path) or "/" in name or "\\" in name or name in {".", ".."}
    if name in benchmarks and not looks_like_path:
        return benchmarks.get(name)()
    if looks_like_path or Path(name).exists():
        from editgauge.benchmarks.folder import load

        return load(Path(name))
    return benchmarks.get(name)()
