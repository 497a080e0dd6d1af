"""Which model answered, and what endpoints put into their answers."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from editgauge.judges._endpoint import parse_reply, same_model

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
        found = parse_reply(body)
    except ValueError:
        return
    assert isinstance(found.text, str)
    assert found.prompt_tokens is None or found.prompt_tokens >= 0


def test_parts_of_a_text_are_joined_and_odd_counts_are_none() -> None:
    parts = [{"type": "text", "text": "y"}, {"type": "audio"}, {"type": "text", "text": "es"}]
    usage = {"prompt_tokens": True, "completion_tokens": -1}
    found = parse_reply({"choices": [{"message": {"content": parts}}], "usage": usage})
    assert (found.text, found.prompt_tokens, found.completion_tokens) == ("yes", None, None)


@pytest.mark.parametrize("count", [float("inf"), float("nan"), 10**400, -1, True, "12", None])
def test_a_count_of_tokens_that_is_none_is_left_out(count: object) -> None:
    body = {"choices": [{"message": {"content": "yes"}}], "usage": {"prompt_tokens": count, "completion_tokens": 3}}

    reply = parse_reply(body)

    assert (reply.prompt_tokens, reply.completion_tokens) == (None, 3)
