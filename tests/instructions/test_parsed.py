"""Parsed instructions in edits and in files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from editgauge._util.images import ImageFile
from editgauge.errors import BadInputError, UnscorableError
from editgauge.instructions.parsed import (
    alternative_edits,
    complete_edit,
    edit_steps,
    load_parses,
    parse_single_step,
    parsed_from_json,
)
from editgauge.results.edits import parsed_to_json
from editgauge.types import Edit, ParsedInstruction, ParsedStep, Position


def make_edit(instruction: str, type_: str = "unspecified", **fields: Any) -> Edit:
    return Edit(id="one", source=ImageFile("a.png", Path("a.png")), type=type_, instruction=instruction, **fields)


def test_a_parsed_instruction_survives_json() -> None:
    also = ParsedStep(type="alter_parts", subject="dog", to="ball")
    step = ParsedStep(
        type="positional_addition", subject="dog", to="ball", position=Position("left", "dog"), count=2, also=(also,)
    )
    parsed = ParsedInstruction(
        (step, ParsedStep(type="color", subject="car", to="red", attributes=("red",), sure=True)), "judge", "x"
    )
    assert parsed_from_json(json.loads(json.dumps(parsed_to_json(parsed)))) == parsed


def test_saved_parses_win_and_their_faults_are_listed(tmp_path: Path) -> None:
    file = tmp_path / "parsed.jsonl"
    file.write_text('{"text": "do the thing", "steps": [{"edit_type": "color", "subject": "cat", "to": "black"}]}\n')
    edit = complete_edit(make_edit("do the thing"), load_parses(file))
    assert (edit.type, edit.subject, edit.to) == ("color", "cat", "black")
    file.write_text('{"text": "a", "steps": [{"edit_type": "colour"}]}\n{"steps": []}\n')
    with pytest.raises(BadInputError, match=r"line 1(?s:.)*line 2"):
        load_parses(file)


def test_stated_fields_win() -> None:
    stated = complete_edit(make_edit("make the cat black", "color", subject="dog", to="white"))
    assert (stated.type, stated.subject, stated.to) == ("color", "dog", "white")
    typed = complete_edit(make_edit("make the cat black", "style"))
    assert (typed.type, typed.subject, typed.to) == ("style", None, None)
    filled = complete_edit(make_edit("make the cat black", "color"))
    assert (filled.subject, filled.to) == ("cat", "black")


def test_a_stated_subject_also_names_what_is_replaced() -> None:
    named = complete_edit(make_edit("replace the horse with a zebra", subject="stallion"))
    assert (named.type, named.subject, named.from_, named.to) == ("object_replacement", "stallion", "stallion", "zebra")


def test_a_single_step_leaves_no_doubt() -> None:
    assert parse_single_step("Could we add a cup to the left of the plate?").to == "cup"
    for text in ("", "remove it", "remove the tent and add a bonfire", "make it nicer", "sunset"):
        with pytest.raises(UnscorableError) as caught:
            parse_single_step(text)
        assert caught.value.reason == "unparsable"


def test_each_step_is_an_edit_of_its_own() -> None:
    first, second = edit_steps(complete_edit(make_edit("remove the tent and add a bonfire")))
    assert (first.type, first.subject, first.to) == ("object_removal", "tent", None)
    assert (second.type, second.subject, second.to) == ("object_addition", None, "bonfire")


def test_a_hat_is_an_addition_and_also_an_altered_part() -> None:
    edit = complete_edit(make_edit("put a hat on the dog"))
    assert edit.type == "object_addition"
    assert [(other.type, other.subject, other.to) for other in alternative_edits(edit)] == [
        ("alter_parts", "dog", "hat")
    ]
