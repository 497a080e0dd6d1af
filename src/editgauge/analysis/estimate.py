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
from editgauge.analysis._evaluators import Scored, read_score
from editgauge.analysis.outcomes import match, select_methods
from editgauge.analysis.ratings import read_ratings
from editgauge.errors import BadInputError
from editgauge.results import OutcomeKey, Run, RunSource

if TYPE_CHECKING:
    from editgauge._stats.intervals import Numbers
    from editgauge.types import ScoreSpec


@dataclass(frozen=True, slots=True)
class RatedOutcomes:
    """Mean ratings of outcomes, with their sampling probabilities."""

    means: Mapping[OutcomeKey, float]
    """Over raters."""
    probabilities: Mapping[OutcomeKey, float] | None
    """None where the file has none."""

    def probabilities_of(self, keys: Sequence[OutcomeKey]) -> Numbers | None:
        """Return the sampling probabilities of these outcomes; None where equal for all."""
        if self.probabilities is None:
            return None
        return np.array([self.probabilities[key] for key in keys], dtype=np.float64)


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
    run: RunSource,
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
    opened = Run.open(run)
    scores = read_score(opened, score)
    people = mean_ratings(Path(ratings), opened, question)
    return [_human_mean(scores, name, people, opened) for name in select_methods(opened, method)]


def mean_ratings(file: Path, run: Run, question: str | None) -> RatedOutcomes:
    """Average ratings over raters by outcome; report ratings that are left out."""
    ratings = read_ratings(file)
    questions = sorted({rating.question for rating in ratings})
    if question is not None and question not in questions:
        raise BadInputError(f"'{file}' has no ratings for the question '{question}'. It has:", questions)
    if question is None and len(questions) > 1:
        raise BadInputError(f"'{file}' holds ratings for several questions; choose one with `question`.", questions)
    ratings = [rating for rating in ratings if question in (None, rating.question)]
    matched = match(ratings, run.score_columns.seeds)
    if matched.unmatched:
        log_info(f"Left out: {matched.unmatched} ratings of no outcome of the run, such as {matched.first_unmatched}.")
    if matched.ambiguous:
        log_info(f"Left out: {matched.ambiguous} ratings that do not say of which of several seeds they are.")
    by_outcome: dict[OutcomeKey, list[float]] = {}
    probabilities: dict[OutcomeKey, float] = {}
    for (key,), rating in matched.pairs:
        by_outcome.setdefault(key, []).append(rating.value)
        if rating.probability is not None:
            probabilities[key] = rating.probability
    missing = len(by_outcome) - len(probabilities)
    if probabilities and missing:
        raise BadInputError(
            f"'{file}' has no probability for {missing} of the rated outcomes: give it for all, or leave the "
            "column out if all were sampled alike."
        )
    return RatedOutcomes({key: fmean(values) for key, values in by_outcome.items()}, probabilities or None)


def _human_mean(score: Scored, method: str, people: RatedOutcomes, run: Run) -> HumanMeanEstimate:
    ratings = {key: value for key, value in people.means.items() if key.method == method}
    rated = [key for key in ratings if key in score.values]
    unrated = [key for key in score.values if key.method == method and key not in ratings]
    unscored = len(ratings) - len(rated)
    if not rated:
        return HumanMeanEstimate(method, score.protocol, score.spec, None, unscored)
    labels = np.array([ratings[key] for key in rated])
    predictions, more = (np.array([score.worth(key) for key in keys], dtype=np.float64) for keys in (rated, unrated))
    rated_sources, unrated_sources = map(run.score_columns.sources_of, (rated, unrated))
    probabilities = people.probabilities_of(rated)
    selection = selection_p(predictions, rated_sources, more, unrated_sources, probabilities=probabilities)
    predictions, more = in_units_of(labels, predictions, more)
    scale = min(people.means.values()), max(people.means.values())  # the scale of a ratings file is not declared
    mean = prediction_powered_mean(
        labels, predictions, rated_sources, more, unrated_sources, probabilities=probabilities
    ).inside(scale)
    return HumanMeanEstimate(
        method, score.protocol, score.spec, mean, unscored, selection, weighted=probabilities is not None
    )
