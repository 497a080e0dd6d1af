"""`editgauge edit`: the outcomes of a method, and what became of those it could not make."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import cv2
import pytest

from editgauge.core.errors import BadInput
from editgauge.core.images import read_image
from editgauge.runner.make import edit

Make = Callable[..., Path]
FAULTS = {
    "raises": "crashed: RuntimeError: no such luck",
    "cannot": "there is no cat",
    "floats": "crashed: the method gave float64 (48, 48, 3) instead of uint8 (height, width, 3)",
    "gray": "crashed: the method gave uint8 (48, 48) instead of uint8 (height, width, 3)",
    "none": "crashed: the method gave NoneType instead of uint8 (height, width, 3)",
}


def test_an_edit_that_fails_costs_no_other(tmp_path: Path, plugged_in: Path, make_benchmark: Make) -> None:
    subjects = [*FAULTS, "fine"]
    make_benchmark(tmp_path / "photos", edits=len(subjects), size=48, id=subjects, subject=subjects)
    made = edit(tmp_path / "photos", "clumsy", tmp_path / "out", quiet=True)
    assert made.absences == FAULTS
    assert (made.made, made.kept) == (1, 0)
    lines = [json.loads(line) for line in (tmp_path / "out" / "outcomes.jsonl").read_text().splitlines()]
    assert {line["id"]: line.get("absence") for line in lines} == {**FAULTS, "fine": None}


def test_given_again_it_keeps_what_is_there(tmp_path: Path, plugged_in: Path, make_benchmark: Make) -> None:
    make_benchmark(tmp_path / "photos", size=48)
    edit(tmp_path / "photos", "negative", tmp_path / "out", limit=3, quiet=True)
    again = edit(tmp_path / "photos", "negative", tmp_path / "out", quiet=True)
    assert (again.made, again.kept, again.absences) == (1, 3, {})
    before, after = read_image(tmp_path / "photos" / "0.png"), read_image(tmp_path / "out" / "edit-000.png")
    assert (before == 255 - after).all()


def test_outcomes_of_two_settings_are_never_mixed(tmp_path: Path, plugged_in: Path, make_benchmark: Make) -> None:
    make_benchmark(tmp_path / "photos", size=48)
    edit(tmp_path / "photos", "negative", tmp_path / "out", quiet=True)
    with pytest.raises(BadInput, match="seed: 0 there, 1 asked for"):
        edit(tmp_path / "photos", "negative", tmp_path / "out", seed=1, quiet=True)


def test_a_folder_with_other_things_is_refused(tmp_path: Path, plugged_in: Path, make_benchmark: Make) -> None:
    make_benchmark(tmp_path / "photos", size=48)
    with pytest.raises(BadInput, match="is not empty and was not made by `editgauge edit`"):
        edit(tmp_path / "photos", "negative", tmp_path / "photos", quiet=True)


def test_opencv_is_left_as_it_was(tmp_path: Path, plugged_in: Path, make_benchmark: Make) -> None:
    make_benchmark(tmp_path / "photos", size=48)
    threads = cv2.getNumThreads()
    edit(tmp_path / "photos", "negative", tmp_path / "out", quiet=True)
    assert cv2.getNumThreads() == threads
