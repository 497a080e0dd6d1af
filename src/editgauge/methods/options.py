"""Options of a method: what exists, what it is usually, and how text is read; every problem is reported at once."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from editgauge.errors import BadInputError

Value = int | float | str
YES_OR_NO = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}
KINDS = {bool: "yes or no", int: "a whole number", float: "a number"}


@dataclass(frozen=True, slots=True)
class MethodOption:
    """One thing a user may choose; the kind of its usual value is the kind of every other."""

    usual: Value
    about: str
    least: float = -math.inf
    most: float = math.inf
    among: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """What it takes, in words.

        >>> whole(50, "steps").kind, number(0.5, "how much", most=1).kind, text("no", "whether", "no", "yes").kind
        ('a whole number from 1', 'a number from 0 to 1', 'no or yes')
        """
        kind = KINDS.get(type(self.usual), " or ".join(filter(None, self.among)) or "text")
        least = "" if math.isinf(self.least) else f" from {self.least:g}"
        return kind + least + ("" if math.isinf(self.most) else f" to {self.most:g}")

    def problem(self, value: Value) -> str | None:
        """Why it cannot be that, or None when it can."""
        if isinstance(value, str):
            return f"is one of {', '.join(map(repr, self.among))}" if self.among and value not in self.among else None
        if self.least <= value <= self.most:
            return None
        return f"is at least {self.least:g}" + ("" if math.isinf(self.most) else f" and at most {self.most:g}")


def whole(usual: int, about: str, least: int = 1) -> MethodOption:
    """Define an integer option."""
    return MethodOption(usual, about, least)


def number(usual: float, about: str, least: float = 0.0, most: float = math.inf) -> MethodOption:
    """Define a numeric option."""
    return MethodOption(float(usual), about, least, most)


def text(usual: str, about: str, *among: str) -> MethodOption:
    """Define a text option: free text, or one of a list."""
    return MethodOption(usual, about, among=among)


def offers(*shared: Mapping[str, MethodOption], **specific: MethodOption) -> Mapping[str, MethodOption]:
    """Combine shared options with a method's specific ones, which take precedence."""
    return MappingProxyType({name: option for group in (*shared, specific) for name, option in group.items()})


def chosen(
    method: str, specs: Mapping[str, MethodOption], current: Mapping[str, Value], texts: Mapping[str, str]
) -> dict[str, Value]:
    """Update the current values with options as text; raise `BadInputError` with every problem."""
    values: dict[str, Value] = read_options(method, current, texts)
    problems = [
        f"{name} {problem}, got '{values[name]}'"
        for name, option in specs.items()
        if (problem := option.problem(values[name]))
    ]
    if problems:
        raise BadInputError(f"Options of the method '{method}' cannot be used.", problems)
    return values


def read_options(method: str, usual: Mapping[str, Any], texts: Mapping[str, str]) -> dict[str, Any]:
    """Update the defaults with options as text.

    Args:
        method: whose they are
        usual: every option there is, with the value it has when it is not given
        given: the options as text

    >>> read_options("imagic", {"steps": 50, "eta": 1.0}, {"eta": "0.8"})
    {'steps': 50, 'eta': 0.8}

    """
    read, problems = dict(usual), []
    for name, text in texts.items():
        if name not in usual:
            problems.append(_unknown(name, usual))
            continue
        try:
            read[name] = _read(text, usual[name])
        except (ValueError, KeyError):
            problems.append(f"{name} is {KINDS[type(usual[name])]}, got '{text}'")
    if problems:
        raise BadInputError(f"Options of the method '{method}' cannot be used.", problems)
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


def _unknown(name: str, valid_names: Mapping[str, Any]) -> str:
    close = difflib.get_close_matches(name, valid_names, n=1)
    guess = f"; did you mean '{close[0]}'?" if close else ""
    listing = f"; there are {', '.join(valid_names)}" if valid_names else "; it has none"
    return f"no option '{name}'{guess or listing}"
