"""Find the score above which people accept an edit, from ratings of some outcomes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from editgauge._render.plots import reliability_svg
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
from editgauge.analysis._evaluators import Scored, label, read_score
from editgauge.analysis.estimate import RatedOutcomes, mean_ratings, selection_warning
from editgauge.analysis.outcomes import select_methods
from editgauge.errors import BadInputError
from editgauge.results import OutcomeKey, Run, RunSource

if TYPE_CHECKING:
    from editgauge.types import ScoreSpec


@dataclass(frozen=True, slots=True)
class Passing:
    """How many of a method's scored outcomes, rated or not, pass the threshold."""

    passed: int
    scored: int


@dataclass(frozen=True, slots=True)
class Acceptance:
    """An acceptance threshold, its guarantee, and its effect on the run."""

    protocol: str
    spec: ScoreSpec
    level: float
    rated: int
    """Outcomes with a rating and the score."""
    accepted: int
    """Of those, the number with a mean rating of at least the level."""
    threshold: Threshold
    measured: Mean | None
    """Cross-validated share of rejected outcomes that pass; None without a threshold."""
    passing: Mapping[str, Passing]
    curve: tuple[Bin, ...]
    sure: Threshold
    """The threshold that keeps the share with a probability of 90% over the sampling of labels."""
    selection_p: float | None = None
    """P-value that the rated outcomes are a random sample, by their scores; None with too few."""

    @property
    def warning(self) -> str:
        """Return a warning when the rated outcomes do not look like a random sample; else empty."""
        warning = selection_warning(self.selection_p, "the guarantee does not hold")
        return f"{warning[0].upper()}{warning[1:]}." if warning else ""


def accept(
    run: RunSource,
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

    The rated edits must be a random sample; sampling probabilities that differ belong in the column `probability`, as
    `study export` writes it.

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
        raise BadInputError(f"`share` must be between 0 and 1, such as 0.1; got {share}.")
    opened = Run.open(run)
    methods = select_methods(opened, method)
    all_scores = read_score(opened, score)
    scores = replace(
        all_scores, values={key: value for key, value in all_scores.values.items() if key.method in methods}
    )
    labeled = _Labeled.of(scores, mean_ratings(Path(ratings), opened, question), level, opened)
    better = scores.spec.higher_is_better
    threshold = acceptance_threshold(
        *labeled.arrays, alpha=share, higher_is_better=better, probabilities=labeled.probabilities
    )
    acceptance = Acceptance(
        scores.protocol,
        scores.spec,
        level,
        labeled.scores.size,
        int(labeled.accepted.sum()),
        threshold,
        _measured(labeled, threshold),
        {name: _passing(threshold, scores, name) for name in methods},
        tuple(reliability(labeled.scores, labeled.accepted, higher_is_better=better)),
        high_probability_threshold(
            *labeled.arrays, alpha=share, higher_is_better=better, probabilities=labeled.probabilities
        ),
        _selection(scores, labeled, opened),
    )
    if plot is not None:
        write_text(Path(plot), reliability_svg(acceptance.curve, threshold, label(scores)))
    return acceptance


@dataclass(frozen=True, slots=True)
class _Labeled:
    scores: Numbers
    accepted: NDArray[np.bool_]
    sources: Labels
    keys: frozenset[OutcomeKey]
    """Outcomes with a rating and the score."""
    probabilities: Numbers | None
    """Sampling probabilities; None where equal for all."""

    @classmethod
    def of(cls, scores: Scored, people: RatedOutcomes, level: float, run: Run) -> _Labeled:
        keys = [key for key in people.means if key in scores.values]
        keys.sort(key=lambda key: list(run.manifest.methods).index(key.method))
        if not keys:
            raise BadInputError("No outcome has both a rating and this score.")
        return cls(
            np.array([scores.values[key] for key in keys], dtype=np.float64),
            np.array([people.means[key] >= level for key in keys], dtype=np.bool_),
            run.score_columns.sources_of(keys),
            frozenset(keys),
            people.probabilities_of(keys),
        )

    @property
    def arrays(self) -> tuple[Numbers, NDArray[np.bool_], Labels]:
        return self.scores, self.accepted, self.sources


def _measured(labeled: _Labeled, threshold: Threshold) -> Mean | None:
    """Estimate the false-accept rate by leaving out each source image with rejected edits in turn."""
    names = np.unique(labeled.sources[~labeled.accepted])
    shares = []
    for name in names:
        is_source = labeled.sources == name
        threshold_without = acceptance_threshold(
            *(array[~is_source] for array in labeled.arrays),
            alpha=threshold.alpha,
            higher_is_better=threshold.higher_is_better,
            probabilities=None if labeled.probabilities is None else labeled.probabilities[~is_source],
        )
        shares.append(float(threshold_without.passes(labeled.scores[is_source & ~labeled.accepted]).mean()))
    if threshold.value is None or not shares:
        return None
    return clustered_mean(np.array(shares), names, scale=(0.0, 1.0))


def _selection(scores: Scored, labeled: _Labeled, run: Run) -> float | None:
    """Return the p-value that rated outcomes are a random sample, by their scores."""
    unrated = {key: value for key, value in scores.values.items() if key not in labeled.keys}
    if not unrated:
        return None
    values, sources = np.array(list(unrated.values())), run.score_columns.sources_of(unrated)
    return selection_p(labeled.scores, labeled.sources, values, sources, probabilities=labeled.probabilities)


def _passing(threshold: Threshold, scores: Scored, method: str) -> Passing:
    values = np.array([value for key, value in scores.values.items() if key.method == method], dtype=np.float64)
    return Passing(int(threshold.passes(values).sum()), values.size)
