"""JSON that a person and `diff` can read, and that is written fast: one line for each part of a list of the file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def one_per_line(value: Mapping[str, Any]) -> str:
    """A mapping as JSON text; lists of mappings have a line for each of them.

    >>> print(one_per_line({"format": "x/1", "images": [{"file": "a"}, {"file": "b"}]}), end="")
    {
     "format": "x/1",
     "images": [
      {"file": "a"},
      {"file": "b"}
     ]
    }
    """
    return "{\n" + ",\n".join(f" {_json(key)}: {_part(part)}" for key, part in value.items()) + "\n}\n"


def _part(part: Any) -> str:
    if isinstance(part, list) and part and isinstance(part[0], dict):
        return "[\n" + ",\n".join(f"  {_json(each)}" for each in part) + "\n ]"
    return _json(part)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
