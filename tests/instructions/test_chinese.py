"""Chinese instructions in common patterns."""

from __future__ import annotations

import pytest

from editgauge.instructions import parse_instruction
from tests.instructions.accuracy import counts


def test_labeled_chinese_instructions_are_parsed() -> None:
    row = counts("chinese.jsonl")["all"]
    assert row["types"] / row["all"] >= 0.95
    assert row["sure_types"] / row["sure"] >= 0.95


@pytest.mark.parametrize(
    ("text", "step"),
    [
        ("把狗换成一只猫", ("object_replacement", "dog", "cat")),
        ("去掉照片里的路人", ("object_removal", "passerby", None)),
        ("给小女孩戴上一顶红色的帽子", ("object_addition", "girl", "red hat")),
        ("背景换成海滩", ("background", None, "beach")),
        ("变成水彩画风格", ("style", None, "watercolor painting")),
        ("在黑板上写上“你好”", ("text", "blackboard", "你好")),
    ],
)
def test_common_chinese_patterns_are_parsed(text: str, step: tuple[str, str | None, str | None]) -> None:
    (actual,) = parse_instruction(text).steps
    assert (actual.type, actual.subject, actual.to) == step
    assert actual.sure


def test_other_chinese_is_not_understood_and_advises_a_judge() -> None:
    parsed = parse_instruction("给这首诗配一段合适的旋律")
    assert [step.type for step in parsed.steps] == ["unspecified"]
    assert "judge" in parsed.left
