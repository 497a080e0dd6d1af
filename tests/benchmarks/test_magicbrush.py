"""MagicBrush: the public shape, both ways to chain turns, and its faults."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from editgauge.benchmarks import open_benchmark
from editgauge.benchmarks.magicbrush import load, load_multiturn
from editgauge.errors import BadInputError


def turn(number: str, place: int, told: str) -> dict[str, str]:
    before = "input" if place == 1 else f"output{place - 1}"
    return {
        "input": f"{number}-{before}.png",
        "mask": f"{number}-mask{place}.png",
        "output": f"{number}-output{place}.png",
        "instruction": told,
    }


SESSIONS = {
    "42": [turn("42", 1, "add a boat "), turn("42", 2, "let the dog yawn"), turn("42", 3, "Make the boat red.")],
    "7": [turn("7", 1, "remove the boat")],
}


@pytest.fixture
def data(tmp_path: Path, draw: Callable[..., Path]) -> Callable[[Any], Path]:
    def write(sessions: Any, **captions: Any) -> Path:
        (tmp_path / "edit_sessions.json").write_text(json.dumps(sessions))
        for kind, texts in captions.items():
            (tmp_path / f"{kind}_descriptions.json").write_text(json.dumps(texts))
        for number, turns in SESSIONS.items():
            for item in turns:
                draw(tmp_path / "images" / number / item["input"], (10, 10))
                draw(tmp_path / "images" / number / item["output"], (20, 20))
                mask = Image.new("RGBA", (20, 20), (255, 255, 255, 255))  # as bright as can be: only alpha tells
                mask.paste((0, 0, 0, 0), (4, 4, 8, 8))
                mask.save(tmp_path / "images" / number / item["mask"])
        return tmp_path

    return write


def test_each_turn_starts_from_the_picture_of_the_set(data: Callable[..., Path]) -> None:
    captions = {"42": {"42-input.png": "A lake.", "42-output1.png": "A lake with a boat."}}
    folder = data(SESSIONS, **{"global": captions, "local": {"42": {"42-output1.png": "boat", "42-output2.png": ""}}})
    benchmark = open_benchmark("magicbrush", data=folder)
    first, second, third, other = benchmark.edits
    assert [edit.id for edit in benchmark.edits] == ["42-1", "42-2", "42-3", "7-1"]
    assert first.instruction == "add a boat"
    assert [edit.type for edit in benchmark.edits] == ["object_addition", "action", "color", "object_removal"]
    assert (first.source_caption, first.target_caption) == ("A lake.", "A lake with a boat.")
    assert (second.source_caption, second.target_caption) == ("A lake with a boat.", None)
    assert first.extras == {"img_id": "42", "turn": 1, "target_local_caption": "boat"}
    assert second.extras == {"img_id": "42", "turn": 2}
    assert (second.turn, second.follows) == (2, None)
    assert second.source.path == folder / "images" / "42" / "42-output1.png"
    assert third.reference is not None
    assert third.reference.name == "42/42-output3.png"
    assert third.mask is not None
    assert third.mask.describe() == {"erased": "images/42/42-mask3.png"}
    inside = third.mask.render(10, 10)
    assert inside[2:4, 2:4].all()
    assert inside.sum() == 4
    assert other.turn == 1
    assert benchmark.about == (
        "4 edits in 2 sessions (the authors say dev has 528 in 266, test has 1053 in 535); "
        "edit types guessed from the instruction for 4, unspecified for 0"
    )


def test_each_turn_follows_the_last_one(data: Callable[..., Path]) -> None:
    benchmark = open_benchmark("magicbrush-multiturn", data=data(SESSIONS))
    assert benchmark.name == "magicbrush-multiturn"
    assert [edit.follows for edit in benchmark.edits] == [None, "42-1", "42-2", None]
    assert [edit.turn for edit in benchmark.edits] == [1, 2, 3, 1]
    assert {edit.source.name for edit in benchmark.edits[:3]} == {"42/42-input.png"}
    assert [edit.reference.name for edit in benchmark.edits if edit.reference][1] == "42/42-output2.png"


@pytest.mark.parametrize("read", [load, load_multiturn])
def test_all_faults_are_told_with_their_record(
    data: Callable[..., Path], told: Callable[..., Any], read: Callable[[Path], Any]
) -> None:
    sessions = {
        "42": [
            {**SESSIONS["42"][0], "instruction": " "},
            {**SESSIONS["42"][1], "mask": "42-mask2.jpg"},
            {**SESSIONS["42"][2], "output": "42-OUTPUT3.png"},
            "a turn",
            {},
        ],
        "7": [],
    }
    folder = data(sessions, **{"global": {"42": "A lake.", "7": {"7-input.png": 3}}})
    assert list(told(read, folder)) == [
        "global_descriptions.json: record '42': must be a mapping of file names to captions, got 'A lake.'",
        "global_descriptions.json: record '7/7-input.png': '7-input.png' must be a text, got 3",
        "edit_sessions.json: record '42, turn 1': 'instruction' must be a text, got ' '",
        "edit_sessions.json: record '42, turn 2': the image 'images/42/42-mask2.jpg' does not exist; "
        "there is '42-mask2.png', with another extension or other capitals",
        "edit_sessions.json: record '42, turn 3': the image 'images/42/42-OUTPUT3.png' does not exist; "
        "there is '42-output3.png', with another extension or other capitals",
        "edit_sessions.json: record '42, turn 4': must be a mapping, got 'a turn'",
        "edit_sessions.json: record '42, turn 5': 'instruction' is missing",
        "edit_sessions.json: record '42, turn 5': 'input' is missing",
        "edit_sessions.json: record '42, turn 5': 'mask' is missing",
        "edit_sessions.json: record '42, turn 5': 'output' is missing",
        "edit_sessions.json: record '7': must be a list of turns, got []",
    ]


def test_a_session_given_twice_is_told(data: Callable[..., Path], told: Callable[..., Any]) -> None:
    folder = data(SESSIONS)
    once = json.dumps(SESSIONS["7"])
    (folder / "edit_sessions.json").write_text(f'{{"7": {once}, "7": {once}}}')
    assert told(load, folder) == ("edit_sessions.json: record '7': the key is given twice",)


def test_without_images_it_says_where_they_should_be(tmp_path: Path) -> None:
    (tmp_path / "edit_sessions.json").write_text("{}")
    with pytest.raises(BadInputError, match=r"There is no folder '.*images'"):
        load(tmp_path)
