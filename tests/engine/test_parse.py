"""`editgauge parse`: an instruction, a file of them, and a judge that reads in place of the rules."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from editgauge.engine.parse import parse, parse_lines
from editgauge.engine.scorer import Scorer
from editgauge.options import JudgeOptions
from editgauge.types import ParsedInstruction, ParsedStep
from tests.endpoint import MODEL, Served

RUSSIAN = "Сделай небо красным"


def test_a_judge_parses_what_the_rules_cannot(served: Served) -> None:
    served.plan = lambda text, seen: json.dumps(
        {"steps": [{"edit_type": "color", "subject": "sky", "to": "red", "position": None}]}
    )
    parsed = parse(RUSSIAN, judge=[f"openai:{MODEL}@{served.url}"])
    assert parsed == ParsedInstruction((ParsedStep(type="color", subject="sky", to="red", sure=True),), "judge")


def test_score_asks_its_judge_only_for_what_the_rules_cannot_parse(served: Served) -> None:
    served.plan = lambda text, seen: json.dumps({"steps": [{"edit_type": "color", "subject": "sky", "to": "red"}]})
    gray = np.full((32, 32, 3), 120, np.uint8)
    with Scorer(["preservation"], judge=JudgeOptions(judge=[f"openai:{MODEL}@{served.url}"])) as scorer:
        judged, ruled = (scorer.score(gray, gray, text).edit for text in (RUSSIAN, "make the sky blue"))
        stated = scorer.score(gray, gray, RUSSIAN, edit_type="color", subject="roof", to="red").edit
    assert judged.reading is not None
    assert ruled.reading is not None
    assert (judged.type, judged.subject, judged.to, judged.reading.how) == ("color", "sky", "red", "judge")
    assert (ruled.to, ruled.reading.how, stated.subject) == ("blue", "rules", "roof")


def test_without_a_judge_score_says_what_to_add() -> None:
    gray = np.full((32, 32, 3), 120, np.uint8)
    with Scorer(["preservation"]) as scorer:
        edit = scorer.score(gray, gray, RUSSIAN).edit
    assert edit.type == "unspecified"
    assert edit.reading is not None
    assert "judge" in edit.reading.left


@pytest.mark.parametrize("answer", ["I would rather not.", '{"steps": []}', '{"steps": [{"edit_type": "nonsense"}]}'])
def test_without_a_usable_answer_the_rules_parse(served: Served, answer: str) -> None:
    served.plan = lambda text, seen: answer
    parsed = parse("make the sky red", judge=[f"openai:{MODEL}@{served.url}"])
    assert (parsed.how, parsed.steps[0].to) == ("rules", "red")
    assert "the judge gave no reading" in parsed.left


def test_a_faulty_line_does_not_stop_the_others(tmp_path: Path) -> None:
    file = tmp_path / "lines.jsonl"
    file.write_text(
        '{"text": "add a hat"}\nnonsense\n\n{"text": ""}\n{"no": 1}\n{"text": "make the cat black", "id": "7"}\n'
    )
    first, second, third, fourth, last = parse_lines(file)
    assert first["steps"][0]["to"] == "hat"
    assert [set(line) & {"error"} for line in (second, third, fourth)] == [{"error"}] * 3
    assert (last["id"], last["steps"][0]["edit_type"]) == ("7", "color")
