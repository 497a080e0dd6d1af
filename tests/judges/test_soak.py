"""Many calls with many faults, and a kill in the middle: all answered or typed, none twice, none invented."""

from __future__ import annotations

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

from editgauge.judges import Answer, RetryPolicy, ask_yes_no, open_judge
from editgauge.judges._transcripts import Transcripts, read_transcripts

pytestmark = pytest.mark.slow

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
    attempts = {call.asked["text"]: call.attempts for call in judge.transcripts}
    assert {text for text, seen in served.seen.items() if seen > len(attempts[text])} == set()
    assert all("answered" not in each[:-1] for each in attempts.values())
    before = len(served.requests)
    passing = ("unreachable", "wrong_model")
    settled = [place for place, each in enumerate(answers) if getattr(each, "fault", "") not in passing]
    again = open_judge(f"openai:tiny-judge@{served.url}", transcripts=folder, repair=False)
    ask(again, *(questions[place] for place in settled))
    assert len(served.requests) == before


def test_a_few_hundred_calls_with_faults(served: Any, say: Any, reply: Any, ask: Any, tmp_path: Path) -> None:
    soak(served, say, reply, ask, tmp_path, 300)


def test_two_thousand_calls_with_faults(served: Any, say: Any, reply: Any, ask: Any, tmp_path: Path) -> None:
    soak(served, say, reply, ask, tmp_path, 2000)


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
    recorded = {number_in(call.asked["text"]) for call in read_transcripts(folder)}
    assert 20 <= len(recorded) < count

    judge = open_judge(f"openai:tiny-judge@{served.url}", transcripts=folder)
    answers = ask(judge, *(ask_yes_no(f"Is it red (#{number})?") for number in range(count)))
    assert [each.value for each in answers] == [truth(number) for number in range(count)]
    asked_twice = {number_in(text) for text, times in served.seen.items() if times > 1}
    assert asked_twice & recorded == set()
    assert len(asked_twice) <= at_once
    assert len(Transcripts(folder)) == count
