"""Finds the one JSON object in an answer, repairs what JSON does not allow, and fits it to what was asked for."""

from __future__ import annotations

import json
import re
import types
from collections.abc import Mapping
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel

from editgauge.judges.reading.spoken import is_nothing, spoken

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
    """The text is no JSON object, not even a corrected one."""


def read_object(text: str) -> dict[str, Any] | None:
    """The one JSON object that the answer holds, bare, fenced or in prose; None when there is none, or several.

    Comments, trailing commas, single quotes and Python's words for true, false and null are corrected. The same object
    twice is one.

    >>> read_object('Sure! ```json\\n{"answer": "yes", /* clear */ "sure": True,}\\n```')
    {'answer': 'yes', 'sure': True}
    >>> read_object('{"answer": "yes", "answer": "no"}') is None
    True
    """
    if len(text) > LONGEST:
        return None
    said = spoken(text)
    last_object: dict[str, Any] | None = None
    position = said.find("{")
    for _ in range(MOST_OBJECTS):
        if position < 0:
            return last_object
        try:
            mended, position = _object_at(said, position)
        except _Broken:
            return None
        read = _parsed(mended)
        if isinstance(read, dict):
            if last_object is not None and last_object != read:
                return None
            last_object = read
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
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise _Repeated
    return fields


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def fitted(value: Any, wanted: Any) -> Any:
    """The value without what was not asked for, its names and fixed words in the case that was asked for.

    The word "null" or "None" in place of a text is no text: it becomes null, and goes out of lists.

    Args:
        value: as it was read from JSON
        wanted: the type that is asked for; other types than models, lists, fixed words and texts stay as they are
    """
    origin, parts = get_origin(wanted), get_args(wanted)
    if isinstance(wanted, type) and issubclass(wanted, BaseModel) and isinstance(value, Mapping):
        return _fields(value, wanted)
    if origin in (list, set, tuple) and parts and isinstance(value, list):
        items = [fitted(each, parts[0]) for each in value] if len(parts) == 1 or parts[-1] is ... else value
        return [each for each in items if not (each is None and parts[0] is str)]
    if origin is Literal and isinstance(value, str):
        return next((word for word in parts if _same(word, value)), value)
    if origin in (Union, types.UnionType):
        return _of_union(value, parts)
    if wanted is str and isinstance(value, str) and is_nothing(value):
        return None
    return value


def _fields(value: Mapping[str, Any], model: type[BaseModel]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for name, field in model.model_fields.items():
        keys = [key for key in value if key == name] or [key for key in value if _same(name, key)]
        if len(keys) == 1:
            fields[name] = fitted(value[keys[0]], field.annotation)
    return fields


def _of_union(value: Any, parts: tuple[Any, ...]) -> Any:
    if value is None or (type(None) in parts and isinstance(value, str) and is_nothing(value)):
        return None
    others = [part for part in parts if part is not type(None)]
    return fitted(value, others[0]) if len(others) == 1 else value


def _same(wanted: Any, key: str) -> bool:
    """Are two names the same except for case, blanks and hyphens?"""
    plain = key.strip().strip(".").lower().replace("-", " ").replace("_", " ")
    return isinstance(wanted, str) and wanted.lower().replace("-", " ").replace("_", " ") == plain
