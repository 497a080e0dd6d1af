"""Which edits would a person accept? A score's threshold with a promise, from ratings of some outcomes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from editgauge._render.svg import AxisRange, Plane, document, label
from editgauge._stats.conformal import (
    Bin,
    Threshold,
    acceptance_threshold,
    high_probability_threshold,
    reliability,
)
from editgauge._stats.intervals import Labels, Mean, Numbers, clustered_mean
from editgauge._stats.prediction_powered import selection_p
from editgauge._util.files import write_text
from editgauge.analysis.estimate import RatedOutcomes, mean_ratings, selection_warning
from editgauge.analysis.outcomes import OneScore
from editgauge.errors import BadInputError

if TYPE_CHECKING:
    from editgauge.types import ScoreSpec

WIDTH, HEIGHT = 460, 300
LEFT, RIGHT, TOP, BOTTOM = 54, 14, 34, 46
STYLE = (
    "text{font:12px system-ui,sans-serif;fill:#333}.title{font-weight:600}.axis,.grid{fill:none;stroke:#999}"
    ".grid{stroke:#e4e4e4}.whisker{stroke:#2a6fb0;stroke-width:1.6}.dot{fill:#2a6fb0}"
    ".fit{fill:none;stroke:#2a6fb0;stroke-opacity:.35;stroke-width:5;stroke-linejoin:round}"
    ".limit{stroke:#b3541e;stroke-dasharray:5 4}.limit-label{fill:#b3541e}"
)


@dataclass(frozen=True, slots=True)
class Passing:
    """Of a method's scored outcomes, rated or not, how many score beyond the threshold."""

    passed: int
    scored: int


@dataclass(frozen=True, slots=True)
class Acceptance:
    """From which score on people would accept, what that promises, and what it does to this run."""

    protocol: str
    spec: ScoreSpec
    level: float
    rated: int
    """Outcomes with a rating and the score."""
    accepted: int
    """Of those, how many people accept: their mean rating is at least the level."""
    threshold: Threshold
    measured: Mean | None
    """The share of rejected outcomes of a source image that pass a threshold made without it; None without one."""
    passing: Mapping[str, Passing]
    curve: tuple[Bin, ...]
    sure: Threshold
    """The threshold that keeps the share with a probability of 90% over the labels one might have got."""
    selection_p: float | None = None
    """The p-value that the rated outcomes were picked at random, by their scores; None with too few to ask."""

    @property
    def warning(self) -> str:
        """Set when the rated outcomes do not look like a random sample of all: then the promise does not hold."""
        warning = selection_warning(self.selection_p, "the threshold keeps no promise")
        return f"{warning[0].upper()}{warning[1:]}." if warning else ""


def accept(
    run: str | Path,
    *,
    ratings: str | Path,
    level: float,
    share: float = 0.1,
    score: str | None = None,
    method: str | None = None,
    question: str | None = None,
    plot: str | Path | None = None,
) -> Acceptance:
    """Find the score above which people accept an edit, with a guaranteed rate of false accepts.

    The rated edits must have been picked at random; where some had a larger chance than others, the file gives it as
    `probability`, as `study export` does.

    Example:
        $ editgauge accept run --ratings ratings.csv --level 4 --score ssim --plot accepted.svg
        >>> editgauge.accept("run", ratings="ratings.csv", level=4, score="ssim")

    Args:
        run: run folder.
        ratings: CSV or JSONL file with edit, method, value, and optionally rater, question, seed, probability.
        level: mean rating from which people accept an edit.
        share: maximum share of the edits people reject that may pass.
        score: `NAME` or `PROTOCOL/NAME`; default: the verdict `edit`, or the only score.
        method: one method; default: all together.
        question: which question's ratings, where the file has several.
        plot: SVG file for the curve: acceptance rate by score.
    """
    if not 0 < share < 1:
        raise BadInputError(f"--share must be between 0 and 1, such as 0.1; got {share}.")
    chosen = OneScore.read(Path(run), score)
    if method is not None:
        chosen.check(method)
    methods = [method] if method else list(chosen.values)
    labeled = _Labeled.of(chosen, methods, mean_ratings(Path(ratings), chosen, question), level)
    better = chosen.spec.higher_is_better
    threshold = acceptance_threshold(
        *labeled.arrays, alpha=share, higher_is_better=better, probabilities=labeled.probabilities
    )
    acceptance = Acceptance(
        chosen.protocol,
        chosen.spec,
        level,
        labeled.scores.size,
        int(labeled.accepted.sum()),
        threshold,
        _measured(labeled, threshold),
        {each: _passing(threshold, chosen.values[each]) for each in methods},
        tuple(reliability(labeled.scores, labeled.accepted, higher_is_better=better)),
        high_probability_threshold(
            *labeled.arrays, alpha=share, higher_is_better=better, probabilities=labeled.probabilities
        ),
        _selection(chosen, methods, labeled),
    )
    if plot is not None:
        write_text(Path(plot), reliability_svg(acceptance.curve, threshold, f"{chosen.protocol}/{chosen.spec.name}"))
    return acceptance


@dataclass(frozen=True, slots=True)
class _Labeled:
    scores: Numbers
    accepted: NDArray[np.bool_]
    sources: Labels
    keys: frozenset[tuple[str, tuple[str, int]]]
    """Method, and edit with seed, of what is rated."""
    probabilities: Numbers | None
    """The chance with which each was picked; None where all had the same."""

    @classmethod
    def of(cls, chosen: OneScore, methods: list[str], people: RatedOutcomes, level: float) -> _Labeled:
        rows = [
            (chosen.values[method][key], rating >= level, chosen.sources[key[0]], (method, key))
            for method in methods
            for key, rating in people.means.get(method, {}).items()
            if key in chosen.values[method]
        ]
        if not rows:
            raise BadInputError("No outcome has both a rating and this score.")
        scores, accepted, sources, keys = zip(*rows, strict=True)
        numbers = np.array(scores, dtype=np.float64), np.array(accepted, dtype=np.bool_)
        chances = [people.chances(method, [key]) for method, key in keys]
        known = [chance for chance in chances if chance is not None]
        return cls(*numbers, np.array(sources), frozenset(keys), np.concatenate(known) if known else None)

    @property
    def arrays(self) -> tuple[Numbers, NDArray[np.bool_], Labels]:
        return self.scores, self.accepted, self.sources


def _measured(labeled: _Labeled, threshold: Threshold) -> Mean | None:
    """Each source image with rejected edits is left out once, and meets the threshold of the others."""
    names = np.unique(labeled.sources[~labeled.accepted])
    shares = []
    for name in names:
        here = labeled.sources == name
        others = acceptance_threshold(
            *(each[~here] for each in labeled.arrays),
            alpha=threshold.alpha,
            higher_is_better=threshold.higher_is_better,
            probabilities=None if labeled.probabilities is None else labeled.probabilities[~here],
        )
        shares.append(float(others.passes(labeled.scores[here & ~labeled.accepted]).mean()))
    if threshold.value is None or not shares:
        return None
    return clustered_mean(np.array(shares), names, scale=(0.0, 1.0))


def _selection(chosen: OneScore, methods: list[str], labeled: _Labeled) -> float | None:
    """By the scores of rated and unrated outcomes."""
    rest = [
        (value, chosen.sources[key[0]])
        for method in methods
        for key, value in chosen.values[method].items()
        if (method, key) not in labeled.keys
    ]
    if not rest:
        return None
    scores, sources = zip(*rest, strict=True)
    chances = labeled.probabilities
    return selection_p(labeled.scores, labeled.sources, np.array(scores), np.array(sources), probabilities=chances)


def _passing(threshold: Threshold, scores: Mapping[tuple[str, int], float]) -> Passing:
    return Passing(int(threshold.passes(np.array(list(scores.values()), dtype=np.float64)).sum()), len(scores))


def reliability_svg(bins: Sequence[Bin], threshold: Threshold, name: str) -> str:
    """An SVG document: a dot with Wilson's interval per bin, the isotonic fit behind, the threshold dashed."""
    marks = [each.score for each in bins] + ([] if threshold.value is None else [threshold.value])
    low, high = (min(marks), max(marks)) if marks else (0.0, 1.0)
    margin = (high - low) * 0.04 or 0.5
    across = AxisRange(low - margin, high + margin)
    plane = Plane(across, AxisRange(0, 1), LEFT, TOP, WIDTH - RIGHT, HEIGHT - BOTTOM)
    x, y = plane.x, plane.y
    parts = [
        f'<text class="title" x="{LEFT}" y="20">people accept, by score</text>',
        plane.levels((0, 0.25, 0.5, 0.75, 1), "{:.0%}".format),
        f'<path class="axis" d="M{LEFT} {HEIGHT - BOTTOM}H{WIDTH - RIGHT}"/>',
        plane.places(dict.fromkeys((low, high)), "{:.3g}".format),
        label((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, name, "middle"),
    ]
    if bins:
        parts.append(f'<path class="fit" d="M{" L".join(f"{x(b.score):.1f} {y(b.fitted):.1f}" for b in bins)}"/>')
    for each in bins:
        at = f"{x(each.score):.1f}"
        parts.append(f'<path class="whisker" d="M{at} {y(each.low):.1f}V{y(each.high):.1f}"/>')
        parts.append(f'<circle class="dot" cx="{at}" cy="{y(each.accepted):.1f}" r="3.6"/>')
    if threshold.value is not None:
        parts.append(_limit(plane, threshold.value))
    description = "; ".join(f"score {each.score:.3g}: {each.accepted:.0%} of {each.n}" for each in bins)
    return document(parts, WIDTH, HEIGHT, f"How often people accept, by {name}: {description}", STYLE)


def _limit(plane: Plane, threshold: float) -> str:
    """The threshold, with its name on the side where there is room."""
    at = plane.x(threshold)
    side = f'x="{at + 5:.1f}"' if at < WIDTH * 0.6 else f'x="{at - 5:.1f}" text-anchor="end"'
    line = f'<path class="limit" d="M{at:.1f} {TOP}V{HEIGHT - BOTTOM}"/>'
    return f'{line}<text class="limit-label" {side} y="{TOP + 12}">passes beyond {threshold:.3g}</text>'
