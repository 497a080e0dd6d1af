"""The client against an endpoint on a real socket, in good order and in bad."""

from __future__ import annotations

import asyncio
import base64
import gzip
import io
import json
import socket
import threading
from collections.abc import Callable
from email.utils import formatdate
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from editgauge._util.endpoints import retry_after
from editgauge._util.images import Pixels
from editgauge.engine._judges import read_judge_config
from editgauge.errors import BadInputError
from editgauge.judges import (
    Answer,
    LabeledImage,
    NoAnswerError,
    Parameters,
    RetryPolicy,
    ask_scale,
    ask_text,
    ask_yes_no,
    open_judge,
)
from editgauge.judges._endpoint import open_endpoint, parse_reply, same_model
from editgauge.options import JudgeOptions

YES = '{"answer": "yes"}'
Asks = Callable[..., list[Any]]


@pytest.fixture
def judge(served: Any, soon: RetryPolicy) -> Callable[..., Any]:
    return lambda **options: open_judge(f"openai:tiny-judge@{served.url}", **{"retries": soon, **options})


def test_a_question_travels_with_its_pictures_and_its_schema(
    served: Any, judge: Callable[..., Any], ask: Asks, picture: Callable[[int], Pixels]
) -> None:
    before, after = picture(1), picture(2)
    [answer] = ask(judge(), ask_yes_no("Is it red?", LabeledImage("Before:", before), LabeledImage("After:", after)))
    assert answer.value is True
    [request] = served.requests
    assert (request["path"], request["model"], request["temperature"]) == ("/v1/chat/completions", "tiny-judge", 0.0)
    assert request["response_format"]["json_schema"]["schema"]["properties"]["answer"]["enum"] == ["yes", "no"]
    first, image, second, other, words = request["messages"][0]["content"]
    assert (first["text"], second["text"]) == ("Before:", "After:")
    assert "Is it red?" in words["text"]
    for part, sent in ((image, before), (other, after)):
        kind, _, content = part["image_url"]["url"].partition(",")
        assert kind == "data:image/png;base64"
        np.testing.assert_array_equal(np.asarray(Image.open(io.BytesIO(base64.b64decode(content)))), sent)
    assert (answer.call.model, answer.call.prompt_tokens, answer.call.attempts) == ("tiny-judge", 10, ("answered",))


def test_pictures_are_made_smaller_and_encoded_as_asked(served: Any, judge: Callable[..., Any], ask: Asks) -> None:
    large = np.zeros((40, 100, 3), np.uint8)
    ask(judge(parameters=Parameters(most_side=50, encoding="jpeg")), ask_yes_no("Black?", LabeledImage("It:", large)))
    url = served.requests[0]["messages"][0]["content"][1]["image_url"]["url"]
    assert url.startswith("data:image/jpeg;base64,")
    assert Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2]))).size == (50, 20)


def test_a_question_without_pictures_is_plain_text(served: Any, judge: Callable[..., Any], ask: Asks) -> None:
    served.plan = lambda text, seen: "A horse became a zebra."
    [answer] = ask(judge(), ask_text("What changed?"))
    assert answer.value == "A horse became a zebra."
    assert isinstance(served.requests[0]["messages"][0]["content"], str)
    assert "response_format" not in served.requests[0]


@pytest.mark.parametrize(
    ("trouble", "told"),
    [
        ({"status": 429, "content": "slow down", "headers": {"Retry-After": "0"}}, "429 slow down"),
        ({"status": 500, "content": "oops"}, "500 oops"),
        ({"status": 529, "content": "overloaded"}, "529 overloaded"),
        ({"hang": 1.5}, "no answer within 0.5 seconds"),
        ({"content": " " * 30, "drip": 0.1}, "no answer within 0.5 seconds"),
        ({"content": '{"choices": [{"message"', "cut": 10}, "the connection broke"),
        ({"cut": -1}, "the connection broke"),
        ({"content": '{"choices": [{"mess'}, "not a chat completion"),
        ({"content": "<html>Gateway</html>"}, "a response (text/html) that is not a chat completion: <html>"),
        ({"content": {"choices": []}}, "not a chat completion"),
        ({"content": {"choices": [{"message": {"content": 7}}]}}, "not a chat completion"),
        ({"content": {"error": {"code": 502, "message": "upstream"}}}, "502"),
    ],
)
def test_what_passes_is_tried_again(
    served: Any, judge: Callable[..., Any], ask: Asks, reply: Any, trouble: dict[str, Any], told: str
) -> None:
    served.plan = lambda text, seen: reply(**trouble) if seen == 0 else YES
    retries = RetryPolicy(timeout=0.5 if {"hang", "drip"} & set(trouble) else 20.0, first_wait=0.002)
    [answer] = ask(judge(retries=retries), ask_yes_no("Is it red?"))
    assert answer.value is True
    assert told in answer.call.attempts[0]
    assert answer.call.attempts[-1] == "answered"
    assert len(served.requests) == len(answer.call.attempts)


@pytest.mark.parametrize(
    ("planned", "fault", "reason"),
    [
        ({"text": None, "refusal": "I will not look at this."}, "refused", "refused"),
        ({"text": "I'm sorry, but I can't help with that."}, "refused", "refused"),
        ({"text": "", "finish": "content_filter"}, "filtered", "refused"),
        ({"text": YES, "finish": "content_filter"}, "filtered", "refused"),
        ({"text": '{"answer": "y', "finish": "length"}, "truncated", "unparsable"),
        ({"text": YES, "finish": "length"}, "truncated", "unparsable"),
        ({"text": "Perhaps."}, "unparsable", "unparsable"),
        ({"text": '{"answer": "maybe"}'}, "unparsable", "unparsable"),
        ({"text": ""}, "unparsable", "unparsable"),
    ],
)
def test_what_is_no_answer_is_typed_and_never_asked_again(
    served: Any, judge: Callable[..., Any], ask: Asks, say: Any, tmp_path: Path, planned: Any, fault: str, reason: str
) -> None:
    served.plan = lambda text, seen: say(**planned)
    for _ in range(2):
        asked = judge(transcripts=tmp_path)
        [error] = ask(asked, ask_yes_no("Is it red?"))
        assert isinstance(error, NoAnswerError)
        assert (error.fault, error.reason) == (fault, reason)
        repairs = bool(fault == "unparsable" and planned["text"])  # nothing can be repaired in an empty answer
        assert asked.transcripts.counts() == {fault: 1 + repairs}
    assert len(served.requests) == 1 + repairs


@pytest.mark.parametrize(
    ("status", "content", "fault"),
    [
        (400, {"error": {"code": "content_filter", "message": "flagged"}}, "filtered"),
        (400, {"error": {"message": "this model has no eyes"}}, "rejected"),
        (401, {"error": {"message": "bad key"}}, "rejected"),
        (404, {"error": {"message": "no such model"}}, "rejected"),
        (302, "elsewhere", "rejected"),
        (429, {"error": {"code": "insufficient_quota"}}, "budget"),
        (500, "oops", "unreachable"),
    ],
)
def test_what_an_endpoint_turns_down_is_typed(
    served: Any, judge: Callable[..., Any], ask: Asks, reply: Any, status: int, content: Any, fault: str
) -> None:
    served.plan = lambda text, seen: reply(status, content, {"Location": "http://127.0.0.1:9/"})
    [error] = ask(judge(), ask_yes_no("Is it red?"))
    assert error.fault == fault
    assert len(served.requests) == (5 if fault == "unreachable" else 1)


def test_nobody_there_is_told_with_the_address(ask: Asks, soon: RetryPolicy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        [error] = ask(open_judge(f"openai:m@{url}", retries=soon), ask_yes_no("Is it red?"))
    assert error.fault == "unreachable"
    assert error.detail.startswith(f"5 attempts, the last: {url} cannot be reached")


def test_an_endpoint_without_schemas_is_asked_in_words_from_then_on(
    served: Any, judge: Callable[..., Any], ask: Asks, reply: Any
) -> None:
    def plan(text: str, seen: int) -> Any:
        if "response_format" in served.requests[-1]:
            return reply(400, {"error": {"message": "Unknown parameter: response_format"}})
        return "Yes."

    served.plan = plan
    asked = judge(client={"at_once": 1})
    answers = ask(asked, *(ask_yes_no(f"Is it red ({number})?") for number in range(4)))
    assert [answer.value for answer in answers] == [True] * 4
    assert sum("response_format" in request for request in served.requests) == 1
    assert len(served.requests) == 5


def test_the_newer_word_for_the_limit_is_learned_by_all_who_are_under_way(
    served: Any, judge: Callable[..., Any], ask: Asks, reply: Any
) -> None:
    told = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
    all_here = threading.Barrier(8)

    def plan(text: str, seen: int) -> Any:
        if seen:
            return YES
        all_here.wait(20)
        return reply(400, {"error": {"message": told}})

    served.plan = plan
    answers = ask(judge(client={"at_once": 8}), *(ask_yes_no(f"{number}?") for number in range(8)))
    assert [answer.value for answer in answers] == [True] * 8
    [first, second] = [request for request in served.requests if "0?" in str(request["messages"])]
    assert ("max_tokens" in first, "max_completion_tokens" in second) == (True, True)


def test_a_dated_name_is_the_same_model(served: Any, judge: Callable[..., Any], ask: Asks, say: Any) -> None:
    served.plan = lambda text, seen: say(YES, model="tiny-judge-2025-01-31")
    assert ask(judge(), ask_yes_no("?"))[0].value is True


def test_an_answer_of_another_model_is_none_unless_it_is_allowed(
    served: Any, judge: Callable[..., Any], ask: Asks, say: Any, tmp_path: Path
) -> None:
    served.plan = lambda text, seen: say(YES, model="tiny-judge-mini")
    for asked_so_far in (1, 2):  # the right model may be served the next time
        [error] = ask(judge(transcripts=tmp_path), ask_yes_no("?"))
        assert (error.fault, error.reason) == ("wrong_model", "unreachable")
        assert "'tiny-judge-mini' answered" in error.detail
        assert len(served.requests) == asked_so_far
    [answer] = ask(judge(transcripts=tmp_path, also_called=("tiny-judge-mini",)), ask_yes_no("?"))
    assert answer.value is True
    assert len(served.requests) == 2


def test_retry_after_halves_the_pace_and_is_waited_for(
    served: Any, judge: Callable[..., Any], ask: Asks, reply: Any
) -> None:
    all_here = threading.Barrier(8)

    def plan(text: str, seen: int) -> Any:
        if seen:
            return YES
        all_here.wait(20)
        return reply(429, "slow", {"Retry-After": "0.3"})

    served.plan = plan
    asked = judge(client={"at_once": 8})
    answers = ask(asked, *(ask_yes_no(f"Is it red ({number})?") for number in range(8)))
    assert all(isinstance(answer, Answer) for answer in answers)
    assert asked.limiter.halved == 1  # eight complaints about one moment are one complaint
    assert asked.limiter.limit < 8
    assert all(answer.call.seconds >= 0.3 for answer in answers)


def test_an_endpoint_that_wants_too_long_a_pause_is_given_up(
    served: Any, judge: Callable[..., Any], ask: Asks, reply: Any
) -> None:
    served.plan = lambda text, seen: reply(429, "come back tomorrow", {"Retry-After": "86400"})
    [error] = ask(judge(retries=RetryPolicy(longest_wait=0.2)), ask_yes_no("Is it red?"))
    assert error.fault == "unreachable"
    assert "tomorrow" in error.detail


def test_a_date_in_retry_after_is_read() -> None:
    wait = retry_after(formatdate(4_000_000_000, usegmt=True))
    assert wait is not None
    assert wait > 1e8


def test_the_key_comes_from_the_environment_and_is_never_repeated(
    served: Any, ask: Asks, reply: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "sk-very-secret")
    served.plan = lambda text, seen: reply(401, "wrong key sk-very-secret")
    judge = open_judge(f"openai:m@{served.url}", transcripts=tmp_path, client={"key": "MY_KEY"})
    [error] = ask(judge, ask_yes_no("?"))
    assert served.keys == ["Bearer sk-very-secret"]
    assert "***" in error.detail
    assert all(b"secret" not in file.read_bytes() for file in tmp_path.iterdir())


def test_secrets_of_an_address_are_in_no_record_even_when_an_answer_repeats_them(
    served: Any, ask: Asks, say: Any, tmp_path: Path
) -> None:
    secret, password = "abc-123-query", "word-of-the-user"
    address = f"openai:tiny-judge@{served.url}?api-key={secret}&api-version=2".replace("://", f"://me:{password}@")
    served.plan = lambda text, seen: say(f"Yes. By the way, {secret} and {password}.")
    jury = read_judge_config(JudgeOptions(judge=[address]))

    [answer] = ask(open_judge(address, transcripts=tmp_path), ask_yes_no("?"))

    assert answer.value is True
    assert served.requests[0]["path"] == f"/v1/chat/completions?api-key={secret}&api-version=2"
    kept = b"".join(file.read_bytes() for file in tmp_path.iterdir()) + json.dumps(jury.describe()).encode()
    assert b"***" in kept
    assert secret.encode() not in kept
    assert password.encode() not in kept
    assert jury.describe()["tiny-judge"]["address"].endswith("/v1?api-version=2")
    with pytest.raises(BadInputError) as twice:
        read_judge_config(JudgeOptions(judge=[address, address]))
    assert secret not in str(twice.value)


def test_the_key_may_come_from_a_file(served: Any, ask: Asks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "key").write_text("sk-from-a-file\n")
    monkeypatch.setenv("MY_KEY_FILE", str(tmp_path / "key"))
    ask(open_judge(f"openai:tiny-judge@{served.url}", client={"key": "MY_KEY"}), ask_yes_no("?"))
    assert served.keys == ["Bearer sk-from-a-file"]


def test_a_small_answer_that_unpacks_to_gigabytes_is_cut_off(
    served: Any, judge: Callable[..., Any], ask: Asks, reply: Any
) -> None:
    bomb = gzip.compress(b" " * 60_000_000, 1)
    served.plan = lambda text, seen: reply(content=bomb, headers={"Content-Encoding": "gzip"}) if seen == 0 else YES
    [answer] = ask(judge(retries=RetryPolicy(timeout=20, first_wait=0.002)), ask_yes_no("?"))
    assert answer.call.attempts[0] == "an answer of more than 16,000,000 bytes when unpacked"


def test_a_packed_answer_is_read(served: Any, judge: Callable[..., Any], ask: Asks, reply: Any, say: Any) -> None:
    content = gzip.compress(json.dumps(say("Yes")).encode())
    served.plan = lambda text, seen: reply(content=content, headers={"Content-Encoding": "gzip"})
    [answer] = ask(judge(), ask_yes_no("?"))
    assert answer.value is True


def test_a_vendors_key_does_not_reach_a_stranger(
    served: Any, judge: Callable[..., Any], ask: Asks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-vendor")
    ask(judge(), ask_yes_no("?"))
    assert served.keys == [None]


def test_what_stands_behind_a_question_mark_stays_behind_it(served: Any, ask: Asks) -> None:
    [answer] = ask(open_judge(f"openai:tiny-judge@{served.url}/?api-version=2"), ask_yes_no("?"))
    assert served.requests[0]["path"] == "/v1/chat/completions?api-version=2"
    assert answer.call.endpoint == served.url


def test_a_missing_key_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(BadInputError, match="OPENAI_API_KEY_FILE names; neither is set"):
        open_endpoint("gpt-4o")


def test_an_address_without_http_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    assert open_endpoint("Qwen/Qwen2.5-VL@https://host:8000/v1").model == "Qwen/Qwen2.5-VL"
    assert open_endpoint("m@http://me:word@host/v1?x=1").location == "http://host/v1"
    with pytest.raises(BadInputError, match="KIND:MODEL"):
        open_judge("gpt-4o")


def test_an_answer_that_never_ends_is_cut_off(served: Any, judge: Callable[..., Any], ask: Asks, reply: Any) -> None:
    served.plan = lambda text, seen: reply(content=b" " * 17_000_000) if seen == 0 else YES
    retries = RetryPolicy(timeout=20, first_wait=0.002)
    [answer] = ask(judge(retries=retries), ask_yes_no("?"))
    assert answer.call.attempts[0] == "a response of more than 16,000,000 bytes"


def test_who_stops_waiting_leaves_nothing_behind(served: Any, judge: Callable[..., Any], reply: Any) -> None:
    served.plan = lambda text, seen: reply(hang=0.4)

    async def stop() -> None:
        async with judge() as asked:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(asked.ask(ask_scale("?", 1, 5, "bad", "good")), 0.1)

    asyncio.run(stop())


@pytest.mark.parametrize(
    ("name", "refusal"),
    [
        ("temperature", "Unsupported value: 'temperature' does not support 0.5 with this model."),
        ("top_p", "top_p is not supported by this model"),
        ("seed", "Unrecognized request argument supplied: seed"),
    ],
)
def test_a_parameter_that_a_model_refuses_is_left_out_from_then_on(
    served: Any, judge: Callable[..., Any], ask: Asks, reply: Any, tmp_path: Path, name: str, refusal: str
) -> None:
    def plan(text: str, seen: int) -> Any:
        return reply(400, {"error": {"message": refusal}}) if name in served.requests[-1] else '{"answer": "yes"}'

    served.plan = plan
    parameters = Parameters(temperature=0.5, top_p=0.9, seed=3)
    asked = judge(parameters=parameters, transcripts=tmp_path, client={"at_once": 1})
    answers = ask(asked, ask_yes_no("Red?"), ask_yes_no("Blue?"))
    assert [answer.value for answer in answers] == [True, True]
    assert sum(name in item for item in served.requests) == 1
    others = {"temperature", "top_p", "seed"} - {name}
    assert others <= set(served.requests[-1])
    assert f"without {name}, which the model rejects" in answers[0].call.attempts


def test_a_value_outside_its_range_is_not_hidden(served: Any, judge: Callable[..., Any], ask: Asks, reply: Any) -> None:
    served.plan = lambda text, seen: reply(400, {"error": {"message": "temperature must be between 0 and 1"}})
    [error] = ask(judge(parameters=Parameters(temperature=1.5)), ask_yes_no("Red?"))
    assert error.fault == "rejected"


def test_pictures_that_are_too_large_are_sent_smaller(
    served: Any, judge: Callable[..., Any], ask: Asks, reply: Any, say: Any
) -> None:
    lengths: list[int] = []

    def plan(text: str, seen: int) -> Any:
        url = served.requests[-1]["messages"][0]["content"][1]["image_url"]["url"]
        lengths.append(len(url))
        return '{"answer": "yes"}' if len(lengths) > 2 else reply(413, {"error": {"message": "Image too large."}})

    served.plan = plan
    noise = np.random.default_rng(0).integers(0, 256, (900, 900, 3), dtype=np.uint8)
    [answer] = ask(judge(), ask_yes_no("Red?", LabeledImage("It:", noise)))
    assert answer.value is True
    assert lengths[0] > lengths[1] > lengths[2]
    assert "images of at most 384 pixels a side" in answer.call.attempts


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["choices", "message", "content", "usage", "model"]), inner)
    ),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("asked", "answered"),
    [
        ("gpt-4o", "gpt-4o"),
        ("gpt-4o", "gpt-4o-2024-08-06"),
        ("gpt-4", "gpt-4-0613"),
        ("claude-x", "claude-x-20250219"),
        ("gemini-1.5-pro", "models/gemini-1.5-pro-002"),
        ("gemini-flash", "gemini-flash-05-20"),
        ("llava", "llava:latest"),
        ("Qwen/Qwen2-VL-7B", "qwen/qwen2-vl-7b"),
        ("Qwen/Qwen2-VL-7B", "/srv/models/Qwen2-VL-7B"),
        ("qwen2-vl", "/srv/qwen2-vl.gguf"),
        ("openai/gpt-4o", "gpt-4o"),
    ],
)
def test_releases_and_places_are_the_same_model(asked: str, answered: str) -> None:
    assert same_model(asked, answered)


@pytest.mark.parametrize(
    ("asked", "answered"),
    [
        ("gpt-4o", "gpt-4o-mini"),
        ("gpt-4o-2024-08-06", "gpt-4o"),
        ("gpt-4o-2024-08-06", "gpt-4o-2024-05-13"),
        ("claude-3", "claude-3-5"),
        ("qwen2-vl", "qwen2-vl-7"),
        ("llava", "llava:13b"),
        ("Qwen/Qwen2-VL-7B", "somebody/Qwen2-VL-7B"),
        ("gpt-4", "gpt-4-32k"),
    ],
)
def test_other_models_are_others(asked: str, answered: str) -> None:
    assert not same_model(asked, answered)


@given(JSON)
def test_whatever_is_sent_is_a_reply_or_none(body: Any) -> None:
    try:
        result = parse_reply(body)
    except ValueError:
        return
    assert isinstance(result.text, str)
    assert result.prompt_tokens is None or result.prompt_tokens >= 0


def test_parts_of_a_text_are_joined_and_odd_counts_are_none() -> None:
    parts = [{"type": "text", "text": "y"}, {"type": "audio"}, {"type": "text", "text": "es"}]
    usage = {"prompt_tokens": True, "completion_tokens": -1}
    result = parse_reply({"choices": [{"message": {"content": parts}}], "usage": usage})
    assert (result.text, result.prompt_tokens, result.completion_tokens) == ("yes", None, None)


@pytest.mark.parametrize("count", [float("inf"), float("nan"), 10**400, -1, True, "12", None])
def test_a_count_of_tokens_that_is_none_is_left_out(count: object) -> None:
    body = {"choices": [{"message": {"content": "yes"}}], "usage": {"prompt_tokens": count, "completion_tokens": 3}}

    reply = parse_reply(body)

    assert (reply.prompt_tokens, reply.completion_tokens) == (None, 3)
