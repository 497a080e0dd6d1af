"""MagicBrush in PixLens's parts: by rules, by the authors' file, and its ground truth scored as an outcome."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from editgauge.benchmarks import open_benchmark
from editgauge.benchmarks.magicbrush_pixlens import PUBLISHED, load
from editgauge.engine.run import run
from editgauge.errors import BadInputError
from editgauge.types import Position

TOLD = {
    "42": ["add a kite to the left of the barn", "let the hound yawn", "paint the barn green"],
    "7": ["change the background to a harbour"],
}


def turn(number: str, place: int, told: str) -> dict[str, str]:
    before = "input" if place == 1 else f"output{place - 1}"
    names = {
        "input": f"{number}-{before}.png",
        "mask": f"{number}-mask{place}.png",
        "output": f"{number}-output{place}.png",
    }
    return {**names, "instruction": told}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A MagicBrush folder of its public shape, four turns in two sessions."""
    folder = tmp_path / "dev"
    draw = np.random.default_rng(0)
    sessions = {
        number: [turn(number, place, one) for place, one in enumerate(told, 1)] for number, told in TOLD.items()
    }
    for number, turns in sessions.items():
        (folder / "images" / number).mkdir(parents=True)
        for item in turns:
            for name in (item["input"], item["output"]):
                pixels = draw.integers(0, 256, (24, 24, 3), dtype=np.uint8)
                Image.fromarray(pixels).save(folder / "images" / number / name)
            mask = Image.new("RGBA", (24, 24), (255, 255, 255, 255))
            mask.paste((0, 0, 0, 0), (4, 4, 12, 12))
            mask.save(folder / "images" / number / item["mask"])
    (folder / "edit_sessions.json").write_text(json.dumps(sessions))
    return folder


def write(folder: Path, records: Any) -> Path:
    (folder / "final_pixlens.json").write_text(json.dumps(records))
    return folder


def test_rules_read_the_instructions_and_say_how_many(data: Path) -> None:
    benchmark = open_benchmark("magicbrush-pixlens", data=data)
    kite, yawn, barn, harbour = benchmark.edits
    assert (kite.type, kite.subject, kite.to) == ("positional_addition", "barn", "kite")
    assert kite.position == Position("left", "barn")
    assert (barn.type, barn.subject, barn.to) == ("color", "barn", "green")
    assert (yawn.type, harbour.type) == ("unspecified", "background")
    assert yawn.extras["unparsed"] == "PixLens has no rule for the edit type action"
    assert (
        "parsed 2 of 4 instructions by rules: 1 positional_addition, 1 color (of dev the paper kept 285:"
        in benchmark.about
    )
    assert kite.reference is not None
    assert kite.mask is not None


def test_the_authors_file_is_taken_as_it_is(data: Path) -> None:
    records = {
        "42-input.png": {"edit_type": "positional_addition", "category": "barn", "to_attribute": "kite to left"},
        "42-output1.png": {
            "edit_type": "alter-parts",
            "category": "hound",
            "from_attribute": "",
            "to_attribute": "add hat",
        },
        "42-output2.png": {"edit_type": "color", "category": "barn", "from_attribute": "red", "to_attribute": "green"},
    }
    benchmark = load(write(data, records))
    kite, hat, barn = benchmark.edits
    assert (kite.to, kite.position) == ("kite", Position("left", "barn"))
    assert (hat.type, hat.subject, hat.from_, hat.to) == ("alter_parts", "hound", None, "hat")
    assert (barn.from_, barn.to, barn.instruction) == ("red", "green", "paint the barn green")
    assert "3 have the attributes of final_pixlens.json" in benchmark.about


def test_all_faults_of_the_file_are_told(data: Path, told: Callable[..., Any]) -> None:
    records = {
        "9-input.png": {"edit_type": "color", "category": "barn", "to_attribute": "green"},
        "42-input.png": "color",
        "42-output1.png": {"edit_type": "colour", "category": 3},
        "42-output2.png": {
            "edit_type": "positional_addition",
            "category": "barn",
            "to_attribute": "kite in front of it",
        },
        "7-input.png": {"edit_type": "size", "category": "boat", "to_attribute": "green"},
    }
    problems = told(load, write(data, records))
    assert [problem.split(": ", 2)[2].split(",")[0].split(";")[0] for problem in problems] == [
        "no turn of edit_sessions.json has this input image",
        "must be a mapping",
        "'category' must be a text",
        "unknown edit type 'colour'. Did you mean 'color'?",
        "'to_attribute': 'in front of it' says nothing about left",
        "'to_attribute': 'green' is neither small nor large",
    ]


def test_two_files_are_one_too_many(data: Path) -> None:
    (data / "other_pixlens.json").write_text("{}")
    with pytest.raises(BadInputError, match="several files with PixLens's attributes"):
        load(write(data, {}))


def test_ground_truth_can_be_scored_as_an_outcome(data: Path, tmp_path: Path) -> None:
    """Table 5's check: the pictures of the set are a method of their own, and are as near to themselves as can be."""
    finished = run(
        "magicbrush-pixlens",
        outcomes={"truth": data / "images"},
        protocol=["reference"],
        out=tmp_path / "run",
        data=data,
        layout="magicbrush-output",
        processes=1,
        quiet=True,
    )
    rows = finished.scores.to_pylist()
    assert {row["edit"] for row in rows} == {"42-1", "42-2", "42-3", "7-1"}
    assert [row["value"] for row in rows if row["name"] == "l1"] == [0.0] * 4


def test_table_5_is_the_mean_over_what_could_be_evaluated() -> None:
    """PixLens, tables 5 and 6: 0.73 is weighted by the 260 edits that got a score, not by the 285 that were kept."""
    evaluated = dict(zip(PUBLISHED, (79, 76, 40, 28, 17, 12, 6, 2), strict=True))
    score = dict(zip(PUBLISHED, (0.89, 0.65, 1.0, 0.38, 0.43, 0.5, 0.73, 1.0), strict=True))
    assert (sum(PUBLISHED.values()), sum(evaluated.values())) == (285, 260)
    assert sum(score[kind] * evaluated[kind] for kind in score) / 260 == pytest.approx(0.73, abs=0.005)
    assert sum(score[kind] * PUBLISHED[kind] for kind in score) / 285 == pytest.approx(0.72, abs=0.005)
