"""What an endpoint's answer holds, in the shape that all of them share: a chat completion."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from editgauge.judges.faults import Fault

Body = Mapping[str, Any]
"""A chat completion as the endpoint sent it."""

_DATED = re.compile(r"[-@:](?:latest|00\d|20\d{2}-?[01]\d-?[0-3]\d|(?:0[1-9]|1[0-2])-?[0-3]\d(?:-?20\d{2})?)")
"""How the release of a model is written behind its name."""
_FILTERED = ("content_filter", "content_policy_violation", "responsibleaipolicyviolation")
MOST_TOKENS = 10**12
"""Of one call; a larger count is no count, and its cost no number."""


@dataclass(frozen=True, slots=True)
class Reply:
    """The parts of a chat completion that matter here."""

    text: str
    refusal: str | None = None
    finish: str | None = None
    model: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


def read_reply(body: Body) -> Reply:
    """The reply in a chat completion; raises `ValueError` when it is none."""
    try:
        choice = body["choices"][0]
        message = choice["message"]
        content, refusal = message.get("content"), message.get("refusal")
        finish, model, usage = choice.get("finish_reason"), body.get("model"), body.get("usage") or {}
        if isinstance(content, list):
            content = "".join(part["text"] for part in content if part.get("type") == "text")
        tokens = [usage.get("prompt_tokens"), usage.get("completion_tokens")]
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise ValueError("the answer has not the shape of a chat completion") from error
    for part in (content, refusal, finish, model):
        if part is not None and not isinstance(part, str):
            raise ValueError(f"a text was expected in the chat completion, found {part!r:.60}")
    counts = [count if type(count) is int and 0 <= count <= MOST_TOKENS else None for count in tokens]
    return Reply(content or "", refusal or None, finish, model or None, *counts)


def fault_in(reply: Reply, model: str, also: tuple[str, ...] = ()) -> tuple[Fault, str] | None:
    """Why a reply must not be read as an answer, or None when it may be."""
    if reply.model is not None and not any(same_model(name, reply.model) for name in (model, *also)):
        return "wrong_model", f"'{model}' was asked, and '{reply.model}' answered"
    if reply.finish == "content_filter":
        return "filtered", "a content filter of the endpoint stopped the answer"
    if reply.refusal:
        return "refused", reply.refusal
    if reply.finish == "length":
        return "truncated", "the answer ran into the limit of tokens; raise max_tokens"
    if not reply.text.strip():
        return "unparsable", "the answer is empty"
    return None


def same_model(wanted_model: str, answered: str) -> bool:
    """Is this the model that was asked for? A date, `latest` or the folder it is in may differ, nothing else.

    >>> same_model("gpt-4o", "gpt-4o-2024-08-06"), same_model("gpt-4o", "gpt-4o-mini")
    (True, False)
    """
    (wanted_by, wanted), (given_by, given) = _plain(wanted_model), _plain(answered)
    dated = given.startswith(wanted) and _DATED.fullmatch(given[len(wanted) :]) is not None
    return (given == wanted or dated) and (wanted_by == given_by or not (wanted_by and given_by))


def is_filter(error: Any) -> bool:
    """Does an endpoint's error say that a content filter stepped in?"""
    return any(word in str(error).lower() for word in _FILTERED)


def _plain(name: str) -> tuple[str, str]:
    """Who made a model, where its name says so, and what it is called."""
    folder, _, base = name.strip().lower().rpartition("/")
    return "" if folder.startswith("/") or folder == "models" else folder, base.removesuffix(".gguf")
