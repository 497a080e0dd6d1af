"""What every verb may use to show its result."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from importlib import import_module
from pathlib import Path
from shlex import quote
from types import ModuleType
from typing import Any

import typer

from editgauge.analysis.outcomes import Matched

Options = dict[str, Any]
"""The options that were given, by name."""
TABLES = {
    "accept": "estimate:show_acceptance",
    "build_calibration": "estimate:show_calibration",
    "compare": "comparison:show_comparison",
    "data_feedback": "study:show_feedback",
    "estimate": "estimate:show_estimates",
    "judges_check": "judges:show_check",
    "judges_compare": "judges:show_side_by_side",
    "judges_guess_cost": "judges:show_guess_cost",
    "judges_tables": "judges:show_inspector_tables",
    "plan": "plan:show_forecast",
    "prefer": "comparison:show_elo",
    "study_status": "study:show_status",
}
"""Verbs whose result is shown as a table, with the function of `editgauge._cli.tables` that shows it."""


def show_function(module: ModuleType, verb: str) -> Callable[[Any, Options], int | None]:
    """The function that shows the result of a verb, given the module with the functions of such verbs."""
    if verb not in TABLES:
        function: Callable[[Any, Options], int | None] = getattr(module, verb, anything)
        return function
    file, _, name = TABLES[verb].partition(":")
    show_table = getattr(import_module(f"editgauge._cli.tables.{file}"), name)
    return lambda result, options: show_table(result)


def anything(result: Any, options: Options) -> None:
    """A path is where something was written; other results are shown by their fields."""
    if isinstance(result, Path):
        typer.echo(f"Written: {result}")
    elif result is not None and not options.get("quiet"):
        typer.echo(result if isinstance(result, str) else as_json(result))


def nothing(result: Any, options: Options) -> None:
    """For verbs that print everything while they work."""


def next_step(words: str) -> None:
    """The command that usually follows, on standard error."""
    typer.echo(f"Next: editgauge {words}", err=True)


def next_report(out: str | Path) -> None:
    """The command that writes a report of this run."""
    next_step(f"report {quote(str(out))} --out {quote(f'{out}-report')}")


def exit_code(result: Any) -> int | None:
    """1 for runs whose scores differ, for a run that is not sound, and for a judge that moved."""
    drifts = [getattr(result, name, None) for name in ("since_last", "since_first")]
    moved = any(drift is not None and drift.moved for drift in drifts)
    bad = getattr(result, "same_scores", True) is False or getattr(result, "sound", True) is False
    return 1 if bad or moved else None


def as_json(result: object) -> str:
    """The fields of a result by name; of what people said, only how much; null for the end of an endless range."""
    return json.dumps(_plain(result), indent=2, ensure_ascii=False, allow_nan=False)


def _plain(thing: Any) -> Any:
    if isinstance(thing, Matched):
        counts = {"found": len(thing.pairs), "strangers": thing.unmatched, "first_stranger": thing.first_unmatched}
        return counts | {"undecided": thing.ambiguous}
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
