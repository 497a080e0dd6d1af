"""EditInspector's questions, put to a judge behind a real endpoint: answers, refusals, feedback, steadiness, replay."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from editgauge import run
from editgauge._util.images import ImageFile
from editgauge.errors import BadInputError
from editgauge.evidence import Note
from editgauge.judges import JudgeService, open_judge
from editgauge.protocols import open_protocol
from editgauge.protocols._watermark import NOTE
from editgauge.results import Run
from editgauge.types import Edit, Item, Outcome, Score, Scores, Unscored
from tests.endpoint import MODEL, Served

ASKED = {
    "Was the request carried out?": "edit",
    "Does the changed part fit": "consistent",
    "Is the changed part cleanly made": "precise",
    "Did the change leave clear traces": "artifacts",
    "wrote down what the main difference": "caption_right",
    "out of keeping with the request": "why not consistent",
    "Where is the changed part not cleanly made": "why not precise",
    "a point in common": "shared",
    "Another program could not read": "repair",
}
"""What of a prompt tells which question it is."""
CAPTION = {"difference_caption": "The grey counter became white."}
ALL_YES = {
    **dict.fromkeys(ASKED.values(), "yes"),
    "repair": "unclear",
    "why not consistent": "No shadow.",
    "why not precise": "Blurred.",
}
REFUSAL = "I'm sorry, but I can't help with that."


def question(text: str) -> str:
    (result,) = [name for words, name in ASKED.items() if words in text]
    return result


def answering(answers: Mapping[str, str]) -> Callable[[str, int], str]:
    return lambda text, seen: answers[question(text)]


def asked(served: Served) -> list[str]:
    return sorted(
        question(request["messages"][0]["content"][-1]["text"]) for request in served.requests if _shows(request)
    )


def _shows(request: Mapping[str, Any]) -> bool:
    return isinstance(request["messages"][0]["content"], list)


def inspect(served: Served, name: str = f"editinspector[{MODEL}]", **extras: Any) -> Scores:
    rng = np.random.default_rng(0)
    source, edited = (rng.integers(0, 256, (16, 20, 3), dtype=np.uint8) for _ in range(2))
    edit = Edit(
        id="e", source=ImageFile("p", Path("/p")), type="color", instruction="Let the counter be white.", extras=extras
    )
    outcome = Outcome(edit_id="e", method="m", image=Path("/o"))

    async def score() -> Scores:
        async with open_judge(f"openai:{MODEL}@{served.url}") as judge:
            perception: Any = JudgeService({MODEL: judge})
            return await open_protocol(name).score(
                Item(edit=edit, outcome=outcome, source=source, edited=edited), perception
            )

    return asyncio.run(score())


def values(scores: Scores) -> dict[str, float | str]:
    return {name: entry.value if isinstance(entry, Score) else entry.reason for name, entry in scores.items()}


def notes(score: Score | Unscored) -> list[str]:
    return [piece.text for piece in score.evidence if isinstance(piece, Note)]


def test_five_answers_are_five_scores_and_name_their_calls(served: Served) -> None:
    served.plan = answering({**ALL_YES, "artifacts": '{"answer": "no"}'})
    scores = inspect(served, **CAPTION)
    assert values(scores) == {
        "edit": 1.0,
        "consistent": 1.0,
        "precise": 1.0,
        "artifacts": 0.0,
        "caption_right": 1.0,
        "feedback_shared_consistent": "not_applicable",
        "feedback_shared_precise": "not_applicable",
    }
    (note,) = notes(scores["artifacts"])
    assert note.startswith(f"artifacts: {MODEL} answers no (inspect_artifacts.v1, call ")
    assert asked(served) == sorted(["edit", "consistent", "precise", "artifacts", "caption_right"])


def test_the_judge_sees_both_pictures_in_order_and_reads_instruction_and_caption(served: Served) -> None:
    served.plan = answering(ALL_YES)
    inspect(served, **CAPTION)
    for request in served.requests:
        *shown, last = request["messages"][0]["content"]
        assert [part["text"] for part in shown if part["type"] == "text"] == [
            "The picture before the change:",
            "The picture after the change:",
        ]
        assert "Let the counter be white." in last["text"]
        assert (CAPTION["difference_caption"] in last["text"]) == (question(last["text"]) == "caption_right")


def test_without_a_caption_nothing_is_asked_about_it(served: Served) -> None:
    served.plan = answering(ALL_YES)
    assert values(inspect(served))["caption_right"] == "not_applicable"
    assert "caption_right" not in asked(served)


@pytest.mark.parametrize(
    ("said", "reason"), [(REFUSAL, "refused"), ("Yes and no.", "unparsable"), ("perhaps", "unparsable")]
)
def test_what_is_no_answer_is_unscored_and_takes_no_other_score_with_it(served: Served, said: str, reason: str) -> None:
    served.plan = answering({**ALL_YES, "edit": said, "consistent": said})
    told = values(inspect(served, **CAPTION))
    assert [told[name] for name in ("edit", "consistent", "precise", "artifacts")] == [reason, reason, 1.0, 1.0]


def test_what_is_wrong_is_asked_where_the_answer_is_no(served: Served) -> None:
    served.plan = answering({**ALL_YES, "consistent": "no"})
    scores = inspect(served)
    assert values(scores)["consistent"] == 0
    told = f"consistent: {MODEL} says: No shadow. (inspect_feedback_consistent.v1, call "
    assert notes(scores["consistent"])[1].startswith(told)
    assert "why not precise" not in asked(served)
    assert values(scores)["feedback_shared_consistent"] == "not_applicable"


def test_an_answer_counts_without_an_explanation(served: Served) -> None:
    served.plan = answering({**ALL_YES, "precise": "no", "why not precise": REFUSAL})
    scores = inspect(served, feedback={"precise": ["The edges are blurred."]})
    assert values(scores)["precise"] == 0
    assert values(scores)["feedback_shared_precise"] == "refused"
    assert "does not say what is wrong" in notes(scores["precise"])[1]


@pytest.mark.parametrize(("said", "value"), [("yes", 1.0), ("no", 0.0), (REFUSAL, "refused")])
def test_feedback_is_compared_with_that_of_people_by_a_grader(served: Served, said: str, value: float | str) -> None:
    served.plan = answering({**ALL_YES, "shared": said})
    graded = f"editinspector[{MODEL},grader={MODEL}]"
    scores = inspect(served, graded, feedback={"consistent": ["No shadow under it.", "Too large."]})
    assert values(scores)["feedback_shared_consistent"] == value
    assert values(scores)["feedback_shared_precise"] == "not_applicable"
    (compared,) = [request for request in served.requests if not _shows(request)]
    text = compared["messages"][0]["content"]
    assert "First remark: No shadow.\nSecond remark: No shadow under it.\nToo large." in text
    if value == 1.0:
        told = "consistent: people say: No shadow under it. / Too large."
        assert notes(scores["feedback_shared_consistent"])[1] == told


@pytest.mark.parametrize(
    ("people", "value"),
    [(["No shadow under it."], 1.0), (["Too large."], 0.0), (["Hm."], "unparsable")],
)
def test_without_a_grader_the_kinds_of_issue_tell_whether_a_point_is_shared(
    served: Served, people: list[str], value: float | str
) -> None:
    served.plan = answering(ALL_YES)
    scores = inspect(served, feedback={"consistent": people})
    assert values(scores)["feedback_shared_consistent"] == value
    assert all(_shows(request) for request in served.requests)  # nobody is asked whether remarks share a point


def test_another_judge_may_grade_the_feedback(served: Served) -> None:
    served.plan = answering({**ALL_YES, "shared": "yes"})
    other = f"editinspector[grader=nobody,{MODEL}]"
    scores = inspect(served, other, feedback={"consistent": ["No shadow under it."]})
    assert values(scores)["feedback_shared_consistent"] == "no_model"
    assert open_protocol(f"editinspector[grader=rules,{MODEL}]").name == f"editinspector[{MODEL}]"


def test_asked_again_the_majority_counts_and_steadiness_is_measured(served: Served) -> None:
    served.plan = lambda text, seen: "no" if question(text) == "edit" and seen == 1 else "yes"
    scores = inspect(served, f"editinspector[{MODEL},repeat=3]", **CAPTION)
    assert values(scores)["edit"] == 1
    assert len(served.requests) == 15
    assert values(scores)["self_agreement"] == pytest.approx((4 + 1 / 3) / 5)


def test_in_the_other_order_the_judge_may_answer_otherwise(served: Served) -> None:
    served.plan = lambda text, seen: "no" if question(text) in {"edit", "artifacts"} and seen == 1 else "yes"
    scores = inspect(served, f"editinspector[{MODEL},swap]")
    assert len(served.requests) == 8
    labels = [request["messages"][0]["content"][0]["text"] for request in served.requests]
    assert Counter(labels) == {"The picture before the change:": 4, "The picture after the change:": 4}
    assert values(scores)["order_agreement"] == 0.5
    assert len(notes(scores["edit"])) == 2


def test_it_is_named_after_its_judge_and_its_options() -> None:
    plain = open_protocol("editinspector")
    assert plain.with_models({"judge": "gpt-4o"}).name == "editinspector[gpt-4o]"
    assert (
        open_protocol("editinspector[swap,repeat=3]").with_models({"judge": "a"}).name
        == "editinspector[a,repeat=3,swap]"
    )
    named = open_protocol("editinspector[gpt-4o]")
    assert named.with_models({}).name == named.with_models({"judge": "other"}).name == "editinspector[gpt-4o]"


@pytest.mark.parametrize("name", ["a,b", "repeat=2", "repeat=1", "repeat=x", "swap=1", "gpt=4"])
def test_options_it_does_not_have_are_explained(name: str) -> None:
    with pytest.raises(BadInputError, match="editinspector"):
        open_protocol(f"editinspector[{name}]")


@pytest.mark.slow
def test_a_replayed_run_gives_the_same_rows_without_a_call(
    served: Served, tmp_path: Path, make_benchmark: Callable[..., Path], make_outcomes: Callable[..., Path]
) -> None:
    served.plan = answering({**ALL_YES, "consistent": "no", "precise": REFUSAL})
    benchmark = make_benchmark(tmp_path / "set", 3)
    outcomes = {"mine": make_outcomes(benchmark, tmp_path / "mine")}
    judge = [f"openai:{MODEL}@{served.url}"]
    first = run(benchmark, outcomes=outcomes, protocol=["editinspector"], out=tmp_path / "run", judge=judge, quiet=True)
    calls = len(served.requests)
    assert calls == 3 * 5
    (tmp_path / "again").mkdir()
    (tmp_path / "run" / "transcripts").rename(tmp_path / "again" / "transcripts")
    second = run(
        benchmark,
        outcomes=outcomes,
        protocol=["editinspector"],
        out=tmp_path / "again",
        judge=judge,
        replay=True,
        quiet=True,
    )
    assert len(served.requests) == calls
    assert rows(first) == rows(second)
    assert b'"consistent", 0.0' in rows(first)
    assert b'"refused"' in rows(first)


def rows(result: Run) -> bytes:
    """Every score with its reason and its evidence, which is kept in the order in which outcomes were done."""
    columns = ("edit", "method", "protocol", "name", "value", "reason", "detail")
    scores = list(zip(*(result.scores[column].to_pylist() for column in columns), strict=True))
    return json.dumps([scores, sorted(map(str, result.iter_evidence()))]).encode()


@pytest.mark.parametrize("reply", [REFUSAL, "Yes and no.", "perhaps", "No, it was not."])
def test_as_released_whatever_is_no_yes_is_a_no_without_a_repair_question(served: Served, reply: str) -> None:
    served.plan = answering({**ALL_YES, "artifacts": reply})
    scores = values(inspect(served, f"editinspector@released[{MODEL}]", **CAPTION))
    assert (scores["artifacts"], scores["edit"]) == (1.0 if reply.startswith("Yes") else 0.0, 1.0)
    assert "repair" not in [question(request["messages"][0]["content"][-1]["text"]) for request in served.requests]


def test_as_released_the_corner_mark_is_painted_over_in_both_pictures() -> None:
    released = open_protocol("editinspector@released")
    assert released.name == "editinspector@released"
    assert released.variant({"gpt-4o": "", "swap": ""}).name == "editinspector@released[gpt-4o,swap]"
    assert released.deviations[-1].endswith(NOTE)
