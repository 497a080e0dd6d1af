"""The numbers as people's ratings make them, each beside what it was on probes; and the product of the three."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from editgauge.core.evidence import Note
from editgauge.core.types import Score, Scores

if TYPE_CHECKING:
    from editgauge.protocols.editgauge.calibration import Calibration, Curve


def product(edit: float, preservation: float, artifact: float) -> Score:
    """Done, kept and clean as one number."""
    overall = edit * preservation * (1 - artifact)
    return Score(overall, (Note(f"{_factors(edit, preservation, artifact)} = {overall:.2f}."),))


def _factors(edit: float, preservation: float, artifact: float) -> str:
    return f"{edit:.2f} done x {preservation:.2f} kept x {1 - artifact:.2f} clean"


def by_people(found: Scores, calibration: Calibration) -> Scores:
    """Every score with a curve of its own goes through it; `overall` without one is the product of what comes out."""
    curves = calibration.curves
    made = {
        name: _by_curve(score, curves[name], calibration.file) if name in curves and isinstance(score, Score) else score
        for name, score in found.items()
    }
    parts = [made[name] for name in ("edit", "preservation", "artifact")]
    values = [part.value for part in parts if isinstance(part, Score)]
    was = made["overall"]
    if "overall" in curves or len(values) < len(parts) or not isinstance(was, Score):
        return made
    anew = product(*values)
    told = (
        f"Calibrated on probes alone it is {was.value:.2f}; by people's ratings {_factors(*values)} = {anew.value:.2f} "
        f"({calibration.file})."
    )
    return {**made, "overall": Score(anew.value, (Note(told),))}


def _by_curve(score: Score, curve: Curve, file: str) -> Score:
    value, ends = curve(score.value), curve.interval(score.value)
    sure = f" ({ends[0]:.2f} to {ends[1]:.2f})" if ends else ""
    asked = f" to '{curve.question}'" if curve.question else ""
    told = (
        f"Calibrated on probes alone it is {score.value:.2f}; people's answers{asked} on {curve.outcomes} outcomes "
        f"make {value:.2f}{sure} of it ({file}). The reasons add up to the former."
    )
    return replace(score, value=value, evidence=(Note(told), *score.evidence))
