"""The causes that `editgauge diff` finds, as a table and as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.text import Text

from editgauge.analysis.causes import CAUSES, MEANINGS
from editgauge.cli.tables import new_table, show

if TYPE_CHECKING:
    from editgauge.analysis.causes import Attribution, Cause
    from editgauge.analysis.diff import Difference, Shift


def show_causes(found: Difference) -> None:
    """Where the change of each mean comes from, a column for every cause there is."""
    moved = [(shift, shift.causes) for shift in found.shifts if shift.causes and shift.causes.parts]
    if not moved:
        return
    there = [cause for cause in CAUSES if any(cause in causes.parts for _, causes in moved)]
    table = new_table("where the change of each mean comes from")
    for column in ("score", "method", "first", "second", "change", *there):
        table.add_column(column, justify="left" if column in {"score", "method"} else "right")
    for shift, causes in moved:
        numbers = (f"{causes.before:.4f}", f"{causes.after:.4f}", f"{causes.change:+.4f}")
        table.add_row(_title(shift), shift.method, *numbers, *(_part(causes, cause) for cause in there))
    show(table)
    show(Text("; ".join(f"{cause}: {MEANINGS[cause]}" for cause in there) + "."))
    show(Text("The causes add up to the change; under each, how many items it touches.", style="dim"))


def as_json(found: Difference) -> dict[str, Any]:
    """Everything that differs, as JSON values; shifts that are the same are left out."""
    return {
        "settings": {name: {"first": here, "second": there} for name, (here, there) in found.settings.items()},
        "images_changed": found.images_changed,
        "same_scores": found.same_scores,
        "shifts": [_told(shift) for shift in found.shifts if not shift.same],
    }


def _told(shift: Shift) -> dict[str, Any]:
    told = asdict(shift)
    if shift.causes:
        parts = {cause: part._asdict() for cause, part in shift.causes.parts.items()}
        told["causes"] = {
            "before": shift.causes.before,
            "after": shift.causes.after,
            "change": shift.causes.change,
            "parts": parts,
        }
    return told


def _title(shift: Shift) -> str:
    return f"{shift.protocol}: {shift.name}"


def _part(causes: Attribution, cause: Cause) -> Text:
    part = causes.parts.get(cause)
    if part is None:
        return Text("-", style="dim")
    text = Text(f"{part.change:+.4f}")
    text.append(f"\n{part.items}", style="dim")
    return text
