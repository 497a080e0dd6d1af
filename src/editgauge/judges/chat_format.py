"""A question in the words of the chat completions protocol, and what endpoints make of that protocol."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from editgauge.judges.pictures import DataUrls
from editgauge.judges.questions import Parameters, Question

_SAID_OF_FORMATS = ("response_format", "json_schema", "structured output", "guided", "grammar", "response format")


@dataclass(slots=True)
class Dialect:
    """What an endpoint was found not to understand; learned from its refusals, once each."""

    unwanted_schemas: set[str] = field(default_factory=set)
    tokens: str = "max_tokens"
    """The word for the limit of tokens; newer models of one vendor want another."""

    def learns(self, body: Mapping[str, Any], told: str) -> bool:
        """Was the request turned down for something that can be said in another way? Then it is from now on."""
        lowered = told.lower()
        if "max_completion_tokens" in lowered and "max_tokens" in body:
            self.tokens = "max_completion_tokens"
            return True
        if "response_format" in body and any(word in lowered for word in _SAID_OF_FORMATS):
            self.unwanted_schemas.add(_key(body["response_format"]))
            return True
        return False


def request_body(
    model: str, question: Question[Any], parameters: Parameters, dialect: Dialect, pictures: DataUrls
) -> dict[str, Any]:
    """The chat completion that is asked for: each label before its picture, the words last."""
    content = _content(question, parameters, pictures)
    body: dict[str, Any] = {"model": model, "messages": [{"role": "user", "content": content}]}
    body[dialect.tokens] = parameters.max_tokens
    if parameters.temperature is not None:
        body["temperature"] = parameters.temperature
    if parameters.seed is not None:
        body["seed"] = parameters.seed + question.repetition
    if question.form.schema is not None:
        wanted = {"name": question.form.kind, "strict": True, "schema": question.form.schema}
        asked = {"type": "json_schema", "json_schema": wanted}
        if _key(asked) not in dialect.unwanted_schemas:
            body["response_format"] = asked
    return body


def _content(question: Question[Any], parameters: Parameters, pictures: DataUrls) -> str | list[dict[str, Any]]:
    if not question.images:
        return question.words.text  # endpoints without eyes know no list of parts
    parts: list[dict[str, Any]] = []
    for shown in question.images:
        url = pictures.url(shown.pixels, parameters.most_side, parameters.encoding)
        parts += [{"type": "text", "text": shown.label}, {"type": "image_url", "image_url": {"url": url}}]
    return [*parts, {"type": "text", "text": question.words.text}]


def _key(response_format: Mapping[str, Any]) -> str:
    return json.dumps(response_format, sort_keys=True)
