"""What `editgauge diff` finds, as tables and as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.text import Text

from editgauge._cli.tables.common import new_table, short, show
from editgauge.analysis.diff import CAUSE_MEANINGS, CAUSES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from editgauge.analysis.diff import Attribution, Cause, Difference, Shift


def show_difference(result: Difference) -> None:
    """Settings, images and scores that differ between two runs."""
    if result.settings:
        table = new_table("settings that differ", ["setting", "first", "second"])
        for setting, (here, there) in result.settings.items():
            for row in _rows(setting, here, there):
                table.add_row(*row)
        show(table)
    if result.images_changed:
        show(Text(f"{result.images_changed} outcomes have other pixels (source or edited) in the two runs."))
    moved = [shift for shift in result.shifts if not shift.same]
    if not moved:
        scores = sum(shift.common for shift in result.shifts)
        show(Text(f"All {scores} scores are the same."))
        return
    columns = ["in both", "changed", "only first", "only second", "other reason", "mean first", "mean second"]
    table = new_table("scores that differ", ["score", "method"], columns)
    for shift in moved:
        counts = (shift.common, shift.changed, shift.only_first, shift.only_second, shift.other_reason)
        means = ("-" if mean is None else f"{mean:.4f}" for mean in (shift.mean_first, shift.mean_second))
        table.add_row(f"{shift.protocol}: {shift.name}", shift.method, *map(str, counts), *means)
    show(table)


def show_causes(result: Difference) -> None:
    """Where the change of each mean comes from, a column for every cause there is."""
    moved = [(shift, shift.causes) for shift in result.shifts if shift.causes and shift.causes.parts]
    if not moved:
        return
    there = [cause for cause in CAUSES if any(cause in causes.parts for _, causes in moved)]
    columns = ["first", "second", "change", *there]
    table = new_table("where the change of each mean comes from", ["score", "method"], columns)
    for shift, causes in moved:
        numbers = (f"{causes.before:.4f}", f"{causes.after:.4f}", f"{causes.change:+.4f}")
        table.add_row(_title(shift), shift.method, *numbers, *(_part(causes, cause) for cause in there))
    show(table)
    show(Text("; ".join(f"{cause}: {CAUSE_MEANINGS[cause]}" for cause in there) + "."))
    show(Text("The causes add up to the change; under each, how many items it touches.", style="dim"))


def as_json(result: Difference) -> dict[str, Any]:
    """Everything that differs, as JSON values; shifts that are the same are left out."""
    return {
        "settings": {name: {"first": here, "second": there} for name, (here, there) in result.settings.items()},
        "images_changed": result.images_changed,
        "same_scores": result.same_scores,
        "shifts": [_formatted(shift) for shift in result.shifts if not shift.same],
    }


def _formatted(shift: Shift) -> dict[str, Any]:
    row = asdict(shift)
    if shift.causes:
        parts = {cause: part._asdict() for cause, part in shift.causes.parts.items()}
        row["causes"] = {
            "before": shift.causes.before,
            "after": shift.causes.after,
            "change": shift.causes.change,
            "parts": parts,
        }
    return row


def _rows(setting: str, here: Any, there: Any) -> Iterator[tuple[str, str, str]]:
    """Of two rules or models only what differs."""
    if isinstance(here, dict) and isinstance(there, dict):
        for key in dict.fromkeys([*here, *there]):
            if here.get(key) != there.get(key):
                yield f"{setting}, {key.replace('_', ' ')}", short(here.get(key, "-")), short(there.get(key, "-"))
    else:
        yield setting, _setting(here), _setting(there)


def _setting(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {value[key]}" for key in ("id", "revision", "version") if value.get(key)) or "yes"
    return "-" if value is None else short(value)


def _title(shift: Shift) -> str:
    return f"{shift.protocol}: {shift.name}"


def _part(causes: Attribution, cause: Cause) -> Text:
    part = causes.parts.get(cause)
    if part is None:
        return Text("-", style="dim")
    text = Text(f"{part.change:+.4f}")
    text.append(f"\n{part.items}", style="dim")
    return text
