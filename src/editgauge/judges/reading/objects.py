"""Finds the one JSON object in an answer, whatever stands around it, and mends what JSON does not allow."""

from __future__ import annotations

import json
import re
from typing import Any

from editgauge.judges.reading.spoken import spoken

LONGEST = 50_000
"""No answer of any form is so long; a longer one is not searched."""
MOST_OBJECTS = 64
"""An answer with more braces than this holds something else than one object."""
DEEPEST = 32
"""No form nests so deep."""

_MARK = re.compile(r"""["'{}\[\]/#,]""")
_WORD = re.compile(r"\b(True|TRUE|False|FALSE|None|NULL|Null)\b")
_WORDS = {"true": "true", "false": "false", "none": "null", "null": "null"}


class _Broken(ValueError):
    """The text is no JSON object, not even a mended one."""


def read_object(text: str) -> dict[str, Any] | None:
    """The one JSON object that the answer holds, bare, fenced or in prose; None when there is none, or several.

    Comments, trailing commas, single quotes and Python's words for true, false and null are mended. The same object
    twice is one.

    >>> read_object('Sure! ```json\\n{"answer": "yes", /* clear */ "sure": True,}\\n```')
    {'answer': 'yes', 'sure': True}
    >>> read_object('{"answer": "yes", "answer": "no"}') is None
    True
    """
    if len(text) > LONGEST:
        return None
    said = spoken(text)
    found: dict[str, Any] | None = None
    position = said.find("{")
    for _ in range(MOST_OBJECTS):
        if position < 0:
            return found
        try:
            mended, position = _object_at(said, position)
        except _Broken:
            return None
        read = _parsed(mended)
        if isinstance(read, dict):
            if found is not None and found != read:
                return None
            found = read
        elif read is _TWICE:
            return None
        position = said.find("{", position)
    return None


def _object_at(text: str, start: int) -> tuple[str, int]:
    """The object that begins at `start`, as proper JSON, and where it ends."""
    pieces: list[str] = []
    closing: list[str] = []
    position = start
    while True:
        mark = _MARK.search(text, position)
        if mark is None:
            raise _Broken
        pieces.append(_WORD.sub(lambda word: _WORDS[word[0].lower()], text[position : mark.start()]))
        sign, position = mark[0], mark.end()
        if sign in "\"'":
            string, position = _string_at(text, mark.start())
            pieces.append(string)
        elif sign == "#" or (sign == "/" and text[position : position + 1] == "/"):
            end = text.find("\n", position)
            position = len(text) if end < 0 else end
        elif sign == "/":
            end = text.find("*/", position)
            if text[position : position + 1] != "*" or end < 0:
                raise _Broken
            position = end + 2
        elif sign in "{[":
            pieces.append(sign)
            closing.append("}" if sign == "{" else "]")
            if len(closing) > DEEPEST:
                raise _Broken
        elif sign == ",":
            pieces.append(sign)
        else:
            if closing.pop() != sign:
                raise _Broken
            _drop_comma(pieces)
            pieces.append(sign)
            if not closing:
                return "".join(pieces), position


def _drop_comma(pieces: list[str]) -> None:
    """Takes back the comma that ends a list or an object."""
    while pieces and not pieces[-1].strip():
        pieces.pop()
    if pieces and pieces[-1] == ",":
        pieces.pop()


def _string_at(text: str, start: int) -> tuple[str, int]:
    """A quoted string as JSON writes it, and where it ends."""
    quote, position = text[start], start + 1
    while True:
        end = text.find(quote, position)
        if end < 0:
            raise _Broken
        slashes, before = 0, end - 1
        while before >= position and text[before] == "\\":
            slashes, before = slashes + 1, before - 1
        position = end + 1
        if slashes % 2 == 0:
            break
    inside = text[start + 1 : end]
    if quote == "'":
        inside = inside.replace("\\'", "'").replace('"', '\\"')
    return '"' + inside.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t") + '"', position


_TWICE = object()
"""Stands for an object that gives one name two values."""


class _Repeated(Exception):
    pass


def _parsed(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant)
    except _Repeated:
        return _TWICE
    except (ValueError, RecursionError):
        return None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _Repeated
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
