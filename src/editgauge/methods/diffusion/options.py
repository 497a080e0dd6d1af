"""Options of a method: what exists, what it is usually, and between which bounds it may be."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from editgauge.core.errors import BadInput
from editgauge.methods.options import read_options

Value = int | float | str


@dataclass(frozen=True, slots=True)
class Option:
    """One thing a user may choose; the kind of its usual value is the kind of every other."""

    usual: Value
    about: str
    least: float = -math.inf
    most: float = math.inf
    among: tuple[str, ...] = ()

    def problem(self, value: Value) -> str | None:
        """Why it cannot be that, or None when it can."""
        if isinstance(value, str):
            return f"is one of {', '.join(map(repr, self.among))}" if self.among and value not in self.among else None
        if self.least <= value <= self.most:
            return None
        return f"is at least {self.least:g}" + ("" if math.isinf(self.most) else f" and at most {self.most:g}")


def whole(usual: int, about: str, least: int = 1) -> Option:
    """An option that counts something."""
    return Option(usual, about, least)


def number(usual: float, about: str, least: float = 0.0, most: float = math.inf) -> Option:
    """An option on a scale."""
    return Option(float(usual), about, least, most)


def text(usual: str, about: str, *among: str) -> Option:
    """An option in words: any, or one of these."""
    return Option(usual, about, among=among)


def offers(*shared: Mapping[str, Option], **own: Option) -> Mapping[str, Option]:
    """The options of a method: those it shares with others, then its own, which come in the place of shared ones."""
    return MappingProxyType({name: option for some in (*shared, own) for name, option in some.items()})


def chosen(
    method: str, known: Mapping[str, Option], now: Mapping[str, Value], told: Mapping[str, str]
) -> dict[str, Value]:
    """The values as they are now, with what was told in their place; raises `BadInput` with every problem."""
    values: dict[str, Value] = read_options(method, now, told)
    problems = [
        f"{name} {problem}, got '{values[name]}'"
        for name, option in known.items()
        if (problem := option.problem(values[name]))
    ]
    if problems:
        raise BadInput(f"Options of the method '{method}' cannot be used.", problems)
    return values
