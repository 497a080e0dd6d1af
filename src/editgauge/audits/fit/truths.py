"""What is true of a probe, for each question of the protocol `editgauge`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from editgauge.audits.probes.probes import RIGHT, Probe

if TYPE_CHECKING:
    from editgauge.protocols.editgauge.features import Question

OF_THE_REST, OF_THE_EDIT = "rest/", "artifact/"
"""How the names of families of disturbances and of artifacts begin."""
REACHING_OUT = ("artifact/shifted", "artifact/duplicated")
"""Artifacts that reach into the rest of the picture."""


def truth_of_done(probe: Probe) -> float | None:
    """1 when the edit was done; None where people might disagree."""
    return None if probe.done is None else float(probe.done)


def truth_of_disturbed(probe: Probe) -> float | None:
    """How much the rest was disturbed, from 0 to 1; None where nobody can say."""
    if probe.kind in ("another_photograph", "black"):
        return 1.0
    if probe.family.startswith(OF_THE_REST):
        return probe.severity
    inside = probe.family.startswith(OF_THE_EDIT) and probe.family not in REACHING_OUT
    return 0.0 if inside or probe.harmless or probe.kind in (RIGHT, "nothing") else None


def truth_of_flawed(probe: Probe) -> float | None:
    """How severe the artifact is; None for outcomes that are no right ones."""
    if probe.family.startswith(OF_THE_EDIT):
        return probe.severity
    return 0.0 if probe.kind == RIGHT or probe.harmless else None


TRUTHS: dict[Question, Callable[[Probe], float | None]] = {
    "done": truth_of_done,
    "disturbed": truth_of_disturbed,
    "flawed": truth_of_flawed,
}
