"""What a verb found, as JSON for other programs."""

from __future__ import annotations

import json
import math
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from editgauge.findings.people.matching import Matched


def as_json(result: object) -> str:
    """The fields of a result by name; of what people said, only how much; null for the end of an endless range."""
    return json.dumps(_plain(result), indent=2, ensure_ascii=False, allow_nan=False)


def _plain(thing: Any) -> Any:
    if isinstance(thing, Matched):
        counts = {"found": len(thing.pairs), "strangers": thing.strangers, "first_stranger": thing.first_stranger}
        return counts | {"undecided": thing.undecided}
    if isinstance(thing, Path):
        return str(thing)
    if is_dataclass(thing):
        return {each.name: _plain(getattr(thing, each.name)) for each in fields(thing)}
    if isinstance(thing, float) and not math.isfinite(thing):
        return None
    if isinstance(thing, dict):
        return {str(key): _plain(value) for key, value in thing.items()}
    if isinstance(thing, list | tuple):
        return [_plain(value) for value in thing]
    return thing
