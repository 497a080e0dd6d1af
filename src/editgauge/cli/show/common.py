"""What every verb may use to show its result."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import Any

import typer

from editgauge.cli._json import as_json as as_json

Options = dict[str, Any]
"""The options that were given, by name."""


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
