"""From a benchmark to outcomes with a small pipeline, as a user does it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from editgauge._util.images import read_image
from editgauge.engine.edit import edit

pytestmark = pytest.mark.slow


def test_a_benchmark_is_edited_and_a_second_call_continues(saved: Any, tmp_path: Path) -> None:
    order: dict[str, Any] = {
        "option": {"model": str(saved("stable")), "size": "64", "steps": "2"},
        "limit": 2,
        "quiet": True,
    }
    name = "python:editgauge.methods.diffusion.library:sdedit"
    first = edit("sample", method=name, out=tmp_path / "made", **order)
    assert (first.made, first.kept, first.absences) == (2, 0, {})
    again = edit("sample", method=name, out=tmp_path / "made", **order, seeds=2)
    assert (again.made, again.kept) == (2, 2)
    told = json.loads((tmp_path / "made" / "method.json").read_text("utf-8"))["settings"]
    assert (told["model"], told["scheduler"], told["steps"]) == ("stable", "PNDMScheduler", 2)
    pictures = [read_image(path) for path in sorted((tmp_path / "made").glob("*.png"))]
    assert len(pictures) == 4
    assert not np.array_equal(pictures[0], pictures[1]), "another seed, another picture"


def test_each_value_of_a_sweep_is_a_variant(saved: Any, tmp_path: Path) -> None:
    made = edit(
        "sample",
        method="python:editgauge.methods.diffusion.tuning:imagic",
        out=tmp_path / "made",
        option={"model": str(saved("stable")), "size": "32", "steps": "2", "word_steps": "1", "tuning_steps": "0"},
        sweep=["eta=0.8,1.1"],
        limit=1,
        quiet=True,
    )
    assert sorted(made.variants) == ["imagic[eta=0.8]", "imagic[eta=1.1]"]
    assert made.made == 2
