"""How the result of each verb is printed."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from importlib import import_module
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, Literal

import typer

if TYPE_CHECKING:
    from editgauge.types import ScoreSpec


Options = Mapping[str, Any]
"""The options of a command, by name."""
WIDE_RANGE = 10
"""Scores of a wider range, such as decibels, are printed with one decimal."""

_AGREEMENT, _INSPECT, _MANAGE = "_show_agreement", "_show_inspect", "_show_manage"
_PEOPLE, _RUNS = "_show_people", "_show_runs"
SHOWN: dict[str, str] = {
    "accept": f"{_PEOPLE}:show_acceptance",
    "agree": f"{_AGREEMENT}:show_agree",
    "audit": f"{_INSPECT}:show_audit",
    "build_attributes": f"{_MANAGE}:show_nothing",
    "build_calibration": f"{_PEOPLE}:show_calibration",
    "build_editval": f"{_MANAGE}:show_nothing",
    "build_probes": f"{_MANAGE}:show_probes",
    "build_review": f"{_MANAGE}:show_review",
    "build_sheets": f"{_MANAGE}:show_sheets",
    "build_training": f"{_MANAGE}:show_nothing",
    "build_tune": f"{_MANAGE}:show_nothing",
    "build_unibench": f"{_MANAGE}:show_nothing",
    "cache_clear": f"{_MANAGE}:show_cleared",
    "cache_info": f"{_MANAGE}:show_cache",
    "changes": f"{_INSPECT}:show_changes",
    "compare": f"{_RUNS}:show_comparison",
    "data_feedback": f"{_PEOPLE}:show_feedback",
    "data_info": f"{_MANAGE}:show_dataset",
    "data_pairs": f"{_MANAGE}:show_pairs",
    "data_pull": f"{_MANAGE}:show_dataset",
    "data_ratings": f"{_MANAGE}:show_rating_count",
    "data_verify": f"{_MANAGE}:show_dataset",
    "demo": f"{_RUNS}:show_demo",
    "diff": f"{_RUNS}:show_diff",
    "disentangle": f"{_INSPECT}:show_disentanglement",
    "edit": f"{_RUNS}:show_edit",
    "estimate": f"{_PEOPLE}:show_estimates",
    "export": f"{_RUNS}:show_export",
    "gate": f"{_RUNS}:show_gate",
    "judges_check": f"{_INSPECT}:show_check",
    "judges_compare": f"{_INSPECT}:show_judges",
    "judges_guess_cost": f"{_INSPECT}:show_guess_cost",
    "judges_tables": f"{_INSPECT}:show_inspector_tables",
    "leaderboard": f"{_RUNS}:show_leaderboard",
    "list": f"{_INSPECT}:show_list",
    "merge": f"{_RUNS}:show_merge",
    "models_info": f"{_MANAGE}:show_weights_info",
    "models_list": f"{_MANAGE}:show_weights_list",
    "models_path": f"{_MANAGE}:show_path",
    "models_pull": f"{_MANAGE}:show_pulled",
    "models_selftest": f"{_MANAGE}:show_selftest",
    "models_verify": f"{_MANAGE}:show_verified",
    "parse": f"{_INSPECT}:show_parsed",
    "plan": f"{_RUNS}:show_plan",
    "power": f"{_PEOPLE}:show_power",
    "prefer": f"{_RUNS}:show_elo",
    "report": f"{_RUNS}:show_report",
    "run": f"{_RUNS}:show_run",
    "score": f"{_INSPECT}:show_score",
    "see": f"{_INSPECT}:show_see",
    "study_analyze": f"{_PEOPLE}:show_analysis",
    "study_create": f"{_PEOPLE}:show_created",
    "study_exclude": f"{_PEOPLE}:show_excluded",
    "study_export": f"{_PEOPLE}:show_exported",
    "study_forget": f"{_PEOPLE}:show_forgotten",
    "study_import": f"{_PEOPLE}:show_imported",
    "study_include": f"{_PEOPLE}:show_included",
    "study_invite": f"{_PEOPLE}:show_invitations",
    "study_serve": f"{_MANAGE}:show_nothing",
    "study_status": f"{_PEOPLE}:show_status",
    "understand": f"{_INSPECT}:show_parsed",
    "verify": f"{_RUNS}:show_verify",
}
"""Functions of `result`, `options` or both that print the result of a verb and may return an exit code."""
JSON: dict[str, str] = {
    "build_calibration": f"{_PEOPLE}:calibration_json",
    "diff": f"{_RUNS}:diff_json",
    "disentangle": f"{_INSPECT}:disentanglement_json",
    "parse": f"{_INSPECT}:parsed_json",
    "run": f"{_RUNS}:run_json",
    "score": f"{_INSPECT}:score_json",
    "understand": f"{_INSPECT}:parsed_json",
}
"""Functions of the same arguments that serialize results that are more than their fields."""
REPLACED: dict[str, str] = {
    "export": f"{_RUNS}:stream_export",
    "parse": f"{_INSPECT}:parse_file",
    "run": f"{_RUNS}:preview_run",
    "understand": f"{_INSPECT}:parse_file",
}
"""Functions of `options` and `flags` that may act instead of the verb; they return whether they did."""


def find(table: Literal["SHOWN", "JSON", "REPLACED"], verb: str) -> Callable[..., Any] | None:
    """Import the function that a table names for a verb, if it names one."""
    target = {"SHOWN": SHOWN, "JSON": JSON, "REPLACED": REPLACED}[table].get(verb)
    if target is None:
        return None
    module, _, name = target.partition(":")
    function: Callable[..., Any] = getattr(import_module(f"editgauge._cli.{module}"), name)
    return function


def show_anything(result: object, options: Options) -> None:
    """Print where a file was written, a text, or the fields of another result."""
    if isinstance(result, Path):
        typer.echo(f"Written: {result}")
    elif result is not None and not options.get("quiet"):
        typer.echo(result if isinstance(result, str) else as_json(result))


def suggest(command: str) -> None:
    """Print the command that usually comes next, on standard error."""
    typer.echo(f"Next: editgauge {command}", err=True)


def suggest_report(run: str | Path) -> None:
    """Print the command that writes a report of the run."""
    suggest(f"report {quote(str(run))} --out {quote(f'{run}-report')}")


def exit_code(result: object) -> int | None:
    """Return 1 for runs whose scores or signatures differ, for an unsound run, and for a judge whose answers moved."""
    drifts = [getattr(result, name, None) for name in ("since_last", "since_first")]
    moved = any(drift is not None and drift.moved for drift in drifts)
    bad = any(getattr(result, name, True) is False for name in ("same_scores", "sound", "is_equal"))
    return 1 if bad or moved else None


def format_of(spec: ScoreSpec, sign: str = "") -> str:
    """Return the number format of a score: three decimals, one where its range is wide."""
    low, high = spec.range
    return f"{sign}.{1 if high - low > WIDE_RANGE else 3}f"


def as_json(result: object) -> str:
    """Serialize a result by its fields; infinite numbers become null, ratings only their counts."""
    return json.dumps(_to_plain(result), indent=2, ensure_ascii=False, allow_nan=False)


def _to_plain(value: Any) -> Any:
    if isinstance(value, Path):
        return str(value)
    if is_dataclass(value):
        from editgauge.analysis.outcomes import Matched  # costs half a second, so not for plain lists

        if isinstance(value, Matched):
            counts = {"matched": len(value.pairs), "unmatched": value.unmatched, "ambiguous": value.ambiguous}
            return counts | {"first_unmatched": value.first_unmatched}
        return {field.name: _to_plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {str(key): _to_plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_to_plain(item) for item in value]
    return value
