"""What would people say of all edits, when they have rated a few and a score has rated all?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from editgauge._stats.prediction_powered import (
    CHOSEN,
    PoweredMean,
    in_units_of,
    prediction_powered_mean,
    selection_p,
)
from editgauge._util.progress import log_info
from editgauge._util.text import counted
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
    """What people gave the outcomes of a run, and with which chance each was picked to be rated."""

    means: Mapping[str, Outcomes]
    """Method to (edit, seed) to the mean over raters."""
    probabilities: Mapping[str, Outcomes] | None
    """The same to the chance; None where the file tells none, so that all had the same."""

    def chances(self, method: str, keys: Sequence[tuple[str, int]]) -> Numbers | None:
        """Of these outcomes of a method; None where all had the same."""
        if self.probabilities is None:
            return None
        return np.array([self.probabilities[method][key] for key in keys], dtype=np.float64)


@dataclass(frozen=True, slots=True)
class HumanMean:
    """The mean rating of a method's outcomes, by ratings alone and helped by a score."""

    method: str
    protocol: str
    spec: ScoreSpec
    mean: PoweredMean | None
    """None when no outcome has both a rating and the score."""
    unscored: int
    """Outcomes that are rated but have no score: they are left out of both means."""
    selection_p: float | None = None
    """The p-value that the rated outcomes were picked at random, by their scores; None with too few to ask."""
    weighted: bool = False
    """Whether every rating counts one over the chance with which its outcome was picked."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What is to be said about it, as sentences without a stop."""
        first = "no outcome has both a rating and this score" if self.mean is None else self.mean.note
        left_out = f"{counted(self.unscored, 'rated outcome')} left out: no score" if self.unscored else ""
        weights = "ratings are weighted by the chance with which their outcomes were picked" if self.weighted else ""
        return tuple(filter(None, (first, left_out, weights, self.warning)))

    @property
    def warning(self) -> str:
        """Set when the rated outcomes do not look like a random sample of all: then no mean here can be trusted."""
        return selection_warning(self.selection_p, "these means are biased")


def selection_warning(p: float | None, so: str) -> str:
    """That the rated outcomes were not picked at random, and what follows, without a stop; empty when they may be."""
    if p is None or p >= CHOSEN:
        return ""
    return (
        f"the rated outcomes score differently from the unrated ones (p = {p:.2g}): they were not picked at random, so "
        f"{so}; draw a random sample with `editgauge study create --sample stratified`, or give the chance of each "
        "outcome in the column `probability`"
    )


def estimate(
    run: str | Path,
    *,
    ratings: str | Path,
    score: str | None = None,
    method: str | None = None,
    question: str | None = None,
) -> list[HumanMean]:
    """Estimate the mean rating people would give all edits, from a few ratings and the scores of all (PPI++).

    The rated edits must have been picked at random; where some had a larger chance than others, the file gives it as
    `probability`, as `study export` does. A poor score does no harm: it then counts little or nothing.

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
    chosen = OneScore.read(Path(run), score)
    if method is not None:
        chosen.check(method)
    rated = mean_ratings(Path(ratings), chosen, question)
    values = [value for of_method in rated.means.values() for value in of_method.values()]
    scale = min(values), max(values)  # no rating lies outside what people gave to any method
    return [_human_mean(chosen, each, rated, scale) for each in ([method] if method else chosen.values)]


def mean_ratings(file: Path, chosen: OneScore, question: str | None) -> RatedOutcomes:
    """The mean over raters for the outcomes of the run; says what is left out."""
    ratings = read_ratings(file)
    questions = sorted({each.question for each in ratings})
    if question is not None and question not in questions:
        raise BadInputError(f"'{file}' has no ratings for the question '{question}'. It has:", questions)
    if question is None and len(questions) > 1:
        raise BadInputError(f"'{file}' holds ratings for several questions: choose one with --question.", questions)
    ratings = [each for each in ratings if question in (None, each.question)]
    matched = match(ratings, chosen.seeds)
    if matched.strangers:
        log_info(f"Left out: {matched.strangers} ratings of no outcome of the run, such as {matched.first_stranger}.")
    if matched.undecided:
        log_info(f"Left out: {matched.undecided} ratings that do not say of which of several seeds they are.")
    by_outcome: dict[str, dict[tuple[str, int], list[float]]] = {}
    chances: dict[str, dict[tuple[str, int], float]] = {}
    for (key,), rating in matched.pairs:
        by_outcome.setdefault(key.method, {}).setdefault((key.edit, key.seed), []).append(rating.value)
        if rating.probability is not None:
            chances.setdefault(key.method, {})[key.edit, key.seed] = rating.probability
    means = {method: {key: fmean(some) for key, some in outcomes.items()} for method, outcomes in by_outcome.items()}
    lacking = sum(len(outcomes) - len(chances.get(method, {})) for method, outcomes in means.items())
    if chances and lacking:
        raise BadInputError(
            f"'{file}' gives the probability of some rated outcomes and not of {lacking} others: give it for all, or "
            "leave the column out if all had the same chance."
        )
    return RatedOutcomes(means, chances or None)


def _human_mean(chosen: OneScore, method: str, people: RatedOutcomes, scale: tuple[float, float]) -> HumanMean:
    scores, ratings = chosen.values[method], people.means.get(method, {})
    rated = [key for key in ratings if key in scores]
    rest = [key for key in scores if key not in ratings]
    unscored = len(ratings) - len(rated)
    if not rated:
        return HumanMean(method, chosen.protocol, chosen.spec, None, unscored)
    labels = np.array([ratings[key] for key in rated])
    sign = 1.0 if chosen.spec.higher_is_better else -1.0
    predictions, more = (np.array([sign * scores[key] for key in keys], dtype=np.float64) for keys in (rated, rest))
    here, there = (np.array([chosen.sources[edit] for edit, _ in keys], dtype=np.str_) for keys in (rated, rest))
    chances = people.chances(method, rated)
    chance = selection_p(predictions, here, more, there, probabilities=chances)
    predictions, more = in_units_of(labels, predictions, more)
    mean = prediction_powered_mean(labels, predictions, here, more, there, probabilities=chances).inside(scale)
    return HumanMean(method, chosen.protocol, chosen.spec, mean, unscored, chance, weighted=chances is not None)
