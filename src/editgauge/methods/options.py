"""Options of a method, given as text and read by the kind of their usual value; every problem is told at once."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping
from typing import Any

from editgauge.core.errors import BadInput

YES_OR_NO = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}
KINDS = {bool: "yes or no", int: "a whole number", float: "a number"}


def read_options(method: str, usual: Mapping[str, Any], given: Mapping[str, str]) -> dict[str, Any]:
    """The usual values with those given in their place.

    Args:
        method: whose they are
        usual: every option there is, with the value it has when it is not given
        given: the options as text

    >>> read_options("imagic", {"steps": 50, "eta": 1.0}, {"eta": "0.8"})
    {'steps': 50, 'eta': 0.8}
    """
    read, problems = dict(usual), []
    for name, text in given.items():
        if name not in usual:
            problems.append(_unknown(name, usual))
            continue
        try:
            read[name] = _read(text, usual[name])
        except (ValueError, KeyError):
            problems.append(f"{name} is {KINDS[type(usual[name])]}, got '{text}'")
    if problems:
        raise BadInput(f"Options of the method '{method}' cannot be used.", problems)
    return read


def _read(text: str, usual: Any) -> Any:
    if isinstance(usual, bool):
        return YES_OR_NO[text.strip().lower()]
    if isinstance(usual, int):
        return int(text)
    if isinstance(usual, float):
        number = float(text)
        if not math.isfinite(number):
            raise ValueError(text)
        return number
    return text


def _unknown(name: str, known: Mapping[str, Any]) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    guess = f"; did you mean '{close[0]}'?" if close else ""
    there = f"; there are {', '.join(known)}" if known else "; it has none"
    return f"no option '{name}'{guess or there}"
