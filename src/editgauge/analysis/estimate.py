"""Estimate the mean rating that people would give all edits, from a few ratings and the scores of all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from editgauge._stats.prediction_powered import (
    SELECTION_ALPHA,
    PoweredMean,
    in_units_of,
    prediction_powered_mean,
    selection_p,
)
from editgauge._util.progress import log_info
from editgauge._util.text import format_count
from editgauge.analysis.outcomes import OneScore, match
from editgauge.analysis.ratings import read_ratings
from editgauge.errors import BadInputError

if TYPE_CHECKING:
    from editgauge._stats.intervals import Numbers
    from editgauge.types import ScoreSpec

Outcomes = Mapping[tuple[str, int], float]
"""(edit, seed) to a number."""


@dataclass(frozen=True, slots=True)
class RatedOutcomes:
    """Mean ratings of outcomes, with their sampling probabilities."""

    means: Mapping[str, Outcomes]
    """Method to (edit, seed) to the mean over raters."""
    probabilities: Mapping[str, Outcomes] | None
    """The same to the sampling probability; None where the file has none."""

    def probabilities_of(self, method: str, keys: Sequence[tuple[str, int]]) -> Numbers | None:
        """Return the probabilities of these outcomes of a method; None where equal for all."""
        if self.probabilities is None:
            return None
        return np.array([self.probabilities[method][key] for key in keys], dtype=np.float64)


@dataclass(frozen=True, slots=True)
class HumanMeanEstimate:
    """The mean rating of a method's outcomes, by ratings alone and together with a score."""

    method: str
    protocol: str
    spec: ScoreSpec
    mean: PoweredMean | None
    """None when no outcome has both a rating and the score."""
    unscored: int
    """Rated outcomes without a score: left out of both means."""
    selection_p: float | None = None
    """P-value that the rated outcomes are a random sample, by their scores; None with too few."""
    weighted: bool = False
    """Whether ratings are weighted by the inverse sampling probability."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Return notes as sentences without a final stop."""
        reason = "no outcome has both a rating and this score" if self.mean is None else self.mean.note
        left_out = f"{format_count(self.unscored, 'rated outcome')} left out: no score" if self.unscored else ""
        weights = "ratings are weighted by the inverse sampling probability" if self.weighted else ""
        return tuple(filter(None, (reason, left_out, weights, self.warning)))

    @property
    def warning(self) -> str:
        """Return a warning when the rated outcomes do not look like a random sample; else empty."""
        return selection_warning(self.selection_p, "these means are biased")


def selection_warning(p: float | None, consequence: str) -> str:
    """Return that the rated outcomes are no random sample and what follows; empty when they may be."""
    if p is None or p >= SELECTION_ALPHA:
        return ""
    return (
        f"the rated outcomes score differently from the unrated ones (p = {p:.2g}): they are no random sample, so "
        f"{consequence}; draw a random sample with `editgauge study create --sample stratified`, or give the "
        "sampling probability of each outcome in the column `probability`"
    )


def estimate(
    run: str | Path,
    *,
    ratings: str | Path,
    score: str | None = None,
    method: str | None = None,
    question: str | None = None,
) -> list[HumanMeanEstimate]:
    """Estimate the mean rating people would give all edits, from a few ratings and the scores of all (PPI++).

    The rated edits must be a random sample; sampling probabilities that differ belong in the column `probability`, as
    `study export` writes it. A poor score does no harm: it then counts little or nothing.

    Example:
        $ editgauge estimate run --ratings ratings.csv --score ssim
        >>> editgauge.estimate("run", ratings="ratings.csv", score="ssim")

    Args:
        run: run folder.
        ratings: CSV or JSONL file with edit, method, value, and optionally rater, question, seed, probability.
        score: `NAME` or `PROTOCOL/NAME`; default: the verdict `edit`, or the only score.
        method: one method; default: each method of the run.
        question: which question's ratings, where the file has several.

    """
    score_values = OneScore.read(Path(run), score)
    if method is not None:
        score_values.check(method)
    people = mean_ratings(Path(ratings), score_values, question)
    values = [value for of_method in people.means.values() for value in of_method.values()]
    scale = min(values), max(values)  # the scale of a ratings file is not declared
    return [_human_mean(score_values, name, people, scale) for name in ([method] if method else score_values.values)]


def mean_ratings(file: Path, score_values: OneScore, question: str | None) -> RatedOutcomes:
    """Average ratings over raters by outcome; report ratings that are left out."""
    ratings = read_ratings(file)
    questions = sorted({rating.question for rating in ratings})
    if question is not None and question not in questions:
        raise BadInputError(f"'{file}' has no ratings for the question '{question}'. It has:", questions)
    if question is None and len(questions) > 1:
        raise BadInputError(f"'{file}' holds ratings for several questions; choose one with `question`.", questions)
    ratings = [rating for rating in ratings if question in (None, rating.question)]
    matched = match(ratings, score_values.seeds)
    if matched.unmatched:
        log_info(f"Left out: {matched.unmatched} ratings of no outcome of the run, such as {matched.first_unmatched}.")
    if matched.ambiguous:
        log_info(f"Left out: {matched.ambiguous} ratings that do not say of which of several seeds they are.")
    by_outcome: dict[str, dict[tuple[str, int], list[float]]] = {}
    probabilities: dict[str, dict[tuple[str, int], float]] = {}
    for (key,), rating in matched.pairs:
        by_outcome.setdefault(key.method, {}).setdefault((key.edit, key.seed), []).append(rating.value)
        if rating.probability is not None:
            probabilities.setdefault(key.method, {})[key.edit, key.seed] = rating.probability
    means = {
        method: {key: fmean(numbers) for key, numbers in outcomes.items()} for method, outcomes in by_outcome.items()
    }
    missing = sum(len(outcomes) - len(probabilities.get(method, {})) for method, outcomes in means.items())
    if probabilities and missing:
        raise BadInputError(
            f"'{file}' has no probability for {missing} of the rated outcomes: give it for all, or leave the "
            "column out if all were sampled alike."
        )
    return RatedOutcomes(means, probabilities or None)


def _human_mean(
    score_values: OneScore, method: str, people: RatedOutcomes, scale: tuple[float, float]
) -> HumanMeanEstimate:
    scores, ratings = score_values.values[method], people.means.get(method, {})
    rated = [key for key in ratings if key in scores]
    unrated = [key for key in scores if key not in ratings]
    unscored = len(ratings) - len(rated)
    if not rated:
        return HumanMeanEstimate(method, score_values.protocol, score_values.spec, None, unscored)
    labels = np.array([ratings[key] for key in rated])
    sign = 1.0 if score_values.spec.higher_is_better else -1.0
    predictions, more = (np.array([sign * scores[key] for key in keys], dtype=np.float64) for keys in (rated, unrated))
    rated_sources, unrated_sources = (
        np.array([score_values.sources[edit] for edit, _ in keys], dtype=np.str_) for keys in (rated, unrated)
    )
    probabilities = people.probabilities_of(method, rated)
    selection = selection_p(predictions, rated_sources, more, unrated_sources, probabilities=probabilities)
    predictions, more = in_units_of(labels, predictions, more)
    mean = prediction_powered_mean(
        labels, predictions, rated_sources, more, unrated_sources, probabilities=probabilities
    ).inside(scale)
    return HumanMeanEstimate(
        method, score_values.protocol, score_values.spec, mean, unscored, selection, weighted=probabilities is not None
    )
