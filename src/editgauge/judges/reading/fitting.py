"""Fits an object as a model wrote it to the pydantic model that was asked for, where nothing has to be guessed."""

from __future__ import annotations

import types
from collections.abc import Mapping
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel

from editgauge.judges.reading.spoken import is_nothing


def fitted(value: Any, wanted: Any) -> Any:
    """The value without what was not asked for, its names and fixed words in the case that was asked for.

    The word "null" or "None" in the place of a text is no text: it becomes null, and goes out of lists.

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
    found: dict[str, Any] = {}
    for name, field in model.model_fields.items():
        given = [key for key in value if key == name] or [key for key in value if _same(name, key)]
        if len(given) == 1:
            found[name] = fitted(value[given[0]], field.annotation)
    return found


def _of_union(value: Any, parts: tuple[Any, ...]) -> Any:
    if value is None or (type(None) in parts and isinstance(value, str) and is_nothing(value)):
        return None
    others = [part for part in parts if part is not type(None)]
    return fitted(value, others[0]) if len(others) == 1 else value


def _same(wanted: Any, given: str) -> bool:
    """Are two names the same but for case, blanks and hyphens?"""
    plain = given.strip().strip(".").lower().replace("-", " ").replace("_", " ")
    return isinstance(wanted, str) and wanted.lower().replace("-", " ").replace("_", " ") == plain
