"""Calls are recorded, recalled and replayed; nothing is asked twice, and no more is spent than was allowed."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict

from editgauge._util.batching import Ask
from editgauge._util.images import Pixels
from editgauge.errors import BadInputError, UnscorableError
from editgauge.judges import (
    Answer,
    JudgeCard,
    JudgeService,
    Judging,
    LabeledImage,
    NoAnswerError,
    Parameters,
    Price,
    RetryPolicy,
    ask_pairwise,
    ask_scale,
    ask_structured,
    ask_text,
    ask_yes_no,
    open_judge,
)
from editgauge.judges._transcripts import Transcripts, read_transcripts

Asks = Callable[..., list[Any]]


class Change(BaseModel):
    model_config = ConfigDict(extra="forbid")
    what: str
    how_many: int


@pytest.fixture
def judge(served: Any, soon: RetryPolicy, tmp_path: Path) -> Callable[..., Any]:
    usual = {"retries": soon, "transcripts": tmp_path / "transcripts"}
    return lambda **options: open_judge(f"openai:tiny-judge@{served.url}", **{**usual, **options})


@pytest.fixture
def kinds(picture: Callable[[int], Pixels]) -> list[Any]:
    """A question of every kind, and some that get no answer."""
    shown = LabeledImage("The picture:", picture(0))
    pair = ask_pairwise("Which is better?", "add a hat", picture(0), picture(1), picture(2))
    return [
        ask_yes_no("yes-no?", shown),
        ask_scale("scale?", 1, 5, "bad", "good", shown),
        ask_text("free?", shown),
        pair,
        pair.swapped(),
        ask_structured("structure?", Change, shown),
        ask_yes_no("odd?"),
        ask_yes_no("refused?"),
    ]


def answer_of_every_kind(text: str, _: int) -> str:
    said = {
        "yes-no?": '{"answer": "no"}',
        "scale?": '{"answer": 4}',
        "free?": "A hat appeared.",
        "better?": '{"answer": "first"}',
        "structure?": '{"what": "hat", "how_many": 2}',
        "could not read": "unclear",
        "odd?": "Who knows?",
        "refused?": "I cannot help with this picture.",
    }
    return next(value for key, value in said.items() if key in text)


def as_bytes(answers: list[Any]) -> bytes:
    """Everything that came back, as bytes."""
    return "\n".join(
        each.call.to_line().decode() + repr(each.value) if isinstance(each, Answer) else repr((each.fault, str(each)))
        for each in answers
    ).encode()


def test_every_kind_is_answered_recorded_and_replayed_to_the_same_bytes(
    served: Any, judge: Callable[..., Any], ask: Asks, kinds: list[Any], tmp_path: Path
) -> None:
    served.plan = answer_of_every_kind
    first = ask(judge(), *kinds)
    values = [each.value if isinstance(each, Answer) else each.fault for each in first]
    assert values == [
        False,
        4,
        "A hat appeared.",
        "one",
        "two",
        Change(what="hat", how_many=2),
        "unparsable",
        "refused",
    ]
    asked = len(served.requests)
    files = {file: file.read_bytes() for file in (tmp_path / "transcripts").iterdir()}

    again = ask(judge(), *kinds)  # a second run
    replayed = ask(judge(replay=True), *kinds)
    served.shutdown()
    served.server_close()
    elsewhere = open_judge("openai:tiny-judge@http://127.0.0.1:9/v1", transcripts=tmp_path / "transcripts", replay=True)
    offline = ask(elsewhere, *kinds)

    assert as_bytes(again) == as_bytes(replayed) == as_bytes(offline) == as_bytes(first)
    assert len(served.requests) == asked == len(kinds) + 1  # one answer could not be read, and was asked for once more
    assert {file: file.read_bytes() for file in (tmp_path / "transcripts").iterdir()} == files


def test_an_unreadable_answer_is_asked_for_once_more_in_the_asked_form(
    served: Any, judge: Callable[..., Any], ask: Asks, picture: Callable[[int], Pixels], tmp_path: Path
) -> None:
    served.plan = lambda text, seen: "yes" if "could not read" in text else "It surely is, I would say."
    question = ask_yes_no("Is it red?", LabeledImage("It:", picture(0)))
    [answer] = ask(judge(), question)
    first, second = served.requests
    assert answer.value is True
    assert "It surely is, I would say." in second["messages"][0]["content"]  # a text alone: no picture is shown again
    calls = list(read_transcripts(tmp_path / "transcripts"))
    assert [call.fault for call in calls] == ["unparsable", None]
    assert calls[1].question["repairs"] == calls[0].identity
    assert calls[1].question["prompt"] == "repair.v1"
    assert ask(judge(replay=True), question)[0].value is True
    assert len(served.requests) == 2
    assert first["messages"] != second["messages"]


@pytest.mark.parametrize("said", ["unclear", "Who knows?", "I cannot help with that.", ""])
def test_what_is_unreadable_twice_stays_unreadable(
    served: Any, judge: Callable[..., Any], ask: Asks, said: str
) -> None:
    served.plan = lambda text, seen: said if "could not read" in text else "Who knows?"
    [error] = ask(judge(), ask_yes_no("Is it red?"))
    assert (error.fault, len(served.requests)) == ("unparsable", 2)
    assert "Who knows?" in error.message


def test_refusals_and_free_text_are_not_repaired(served: Any, judge: Callable[..., Any], ask: Asks) -> None:
    served.plan = lambda text, seen: "I cannot see any image."
    assert [error.fault for error in ask(judge(), ask_yes_no("Red?"), ask_text("Why?"))] == ["refused", "refused"]
    assert len(served.requests) == 2


def test_replay_tells_what_was_never_asked(served: Any, judge: Callable[..., Any], ask: Asks, tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="no transcripts to replay"):
        judge(replay=True)
    (tmp_path / "transcripts").mkdir()
    [error] = ask(judge(replay=True), ask_yes_no("Is it red?"))
    assert (error.fault, error.reason) == ("not_recorded", "unreachable")
    assert served.requests == []


def test_what_failed_for_a_passing_reason_is_asked_again_and_replayed_as_it_was(
    served: Any, judge: Callable[..., Any], ask: Asks, reply: Any
) -> None:
    served.plan = lambda text, seen: reply(500, "oops")
    [failed] = ask(judge(), ask_yes_no("Is it red?"))
    [replayed] = ask(judge(replay=True), ask_yes_no("Is it red?"))
    assert str(replayed) == str(failed)
    assert failed.fault == "unreachable"
    served.plan = lambda text, seen: "yes"
    assert ask(judge(), ask_yes_no("Is it red?"))[0].value is True
    assert ask(judge(replay=True), ask_yes_no("Is it red?"))[0].value is True


def test_many_who_ask_the_same_at_once_cause_one_call(served: Any, judge: Callable[..., Any], ask: Asks) -> None:
    answers = ask(judge(), *(ask_yes_no("Is it red?") for _ in range(20)))
    assert len(served.requests) == 1
    assert len({answer.call.at for answer in answers}) == 1


def test_another_parameter_wording_picture_or_repetition_is_another_question(
    served: Any, judge: Callable[..., Any], ask: Asks, picture: Callable[[int], Pixels]
) -> None:
    shown = LabeledImage("It:", picture(0)), LabeledImage("That:", picture(1))
    question = ask_yes_no("Is it red?", *shown)
    others = [
        ask_yes_no("Is it blue?", *shown),
        ask_yes_no("Is it red?", LabeledImage("It:", picture(2)), shown[1]),
        ask_yes_no("Is it red?", LabeledImage("This:", picture(0)), shown[1]),
        question.swapped(),
        question.again(1),
    ]
    ask(judge(), question, question, *others)
    assert len(served.requests) == 6
    ask(judge(parameters=Parameters(temperature=0.7)), question)
    ask(judge(parameters=Parameters(seed=3)), question.again(2))
    assert len(served.requests) == 8
    assert served.requests[-1]["seed"] == 5


def test_where_the_model_runs_is_no_part_of_an_answers_identity(
    served: Any, judge: Callable[..., Any], ask: Asks, tmp_path: Path
) -> None:
    ask(judge(), ask_yes_no("Is it red?"))
    moved = open_judge(served.url.join(["openai:tiny-judge@", "/elsewhere"]), transcripts=tmp_path / "transcripts")
    assert ask(moved, ask_yes_no("Is it red?"))[0].value is True
    assert len(served.requests) == 1


def test_a_call_keeps_all_that_decides_and_explains_it(
    judge: Callable[..., Any], ask: Asks, picture: Callable[[int], Pixels], served: Any, tmp_path: Path
) -> None:
    ask(judge(price=Price(1.0, 2.0)), ask_yes_no("Is it red?", LabeledImage("It:", picture(0))))
    [file] = (tmp_path / "transcripts").iterdir()
    stored = json.loads(file.read_bytes().partition(b" ")[2])
    assert stored["asked"]["prompt"] == "yes_no.v1"
    assert "Is it red?" in stored["asked"]["text"]
    assert stored["asked"]["images"][0][0] == "It:"
    assert len(stored["asked"]["images"][0][1]) == 64
    assert stored["asked"]["parameters"]["max_tokens"] == 512
    assert stored["body"]["choices"][0]["message"]["content"] == '{"answer": "yes"}'
    assert stored["endpoint"] == served.url
    assert stored["cost"] == pytest.approx((10 * 1 + 2 * 2) / 1e6)


@pytest.mark.parametrize("at_once", [1, 8])
def test_a_budget_is_never_exceeded(served: Any, judge: Callable[..., Any], ask: Asks, say: Any, at_once: int) -> None:
    served.plan = lambda text, seen: say('{"answer": "yes"}', tokens=(300, 100))  # far more than the estimate
    price, budget = Price(1000.0, 1000.0), 3.05
    options = {
        "price": price,
        "budget": budget,
        "parameters": Parameters(max_tokens=120),
        "client": {"at_once": at_once},
    }
    questions = [ask_yes_no(f"Is it red ({number})?") for number in range(40)]
    first = judge(**options)
    answers = ask(first, *questions)
    answered = [each for each in answers if isinstance(each, Answer)]
    assert 5 <= len(answered) <= 7  # each costs 0.4, and the last may be withheld because it could cost 0.42
    assert {each.fault for each in answers if isinstance(each, NoAnswerError)} == {"budget"}
    assert first.ledger.spent == pytest.approx(0.4 * len(served.requests))
    assert first.ledger.spent <= budget
    continued = judge(**options)  # a continued run knows what was spent
    ask(continued, *questions)
    assert continued.ledger.spent <= budget


def test_the_first_question_with_pictures_shows_what_pictures_cost(
    served: Any, judge: Callable[..., Any], ask: Asks, say: Any, picture: Callable[[int], Pixels]
) -> None:
    served.plan = lambda text, seen: say('{"answer": "yes"}', tokens=(1000 if "dear" in text else 10, 1))
    asked = judge(price=Price(1000.0, 0.0), budget=3.5)
    cheap = [ask_yes_no(f"{number}?") for number in range(3)]
    dear = [ask_yes_no(f"dear {number}?", LabeledImage("It:", picture(0))) for number in range(20)]
    answers = ask(asked, *cheap, *dear)
    assert sum(isinstance(each, Answer) for each in answers) == 6
    assert asked.ledger.spent == pytest.approx(3.03)


def test_attempts_that_may_have_been_charged_for_count(
    served: Any, judge: Callable[..., Any], ask: Asks, reply: Any
) -> None:
    served.plan = lambda text, seen: reply(hang=5.0)
    options = {"price": Price(0.0, 1000.0), "budget": 1.0, "retries": RetryPolicy(timeout=0.4, first_wait=0.002)}
    asked = judge(parameters=Parameters(max_tokens=400), **options)
    [error] = ask(asked, ask_yes_no("Is it red?"))
    assert len(served.requests) == 2  # a third attempt could have gone over it
    assert error.fault == "budget"
    assert asked.ledger.spent == pytest.approx(0.8)


def test_an_endpoint_that_does_not_count_is_charged_by_estimate(
    served: Any, judge: Callable[..., Any], ask: Asks, say: Any
) -> None:
    served.plan = lambda text, seen: {**say("yes"), "usage": None}
    asked = judge(price=Price(0.0, 1000.0), budget=5.0, parameters=Parameters(max_tokens=1000))
    answers = ask(asked, *(ask_yes_no(f"{number}?") for number in range(9)))
    assert sum(isinstance(each, Answer) for each in answers) == 5


def test_a_dry_run_asks_nothing_and_bounds_the_cost(
    served: Any, judge: Callable[..., Any], ask: Asks, picture: Callable[[int], Pixels]
) -> None:
    questions = [ask_yes_no(f"{number}?", LabeledImage("It:", picture(number))) for number in range(10)]
    price = Price(2.0, 8.0)
    planned = judge(price=price).estimate([*questions, questions[0]])
    assert (planned.questions, planned.recorded, planned.calls) == (10, 0, 10)
    assert (planned.repairs, planned.completion_tokens) == (10, 20 * 512)
    assert served.requests == []
    spent = judge(price=price)
    ask(spent, *questions[:6])
    assert 0 < spent.ledger.spent < planned.cost
    assert judge().estimate(questions).recorded == 6


def test_a_budget_without_a_price_is_refused(judge: Callable[..., Any]) -> None:
    with pytest.raises(BadInputError, match="needs a price"):
        judge(budget=1.0)


def test_protocols_ask_by_role_through_a_shared_layer(served: Any, judge: Callable[..., Any]) -> None:
    async def score() -> tuple[bool, int]:
        layer = Ask()
        async with judge(ask=layer) as model:
            see: Judging = JudgeService({"judge": model})
            answer = await see.ask(ask_yes_no("Is it red?"))
            assert see.judge().card == JudgeCard("tiny-judge", served.url, Parameters())
            with pytest.raises(UnscorableError, match="no judge for the role 'matcher'"):
                see.judge("matcher")
        layer.close()
        return answer.value, len(served.requests)

    assert asyncio.run(score()) == (True, 1)


ASK_MANY = """
import asyncio, sys
from editgauge.judges import ask_yes_no, open_judge

async def main(url, folder, count):
    async with open_judge(f"openai:tiny-judge@{url}", transcripts=folder, client={"at_once": 4}) as judge:
        await asyncio.gather(*(judge.ask(ask_yes_no(f"Is it red (#{number})?")) for number in range(count)))

asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
"""


def number_in(text: str) -> int:
    return int(text.partition("#")[2].partition(")")[0])


def truth(number: int) -> bool:
    return number % 3 == 0


def unruly(say: Any, reply: Any) -> Callable[[str, int], Any]:
    """One in five goes wrong, each time in another way; what is answered is right."""

    def plan(text: str, seen: int) -> Any:
        number = number_in(text)
        right = "yes" if truth(number) else "no"
        dice = random.Random(f"{number} {seen}")
        if dice.random() >= 0.2:
            return dice.choice((f'{{"answer": "{right}"}}', right.title() + ".", f"Answer: {right}"))
        faults = [
            reply(429, "slow", {"Retry-After": "0.01"}),
            reply(500, "oops"),
            reply(503, "busy"),
            reply(hang=1.3),
            reply(cut=-1),
            reply(content='{"choices": [{"message": {"content": "yes', cut=25),
            reply(content="<html>yes</html>"),
            reply(content='{"choices": [{"message": {"content": "yes"}'),
            say("I'm sorry, I can't help with that."),
            say(None, refusal="no"),
            say("yes", finish="content_filter"),
            say("yes", finish="length"),
            say("It is hard to say yes or no."),
            say(right, model="another-model"),
        ]
        return dice.choice(faults)

    return plan


def soak(served: Any, say: Any, reply: Any, ask: Any, folder: Path, calls: int) -> None:
    served.plan = unruly(say, reply)
    retries = RetryPolicy(attempts=6, timeout=1.0, first_wait=0.002)
    judge = open_judge(f"openai:tiny-judge@{served.url}", transcripts=folder, retries=retries, repair=False)
    questions = [ask_yes_no(f"Is it red (#{number})?") for number in range(calls)]
    answers = ask(judge, *questions)
    answered = {place: each.value for place, each in enumerate(answers) if isinstance(each, Answer)}
    typed = [each.fault for each in answers if not isinstance(each, Answer)]
    assert answered == {place: truth(place) for place in answered}
    assert len(answered) + len(typed) == calls
    assert 0.85 * calls < len(answered) < calls
    assert {"refused", "filtered", "truncated", "unparsable", "wrong_model"} <= set(typed)
    assert sum(judge.transcripts.counts().values()) == calls
    attempts = {call.question["text"]: call.attempts for call in judge.transcripts}
    assert {text for text, seen in served.seen.items() if seen > len(attempts[text])} == set()
    assert all("answered" not in each[:-1] for each in attempts.values())
    before = len(served.requests)
    passing = ("unreachable", "wrong_model")
    settled = [place for place, each in enumerate(answers) if getattr(each, "fault", "") not in passing]
    again = open_judge(f"openai:tiny-judge@{served.url}", transcripts=folder, repair=False)
    ask(again, *(questions[place] for place in settled))
    assert len(served.requests) == before


@pytest.mark.slow
def test_a_few_hundred_calls_with_faults(served: Any, say: Any, reply: Any, ask: Any, tmp_path: Path) -> None:
    soak(served, say, reply, ask, tmp_path, 300)


@pytest.mark.slow
def test_two_thousand_calls_with_faults(served: Any, say: Any, reply: Any, ask: Any, tmp_path: Path) -> None:
    soak(served, say, reply, ask, tmp_path, 2000)


@pytest.mark.slow
def test_a_kill_loses_no_recorded_answer_and_repeats_none(served: Any, ask: Any, tmp_path: Path) -> None:
    def slowly(text: str, _: int) -> str:
        time.sleep(0.01)
        return "yes" if truth(number_in(text)) else "no"

    served.plan = slowly
    folder, count, at_once = tmp_path / "transcripts", 150, 4
    running = subprocess.Popen([sys.executable, "-c", ASK_MANY, served.url, str(folder), str(count)])
    while not any(file.read_bytes().count(b"\n") >= 20 for file in folder.glob("*.jsonl")):
        assert running.poll() is None
        time.sleep(0.005)
    os.kill(running.pid, signal.SIGKILL)
    running.wait()
    recorded = {number_in(call.question["text"]) for call in read_transcripts(folder)}
    assert 20 <= len(recorded) < count

    judge = open_judge(f"openai:tiny-judge@{served.url}", transcripts=folder)
    answers = ask(judge, *(ask_yes_no(f"Is it red (#{number})?") for number in range(count)))
    assert [each.value for each in answers] == [truth(number) for number in range(count)]
    asked_twice = {number_in(text) for text, times in served.seen.items() if times > 1}
    assert asked_twice & recorded == set()
    assert len(asked_twice) <= at_once
    assert len(Transcripts(folder)) == count
