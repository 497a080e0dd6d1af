"""Metadata of public benchmarks: complete, valid, and the table of the documentation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from editgauge.benchmarks import BUILT_IN
from editgauge.benchmarks.metadata import BenchmarkHome, benchmark_metadata, find_metadata, metadata_table
from editgauge.errors import UnknownNameError

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "benchmarks.md"
WITHOUT_METADATA = {"sample", "demo", "unibench", "unibench-photos", "unibench-sample", "gedit-v2"}
"""Shipped, made by users, or without a paper that could be read."""
VIEWS = {"editval-pixlens", "magicbrush-multiturn", "magicbrush-pixlens"}
"""Other views of a benchmark that has metadata."""


def test_every_public_benchmark_has_metadata() -> None:
    assert set(benchmark_metadata()) == set(BUILT_IN) - WITHOUT_METADATA - VIEWS
    assert all(entry.home or entry.page for entry in benchmark_metadata().values())
    with pytest.raises(UnknownNameError):
        find_metadata("nothing")


def test_the_page_shows_the_table() -> None:
    assert metadata_table() in PAGE.read_text("utf-8")


@pytest.mark.parametrize(
    "fields", [{}, {"hub": "a/b", "git": "a/b"}, {"git": "a/b"}, {"hub": "a/b", "revision": "main"}]
)
def test_a_home_is_one_place_at_a_commit(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        BenchmarkHome(**fields)
