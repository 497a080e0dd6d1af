"""`editgauge understand`: an instruction, a file of them, and a judge that reads in place of the rules."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from editgauge._util.images import ImageFile
from editgauge.engine.parse import parse, parse_lines
from editgauge.engine.scorer import Scorer
from editgauge.errors import BadInputError, UnscorableError
from editgauge.instructions.parsed import complete_edit, edit_steps, load_parses, parse_single_step, parsed_from_json
from editgauge.options import JudgeOptions
from editgauge.results.edits import parsed_to_json
from editgauge.types import Edit, ParsedInstruction, ParsedStep, Position
from tests.endpoint import MODEL, Served


def an_edit(instruction: str, type_: str = "unspecified", **fields: Any) -> Edit:
    return Edit(id="one", source=ImageFile("a.png", Path("a.png")), type=type_, instruction=instruction, **fields)


def test_a_judge_reads_what_the_rules_cannot(served: Served) -> None:
    served.plan = lambda text, seen: json.dumps(
        {"steps": [{"edit_type": "color", "subject": "sky", "to": "red", "position": None}]}
    )
    reading = parse("Сделай небо красным", judge=[f"openai:{MODEL}@{served.url}"])
    assert reading == ParsedInstruction((ParsedStep(type="color", subject="sky", to="red", sure=True),), "judge")


def test_score_has_its_judge_read_what_the_rules_cannot(served: Served) -> None:
    """Chinese through a judge; where the rules understand, or the edit type was given, nobody is asked."""
    served.plan = lambda text, seen: json.dumps({"steps": [{"edit_type": "color", "subject": "sky", "to": "red"}]})
    gray = np.full((32, 32, 3), 120, np.uint8)
    with Scorer(["preservation"], judge=JudgeOptions(judge=[f"openai:{MODEL}@{served.url}"])) as scorer:
        judged, ruled = (scorer.score(gray, gray, text).edit for text in ("Сделай небо красным", "make the sky blue"))
        stated = scorer.score(gray, gray, "Сделай небо красным", edit_type="color", subject="roof", to="red").edit
    assert judged.reading is not None
    assert ruled.reading is not None
    assert (judged.type, judged.subject, judged.to, judged.reading.how) == ("color", "sky", "red", "judge")
    assert (ruled.to, ruled.reading.how, stated.subject) == ("blue", "rules", "roof")


def test_without_a_judge_score_says_what_to_add() -> None:
    gray = np.full((32, 32, 3), 120, np.uint8)
    with Scorer(["preservation"]) as scorer:
        edit = scorer.score(gray, gray, "Сделай небо красным").edit
    assert edit.type == "unspecified"
    assert edit.reading is not None
    assert "add --judge" in edit.reading.left


@pytest.mark.parametrize("answer", ["I would rather not.", '{"steps": []}', '{"steps": [{"edit_type": "nonsense"}]}'])
def test_without_a_usable_answer_the_rules_reading_stays(served: Served, answer: str) -> None:
    served.plan = lambda text, seen: answer
    reading = parse("make the sky red", judge=[f"openai:{MODEL}@{served.url}"])
    assert (reading.how, reading.steps[0].to) == ("rules", "red")
    assert "the judge gave no reading" in reading.left


def test_a_faulty_line_does_not_stop_the_others(tmp_path: Path) -> None:
    file = tmp_path / "lines.jsonl"
    file.write_text(
        '{"text": "add a hat"}\nnonsense\n\n{"text": ""}\n{"no": 1}\n{"text": "make the cat black", "id": "7"}\n'
    )
    first, second, third, fourth, last = parse_lines(file)
    assert first["steps"][0]["to"] == "hat"
    assert [set(line) & {"error"} for line in (second, third, fourth)] == [{"error"}] * 3
    assert (last["id"], last["steps"][0]["edit_type"]) == ("7", "color")


def test_a_reading_survives_the_way_through_json() -> None:
    step = ParsedStep(type="positional_addition", subject="dog", to="ball", position=Position("left", "dog"), count=2)
    reading = ParsedInstruction(
        (step, ParsedStep(type="color", subject="car", to="red", attributes=("red",), sure=True)), "judge", "x"
    )
    assert parsed_from_json(json.loads(json.dumps(parsed_to_json(reading)))) == reading


def test_kept_readings_win_and_their_faults_are_listed(tmp_path: Path) -> None:
    file = tmp_path / "readings.jsonl"
    file.write_text('{"text": "do the thing", "steps": [{"edit_type": "color", "subject": "cat", "to": "black"}]}\n')
    edit = complete_edit(an_edit("do the thing"), load_parses(file))
    assert (edit.type, edit.subject, edit.to) == ("color", "cat", "black")
    file.write_text('{"text": "a", "steps": [{"edit_type": "colour"}]}\n{"steps": []}\n')
    with pytest.raises(BadInputError, match=r"line 1(?s:.)*line 2"):
        load_parses(file)


def test_what_the_benchmark_gives_wins() -> None:
    given = complete_edit(an_edit("make the cat black", "color", subject="dog", to="white"))
    assert (given.type, given.subject, given.to) == ("color", "dog", "white")
    typed = complete_edit(an_edit("make the cat black", "style"))
    assert (typed.type, typed.subject, typed.to) == ("style", None, None)
    filled = complete_edit(an_edit("make the cat black", "color"))
    assert (filled.subject, filled.to) == ("cat", "black")


def test_a_given_name_takes_the_place_of_the_one_that_was_read() -> None:
    named = complete_edit(an_edit("replace the horse with a zebra", subject="stallion"))
    assert (named.type, named.subject, named.from_, named.to) == ("object_replacement", "stallion", "stallion", "zebra")


def test_only_what_leaves_no_doubt_is_one_step() -> None:
    assert parse_single_step("Could we add a cup to the left of the plate?").to == "cup"
    for text in ("", "remove it", "remove the tent and add a bonfire", "make it nicer", "sunset"):
        with pytest.raises(UnscorableError) as caught:
            parse_single_step(text)
        assert caught.value.reason == "unparsable"


def test_each_step_is_an_edit_of_its_own() -> None:
    first, second = edit_steps(complete_edit(an_edit("remove the tent and add a bonfire")))
    assert (first.type, first.subject, first.to) == ("object_removal", "tent", None)
    assert (second.type, second.subject, second.to) == ("object_addition", None, "bonfire")
