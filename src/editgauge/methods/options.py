"""Options of a method: types, defaults and parsing from text."""

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
    """An option of a method; values have the type of the default."""

    default: Value
    about: str
    minimum: float = -math.inf
    maximum: float = math.inf
    choices: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """Describe the valid values.

        >>> integer(50, "steps").kind, number(0.5, "how much", maximum=1).kind, text("no", "whether", "no", "yes").kind
        ('a whole number from 1', 'a number from 0 to 1', 'no or yes')
        """
        kind = KINDS.get(type(self.default), " or ".join(filter(None, self.choices)) or "text")
        minimum = "" if math.isinf(self.minimum) else f" from {self.minimum:g}"
        return kind + minimum + ("" if math.isinf(self.maximum) else f" to {self.maximum:g}")

    def problem(self, value: Value) -> str | None:
        """Return why a value is invalid, or None."""
        if isinstance(value, str):
            return (
                f"is one of {', '.join(map(repr, self.choices))}"
                if self.choices and value not in self.choices
                else None
            )
        if self.minimum <= value <= self.maximum:
            return None
        return f"is at least {self.minimum:g}" + ("" if math.isinf(self.maximum) else f" and at most {self.maximum:g}")


def integer(default: int, about: str, minimum: int = 1) -> MethodOption:
    """Define an integer option."""
    return MethodOption(default, about, minimum)


def number(default: float, about: str, minimum: float = 0.0, maximum: float = math.inf) -> MethodOption:
    """Define a numeric option."""
    return MethodOption(float(default), about, minimum, maximum)


def text(default: str, about: str, *choices: str) -> MethodOption:
    """Define a text option: free text, or one of a list."""
    return MethodOption(default, about, choices=choices)


def combine_options(*shared: Mapping[str, MethodOption], **specific: MethodOption) -> Mapping[str, MethodOption]:
    """Combine shared options with a method's specific ones, which take precedence."""
    return MappingProxyType({name: option for group in (*shared, specific) for name, option in group.items()})


def update_options(
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


def read_options(method: str, defaults: Mapping[str, Any], texts: Mapping[str, str]) -> dict[str, Any]:
    """Update the defaults with options as text.

    Args:
        method: name of the method, for messages
        defaults: default value of every option
        texts: the options as text

    >>> read_options("imagic", {"steps": 50, "eta": 1.0}, {"eta": "0.8"})
    {'steps': 50, 'eta': 0.8}

    """
    read, problems = dict(defaults), []
    for name, text in texts.items():
        if name not in defaults:
            problems.append(_unknown(name, defaults))
            continue
        try:
            read[name] = _read(text, defaults[name])
        except (ValueError, KeyError):
            problems.append(f"{name} is {KINDS[type(defaults[name])]}, got '{text}'")
    if problems:
        raise BadInputError(f"Options of the method '{method}' cannot be used.", problems)
    return read


def _read(text: str, default: Any) -> Any:
    if isinstance(default, bool):
        return YES_OR_NO[text.strip().lower()]
    if isinstance(default, int):
        return int(text)
    if isinstance(default, float):
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
