"""A reading of an instruction, in sentences."""

from __future__ import annotations

from editgauge.core.types import Reading, Step


def told(reading: Reading) -> str:
    """The steps, one a line, and what was not understood."""
    lines = [f"{number}. {_step(step)}" for number, step in enumerate(reading.steps, start=1)]
    if reading.left:
        lines.append(f"Not understood: {reading.left}")
    return "\n".join([*lines, f"Read by: {reading.how}"])


def _step(step: Step) -> str:
    place = step.position
    where = f"{place.relation} {place.anchor or 'side of the picture'}" if place else None
    parts = {
        "subject": step.subject,
        "from": step.from_,
        "to": step.to,
        "position": where,
        "count": step.count,
        "attributes": ", ".join(step.attributes) or None,
    }
    named = "; ".join(f"{name}: {value}" for name, value in parts.items() if value is not None)
    return f"{step.type}{' (' + named + ')' if named else ''}{'' if step.sure else ', not sure'}"
