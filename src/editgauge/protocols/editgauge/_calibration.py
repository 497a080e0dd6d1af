"""What people's ratings make of the numbers of `editgauge`: curves that `editgauge build calibration` fitted.

A curve is a line in the log-odds, or its asymmetric relative (beta calibration: Kull, Silva Filho and Flach 2017). It
rises everywhere, so it never changes the order of two outcomes; it changes what their numbers mean.
"""

from __future__ import annotations

import json
import math
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from editgauge._util.files import read_bytes, write_bytes
from editgauge._util.packages import cache_root
from editgauge.errors import BadInputError
from editgauge.evidence import Note
from editgauge.types import Score, Scores, Unscored

SCHEMA = 1
NEAREST = 1e-3
"""To 0 and to 1: what lies nearer has no log-odds that people could be asked about."""
SIGNS = 12
"""Of the SHA-256 that stand in a variant's name."""
CACHE_FOLDER = "calibrations"
"""In the cache: what was read once is found again by its SHA-256, so that a run's scores need not name a folder."""
UNREADABLE = "'{}' is no calibration that `editgauge build calibration` wrote: {}."


@dataclass(frozen=True, slots=True)
class Point:
    """What a curve makes of one value, with its 95% interval; none when all ratings are of one source image."""

    value: float
    calibrated: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class CalibrationCurve:
    """From a number of the protocol to the share of people who say so.

    The log-odds of the share are `low` x ln(value) - `high` x ln(1 - value) + `shift`.
    """

    question: str
    low: float
    """How fast it rises from 0; never negative."""
    high: float
    """How fast it rises towards 1; the same as `low` for a line in the log-odds."""
    shift: float
    outcomes: int
    """On that many rated outcomes it was fitted."""
    points: tuple[Point, ...] = ()
    """By rising value, with the first at 0 and the last at 1."""

    def __call__(self, value: float) -> float:
        """Return the share of people who say so."""
        inside = min(1 - NEAREST, max(NEAREST, value))
        odds = self.low * math.log(inside) - self.high * math.log1p(-inside) + self.shift
        return 1 / (1 + math.exp(-max(-30.0, min(30.0, odds))))

    def interval(self, value: float) -> tuple[float, float] | None:
        """Return the interval of the share, interpolated between the points; None where there are none."""
        after = min(bisect_right([point.value for point in self.points], value), len(self.points) - 1)
        if after < 1:
            return None
        left, right = self.points[after - 1], self.points[after]
        if left.low is None or left.high is None or right.low is None or right.high is None:
            return None
        share = (value - left.value) / (right.value - left.value)
        return left.low + share * (right.low - left.low), left.high + share * (right.high - left.high)


@dataclass(frozen=True, slots=True)
class Calibration:
    """Curves by score, and for which numbers they were made."""

    file: str
    sha256: str
    version: str
    """Of the protocol whose numbers it was fitted on."""
    models: Mapping[str, str]
    """The models, by role, that those numbers were made with."""
    curves: Mapping[str, CalibrationCurve]
    roles: Mapping[str, float] = field(default_factory=dict)
    """What ratings make of a joint embedder's and a judge's evidence: log-odds that a full step adds to `edit`."""

    @property
    def name(self) -> str:
        """The file's own name with the beginning of its SHA-256: the same content is the same one in every folder."""
        return f"{Path(self.file).name}@{self.sha256[:SIGNS]}"


def read_calibration(written: str) -> Calibration:
    """Read a calibration file; `FILE@SHA` names its content, which is cached when it is read first."""
    file, at, expected = written.rpartition("@")
    if not at or Path(written).is_file():
        file, expected = written, ""
    folder = cache_root() / CACHE_FOLDER
    cached = next(folder.glob(f"{expected}*.json"), None) if expected else None
    try:
        content = read_bytes(cached or Path(file))
    except OSError as error:
        raise BadInputError(
            f"The calibration '{file}' cannot be read: {error.strerror}. `editgauge build calibration` makes one."
        ) from error
    hashed = sha256(content).hexdigest()
    if not hashed.startswith(expected):
        raise BadInputError(
            f"'{file}' has changed: its SHA-256 begins with {hashed[:SIGNS]}, and {expected} was asked for. "
            "Bring back the file of before, or name it without '@' to start over with this one."
        )
    calibration = _read(file, hashed, content)
    if cached is None:
        write_bytes(folder / f"{hashed}.json", content)
    return calibration


def _read(file: str, hashed: str, content: bytes) -> Calibration:
    try:
        content_fields = json.loads(content)
        if content_fields["schema"] != SCHEMA:
            raise BadInputError(
                UNREADABLE.format(file, f"its schema is {content_fields['schema']}, this version reads {SCHEMA}")
            )
        curves = {name: read_curve(score["curve"]) for name, score in content_fields["scores"].items()}
        roles = {
            name: float(weight)
            for score in content_fields["scores"].values()
            for name, weight in score.get("roles", {}).items()
        }
        return Calibration(file, hashed, str(content_fields["version"]), dict(content_fields["models"]), curves, roles)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadInputError(UNREADABLE.format(file, f"{type(error).__name__} {error}")) from error


def read_curve(fields: Mapping[str, Any]) -> CalibrationCurve:
    """Read a curve from its JSON form; refuse one that could fall."""
    points = tuple(Point(**point) for point in fields["points"])
    curve = CalibrationCurve(**{**fields, "points": points})
    if not all(map(math.isfinite, (curve.low, curve.high, curve.shift))):
        raise ValueError("a curve has numbers that are not finite")
    if min(curve.low, curve.high) < 0 or curve.low + curve.high <= 0:
        raise ValueError("a curve does not rise")
    return curve


QUALITY_SHARE = 0.4
"""Weight of quality in `overall`; chosen on the shared ratings, where people's overall follows both."""


def combine_overall(success: float, quality: float) -> Score:
    """Combine success and quality into one score: a weighted geometric mean."""
    overall = success ** (1 - QUALITY_SHARE) * quality**QUALITY_SHARE
    return Score(overall, (Note(f"Success {success:.2f} and quality {quality:.2f}, weighted 3 to 2: {overall:.2f}."),))


def apply_calibration(scores: Scores, calibration: Calibration) -> Scores:
    """Map every score with a curve of its own through it; `overall` without one combines the results."""
    curves = calibration.curves
    mapped = {
        name: _map_score(score, curves[name], calibration.file)
        if name in curves and isinstance(score, Score)
        else score
        for name, score in scores.items()
    }
    for name in ("edit", "success"):
        mapped[name] = _add_roles(mapped[name], scores, calibration)
    success, quality, overall = (mapped[name] for name in ("success", "quality", "overall"))
    if "overall" in curves or not (
        isinstance(success, Score) and isinstance(quality, Score) and isinstance(overall, Score)
    ):
        return mapped
    combined = combine_overall(success.value, quality.value)
    detail = f"Before the calibration ({calibration.file}) it is {overall.value:.2f}."
    return {**mapped, "overall": Score(combined.value, (Note(detail), *combined.evidence))}


def _add_roles(score: Score | Unscored, scores: Scores, calibration: Calibration) -> Score | Unscored:
    """Add what ratings make of further evidence: a joint embedder's, a judge's."""
    values = {name: role.value for name in calibration.roles if isinstance(role := scores.get(name), Score)}
    added = {name: calibration.roles[name] * value for name, value in values.items() if calibration.roles[name] * value}
    if isinstance(score, Unscored) or not added:
        return score
    inside = min(1 - NEAREST, max(NEAREST, score.value))
    odds = math.log(inside / (1 - inside)) + sum(added.values())
    parts = ", ".join(f"{name} {values[name]:.2f} ({amount:+.1f})" for name, amount in added.items())
    note = Note(
        f"Ratings weigh further evidence again ({calibration.file}): {parts}; before that it is {score.value:.2f}."
    )
    return replace(score, value=1 / (1 + math.exp(-odds)), evidence=(note, *score.evidence))


def _map_score(score: Score, curve: CalibrationCurve, file: str) -> Score:
    value, ends = curve(score.value), curve.interval(score.value)
    sure = f" ({ends[0]:.2f} to {ends[1]:.2f})" if ends else ""
    question = f" to '{curve.question}'" if curve.question else ""
    message = (
        f"Before the calibration it is {score.value:.2f}; people's answers{question} on {curve.outcomes} outcomes "
        f"make {value:.2f}{sure} of it ({file}). The reasons add up to the former."
    )
    return replace(score, value=value, evidence=(Note(message), *score.evidence))
