"""What guessing costs, on answers behind a real endpoint: each peer's rule by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from editgauge.audits.guess_cost import guess_cost
from editgauge.errors import BadInputError
from editgauge.judges import Question, RetryPolicy, ask_yes_no, open_judge
from editgauge.judges._questions import Ratings
from editgauge.judges.prompts import RenderedPrompt

ANSWERS = {
    "a?": '{"quality": 5, "reasoning": "fine"}',
    "b?": "Quality: 3",
    "c?": "It deserves a solid 4, I think.",
    "d?": "I'm sorry, but I can't help with that.",
    "e?": "Hard to put in numbers.",
}


def test_each_rule_makes_another_mean_of_the_same_answers(
    served: Any, ask: Callable[..., list[Any]], soon: RetryPolicy, reply: Any, tmp_path: Path
) -> None:
    def plan(text: str, seen: int) -> Any:
        if "could not read" in text:
            return '{"quality": 4, "reasoning": "said so"}' if "solid 4" in text else "unclear"
        return ANSWERS.get(text) or reply(400, "no")

    served.plan = plan
    form = Ratings((("quality", ()),), 1, 5)
    questions = [Question(words=RenderedPrompt("rubric_x", 1, text), form=form) for text in (*ANSWERS, "f?")]
    ask(open_judge(f"openai:tiny-judge@{served.url}", transcripts=tmp_path, retries=soon), *questions)
    (result,) = guess_cost(tmp_path)
    counts = result.questions, result.read, result.repaired, result.unreadable, result.failed
    assert counts == (6, 2, 1, 3, 1)
    assert result.mean == pytest.approx((5 + 3 + 4) / 3)
    assert result.means == {
        "ImgEdit, RISE": 4.0,
        "VIEScore, GEdit": pytest.approx((5 + 3 + 3 * 3) / 5),
        "lmms-eval": pytest.approx((5 + 3 + 3 * 3 + 0) / 6),
        "KRIS": pytest.approx((5 + 3 + 4) / 3),
        "EditScore": pytest.approx((5 + 3 + 3 * 4) / 6),
        "HQ-Edit": pytest.approx((5 + 3) / 6),
    }
    assert result.spread["VIEScore, GEdit"] == pytest.approx(2 * (3 * 24 / 12) ** 0.5 / 5)


def test_answers_without_numbers_cost_nothing(served: Any, ask: Callable[..., list[Any]], tmp_path: Path) -> None:
    ask(open_judge(f"openai:tiny-judge@{served.url}", transcripts=tmp_path / "t"), ask_yes_no("Is it red?"))
    with pytest.raises(BadInputError, match="hold no answer with numbers"):
        guess_cost(tmp_path / "t")
    with pytest.raises(BadInputError, match="no transcripts at"):
        guess_cost(tmp_path / "nowhere")
