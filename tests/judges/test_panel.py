"""Panels: several judges behind a real endpoint as one."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from editgauge.errors import BadInputError
from editgauge.judges import Answer, JudgeService, NoAnswerError, Question, ask_scale, ask_text, ask_yes_no, open_judge
from editgauge.judges._panel import combine, panel_members, panel_name
from tests.endpoint import Served, say

SAYS = {"strict": "2", "kind": "5", "fair": "4", "mute": "I cannot help with that."}


def asked(served: Served, role: str, question: Question[Any]) -> Any:
    async def run() -> Any:
        judges = {name: open_judge(f"openai:{name}@{served.url}") for name in SAYS}
        try:
            return await JudgeService(judges).ask(question, role)
        except NoAnswerError as error:
            return error
        finally:
            for judge in judges.values():
                await judge.__aexit__()

    return asyncio.run(run())


@pytest.fixture
def panel(served: Served) -> Served:
    def plan(text: str, seen: int) -> Any:
        model = served.requests[-1]["model"]
        value = SAYS[model]
        if "Is it" in text and value.isdigit():
            value = json.dumps({"answer": "yes" if int(value) > 3 else "no"})
        return say(value, model=model)

    served.plan = plan
    return served


@pytest.mark.parametrize(
    ("role", "value"),
    [("median(strict+kind+fair)", 4.0), ("mean(strict+kind)", 3.5), ("median(strict+mute+fair)", 3.0)],
)
def test_numbers_are_combined_by_the_way_of_the_panel(panel: Served, role: str, value: float) -> None:
    lock = panel.lock
    with lock:
        pass
    answer = asked(panel, role, ask_scale("How good?", 1, 5, "bad", "good"))
    assert isinstance(answer, Answer)
    assert answer.value in (value, pytest.approx(value))
    assert set(answer.members or {}) == set(panel_members(role)) - {"mute"}


def test_yes_and_no_go_by_majority_and_a_split_panel_says_nothing(panel: Served) -> None:
    assert asked(panel, "median(strict+kind+fair)", ask_yes_no("Is it good?")).value is True
    split = asked(panel, "majority(strict+kind)", ask_yes_no("Is it good?"))
    assert isinstance(split, NoAnswerError)
    assert "the panel is split (strict: False, kind: True)" in str(split)


def test_a_quorum_must_answer(panel: Served) -> None:
    failed = asked(panel, "median3(strict+mute+fair)", ask_scale("How good?", 1, 5, "bad", "good"))
    assert isinstance(failed, NoAnswerError)
    assert (failed.fault, failed.reason) == ("refused", "refused")
    assert "2 of 3 judges answered, 3 are needed" in failed.detail


def test_texts_are_not_combined(panel: Served) -> None:
    assert "cannot combine texts" in str(asked(panel, "median(strict+kind)", ask_text("Why?")))


def test_ratings_are_combined_each_for_itself() -> None:
    assert combine("median", {"a": {"x": 1.0, "y": 5.0}, "b": {"x": 3.0, "y": 5.0}}) == {"x": 2.0, "y": 5.0}
    assert combine("majority", {"a": 1.0, "b": 3.0, "c": 3.0}) == 3.0


@pytest.mark.parametrize(
    ("way", "members", "quorum", "message"),
    [
        ("best", ["a", "b"], None, "must be one of median, mean, majority; got 'best'"),
        ("mean", ["a"], None, "needs at least two judges"),
        ("mean", ["a", "b"], 3, "must be between 1 and 2"),
        ("mean", ["a+b", "c"], None, "must not have"),
    ],
)
def test_a_panel_that_could_never_answer_is_refused(
    way: str, members: list[str], quorum: int | None, message: str, tmp_path: Path
) -> None:
    with pytest.raises(BadInputError, match=message):
        panel_name(way, members, quorum)
