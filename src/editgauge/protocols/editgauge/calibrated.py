"""The numbers as people's ratings make them, each compared with what it was before."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from editgauge.evidence import Note
from editgauge.protocols.editgauge.calibration import NEAREST
from editgauge.types import Score, Scores, Unscored

if TYPE_CHECKING:
    from editgauge.protocols.editgauge.calibration import Calibration, CalibrationCurve


QUALITY_SHARE = 0.2
"""Of quality in `overall`; chosen on the shared ratings, where people's overall follows the edit far more."""


def together(edit: float, quality: float) -> Score:
    """Done and well made as one number: a weighted geometric mean."""
    overall = edit ** (1 - QUALITY_SHARE) * quality**QUALITY_SHARE
    return Score(overall, (Note(f"{edit:.2f} done and {quality:.2f} well made, weighted 4 to 1: {overall:.2f}."),))


def by_people(scores: Scores, calibration: Calibration) -> Scores:
    """Every score with a curve of its own goes through it; `overall` without one joins what comes out."""
    curves = calibration.curves
    made = {
        name: _by_curve(score, curves[name], calibration.file) if name in curves and isinstance(score, Score) else score
        for name, score in scores.items()
    }
    made["edit"] = _weighed(made["edit"], scores, calibration)
    edit, quality, overall = (made[name] for name in ("edit", "quality", "overall"))
    if "overall" in curves or not (
        isinstance(edit, Score) and isinstance(quality, Score) and isinstance(overall, Score)
    ):
        return made
    anew = together(edit.value, quality.value)
    detail = f"Before the calibration ({calibration.file}) it is {overall.value:.2f}."
    return {**made, "overall": Score(anew.value, (Note(detail), *anew.evidence))}


def _weighed(edit: Score | Unscored, scores: Scores, calibration: Calibration) -> Score | Unscored:
    """The edit with what ratings make of further evidence: a joint embedder's, a judge's."""
    values = {name: score.value for name in calibration.roles if isinstance(score := scores.get(name), Score)}
    added = {name: calibration.roles[name] * value for name, value in values.items() if calibration.roles[name] * value}
    if isinstance(edit, Unscored) or not added:
        return edit
    inside = min(1 - NEAREST, max(NEAREST, edit.value))
    odds = math.log(inside / (1 - inside)) + sum(added.values())
    parts = ", ".join(f"{name} {values[name]:.2f} ({amount:+.1f})" for name, amount in added.items())
    note = Note(
        f"Ratings weigh further evidence again ({calibration.file}): {parts}; before that it is {edit.value:.2f}."
    )
    return replace(edit, value=1 / (1 + math.exp(-odds)), evidence=(note, *edit.evidence))


def _by_curve(score: Score, curve: CalibrationCurve, file: str) -> Score:
    value, ends = curve(score.value), curve.interval(score.value)
    sure = f" ({ends[0]:.2f} to {ends[1]:.2f})" if ends else ""
    question = f" to '{curve.question}'" if curve.question else ""
    message = (
        f"Before the calibration it is {score.value:.2f}; people's answers{question} on {curve.outcomes} outcomes "
        f"make {value:.2f}{sure} of it ({file}). The reasons add up to the former."
    )
    return replace(score, value=value, evidence=(Note(message), *score.evidence))
