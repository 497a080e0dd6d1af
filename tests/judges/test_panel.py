"""Panels: several judges behind a real endpoint as one."""

from __future__ import annotations

import asyncio
import json
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from editgauge.errors import BadInputError, UnscorableError
from editgauge.judges import Answer, JudgeService, NoAnswerError, Question, ask_scale, ask_text, ask_yes_no, open_judge
from editgauge.judges._panel import combine, combine_orders, panel_members, panel_name, position_bias, self_consistency
from editgauge.judges._questions import Choice
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


CHOICES: st.SearchStrategy[Any] = st.sampled_from(["one", "two", "tie"])


def test_a_judge_that_only_sees_the_order_is_found_out() -> None:
    always_first = position_bias([("one", "two")] * 10)
    assert (always_first.consistent, always_first.towards_first) == (0.0, 1.0)
    always_second = position_bias([("two", "one")] * 10)
    assert (always_second.consistent, always_second.towards_first) == (0.0, -1.0)


@given(st.lists(CHOICES, min_size=1))
def test_a_judge_that_sees_the_edits_alone_has_no_bias(verdicts: list[Choice]) -> None:
    result = position_bias([(verdict, verdict) for verdict in verdicts])
    assert (result.consistent, result.towards_first) == (1.0, 0.0)


@given(st.lists(st.tuples(CHOICES, CHOICES), min_size=1))
def test_showing_all_pairs_the_other_way_round_turns_the_bias(verdicts: list[tuple[Choice, Choice]]) -> None:
    result, turned = position_bias(verdicts), position_bias([(after, given) for given, after in verdicts])
    assert result.towards_first == -turned.towards_first
    assert result.consistent == turned.consistent


@given(st.lists(st.lists(st.integers(0, 2), min_size=2, max_size=6), min_size=1, max_size=5))
def test_agreement_is_the_share_of_equal_pairs(answers: list[list[int]]) -> None:
    shares = [sum(a == b for a, b in combinations(item, 2)) / len(list(combinations(item, 2))) for item in answers]
    result = self_consistency(answers)
    assert result.agreement == pytest.approx(sum(shares) / len(shares))
    assert result.unanimous == sum(share == 1 for share in shares) / len(shares)


def test_nothing_is_said_of_nothing() -> None:
    with pytest.raises(UnscorableError, match="both orders"):
        position_bias([])
    with pytest.raises(UnscorableError, match="more than once"):
        self_consistency([[1], []])


def test_two_orders_settle_a_verdict_unless_they_contradict() -> None:
    assert [combine_orders("one", "one"), combine_orders("tie", "two"), combine_orders("tie", "tie")] == [
        "one",
        "two",
        "tie",
    ]
    assert combine_orders("one", "two") is None
