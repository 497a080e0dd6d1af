"""Edits with several source pictures: read, scored, made, and shown."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from editgauge._util.images import Pixels, read_image, write_png
from editgauge.benchmarks import open_benchmark
from editgauge.engine._scoring import build_item, score_protocol
from editgauge.errors import BadImageError, BadInputError
from editgauge.judges.prompts import open_prompt
from editgauge.methods.command import Command
from editgauge.protocols import open_protocol
from editgauge.protocols.rubric import RubricProtocol
from editgauge.results.edits import benchmark_entry, describe, read_inputs, write_inputs
from editgauge.types import Edit, Outcome

GRAY: Pixels = np.full((40, 60, 3), 120, np.uint8)


@pytest.fixture
def edit(tmp_path: Path) -> Edit:
    """One edit with a picture of a person and one of a style, from a folder in the project's own format."""
    for name, shade in (("cat.png", 40), ("person.png", 90), ("style.png", 200), ("right.png", 60)):
        write_png(np.full((40, 60, 3), shade, np.uint8), tmp_path / name)
    entry = {
        "id": "both",
        "source": "cat.png",
        "instruction": "Put the person beside the cat.",
        "reference": "right.png",
        "inputs": [{"image": "person.png", "role": "identity"}, {"image": "style.png", "role": "style"}],
    }
    (tmp_path / "edits.jsonl").write_text(json.dumps(entry))
    [read] = open_benchmark(tmp_path).edits
    return read


def _rows(name: str, edit: Edit) -> dict[str, Any]:
    outcome = Outcome(edit_id="both", method="mine", image=edit.source.path)
    item = build_item(edit, outcome, GRAY, GRAY)
    see: Any = None
    return {row.name: row for row in asyncio.run(score_protocol(open_protocol(name), item, see))}


def test_the_format_holds_further_pictures(edit: Edit, tmp_path: Path) -> None:
    assert [(each.picture.name, each.role) for each in edit.inputs] == [
        ("person.png", "identity"),
        ("style.png", "style"),
    ]
    assert benchmark_entry(edit)["inputs"] == [
        {"image": "person.png", "role": "identity"},
        {"image": "style.png", "role": "style"},
    ]
    before = describe(edit)["inputs_sha256"]
    write_png(np.full((40, 60, 3), 1, np.uint8), tmp_path / "style.png")
    assert describe(edit)["inputs_sha256"] != before  # another picture makes another edit


def test_faults_of_further_pictures_are_told(tmp_path: Path) -> None:
    write_png(GRAY, tmp_path / "cat.png")
    entry = {"id": "a", "source": "cat.png", "instruction": "x", "inputs": [{"image": "no.png", "role": "face"}]}
    (tmp_path / "edits.jsonl").write_text(json.dumps(entry))
    with pytest.raises(BadInputError) as caught:
        open_benchmark(tmp_path)
    problems = "\n".join(caught.value.problems)
    assert "the image 'no.png' does not exist" in problems
    assert "unknown role 'face'. There are: background, identity, image, style, subject." in problems


def test_a_protocol_of_one_source_does_not_apply(edit: Edit) -> None:
    rows = _rows("preservation", edit)
    assert {row.reason for row in rows.values()} == {"not_applicable"}
    assert "several source pictures" in next(iter(rows.values())).detail
    assert _rows("reference", edit)["l1"].value is not None


def test_a_further_picture_that_cannot_be_read_is_told(edit: Edit) -> None:
    edit.inputs[0].picture.path.write_bytes(b"no picture")
    with pytest.raises(BadImageError):
        build_item(edit, Outcome(edit_id="both", method="mine", image=edit.source.path), GRAY, GRAY)


def test_a_judge_is_shown_every_picture_with_what_it_is_for(edit: Edit) -> None:
    class Asking:
        prompt = staticmethod(open_prompt)

    rubric = open_protocol("rubric:viescore")
    assert isinstance(rubric, RubricProtocol)
    item = build_item(edit, Outcome(edit_id="both", method="mine", image=edit.source.path), GRAY, GRAY)
    see: Any = Asking()
    shown = rubric.question(rubric._rubric.questions[0], item, see).images
    assert [each.label for each in shown] == [
        "The picture before the edit:",
        "Picture 2 that the edit starts from (identity):",
        "Picture 3 that the edit starts from (style):",
        "The picture after the edit:",
    ]


def test_a_command_gets_the_files(edit: Edit) -> None:
    program = "import sys, shutil; shutil.copy(sys.argv[3], sys.argv[1])"
    command = Command("mix", f'{sys.executable} -c "{program}" {{output}} {{inputs}} {{source}}')
    assert command.takes_inputs
    assert int(command.edit(edit, read_image(edit.source.path), 0)[0, 0, 0]) == 200  # the second input
    with pytest.raises(BadInputError, match="write it alone"):
        Command("mix", f"{sys.executable} --all={{inputs}} {{source}} {{output}}")


def test_where_the_pictures_lie_is_kept_with_the_run(edit: Edit, tmp_path: Path) -> None:
    write_inputs(tmp_path, [edit])
    assert [each["role"] for each in read_inputs(tmp_path)["both"]] == ["identity", "style"]
    assert read_inputs(tmp_path / "elsewhere") == {}
