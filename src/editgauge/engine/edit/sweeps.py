"""`--sweep eta=0.8,0.9,1.0`: the values of options to be tried, and the variants of a method they make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

from editgauge.core.errors import BadInput
from editgauge.core.types import id_problem
from editgauge.engine.options import pairs
from editgauge.methods import Method

Swept = Mapping[str, Sequence[object]] | Sequence[str]


def read_sweep(sweep: Swept, fixed: Mapping[str, str]) -> list[dict[str, str]]:
    """Every combination of the values, as options; nothing when nothing is swept.

    Args:
        sweep: `NAME=VALUE,VALUE,…`, or names to values
        fixed: options that are the same in all of them

    >>> read_sweep(["eta=0.8,0.9"], {})
    [{'eta': '0.8'}, {'eta': '0.9'}]
    """
    if not sweep:
        return []
    values_of = _values(sweep)
    problems = []
    for name, values in values_of.items():
        if name in fixed:
            problems.append(f"{name} is also given by --option")
        if not all(values):
            problems.append(f"{name} has an empty value")
        if len(set(values)) < len(values):
            problems.append(f"{name} has the same value twice")
    if problems:
        raise BadInput("--sweep takes NAME=VALUE,VALUE,… and cannot be used.", problems)
    return [dict(zip(values_of, values, strict=True)) for values in product(*values_of.values())]


def variants_of(method: Method, combinations: Sequence[Mapping[str, str]]) -> dict[str, Method]:
    """The variants by name, such as `imagic[eta=0.8]`; what is wrong with any of them is reported at once."""
    made: dict[str, Method] = {}
    problems: list[str] = []
    for options in combinations:
        name = f"{method.name}[{','.join(f'{key}={value}' for key, value in options.items())}]"
        problem = id_problem(name) or (
            "a value holds a bracket" if set("[]") & set(name[len(method.name) + 1 : -1]) else None
        )
        if problem:
            problems.append(f"{problem}, and is to name a folder")
            continue
        try:
            made[name] = method.variant(options)
        except BadInput as error:
            problems += [f"{name}: {fault}" for fault in (error.problems or (str(error),))]
    if problems:
        raise BadInput(f"'{method.name}' cannot be swept like that.", problems)
    return made


def _values(sweep: Swept) -> dict[str, list[str]]:
    if isinstance(sweep, Mapping):
        return {name: [str(value) for value in values] for name, values in sweep.items()}
    read = pairs(sweep, "sweep", "NAME=VALUE,VALUE,…")
    return {name: [value.strip() for value in values.split(",")] for name, values in read.items()}
