"""Options of a benchmark, in brackets behind its name: `unibench-sample[seed=1,trials=3]`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from inspect import signature
from typing import Any

from editgauge.core.errors import BadInput

PLACES = ("data", "images")
"""What a loader takes by options of the command line."""
_WITH_OPTIONS = re.compile(r"(?P<base>[^\[\]]+)\[(?P<options>[^\[\]]*)\]")


def split_name(name: str) -> tuple[str, dict[str, str]]:
    """A benchmark's name and its options as they were written.

    >>> split_name("unibench[seed=1, trials=3]"), split_name("sample")
    (('unibench', {'seed': '1', 'trials': '3'}), ('sample', {}))
    """
    found = _WITH_OPTIONS.fullmatch(name)
    if not found:
        return name, {}
    pairs = (part.partition("=") for part in found["options"].split(",") if part.strip())
    return found["base"], {option.strip(): value.strip() for option, _, value in pairs}


def read_options(base: str, load: Callable[..., Any], given: Mapping[str, str]) -> dict[str, int]:
    """The options as the loader takes them: those of its arguments that are whole numbers; all faults are reported."""
    usual = {
        name: parameter.default
        for name, parameter in signature(load).parameters.items()
        if name not in PLACES and isinstance(parameter.default, int)
    }
    there = f"there are {', '.join(usual)}" if usual else "it has none"
    problems = [f"no option '{name}'; {there}" for name in given if name not in usual]
    problems += [
        f"'{name}' is a whole number, got '{value}'"
        for name, value in given.items()
        if name in usual and not re.fullmatch(r"[0-9]{1,18}", value)
    ]
    if problems:
        raise BadInput(f"The options of the benchmark '{base}' cannot be used.", problems)
    return {name: int(value) for name, value in given.items()}


def full_name(base: str, options: Mapping[str, int]) -> str:
    """The name with its options, the same whatever their order.

    >>> full_name("unibench", {"trials": 3, "seed": 1})
    'unibench[seed=1,trials=3]'
    """
    told = ",".join(f"{name}={value}" for name, value in sorted(options.items()))
    return f"{base}[{told}]" if told else base
