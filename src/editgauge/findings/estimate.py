"""What would people say of all edits, when they have rated a few and a score has rated all?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from editgauge.core.errors import BadInput
from editgauge.core.progress import say
from editgauge.findings.one_score import OneScore
from editgauge.findings.people.matching import match
from editgauge.findings.people.ratings import read_ratings
from editgauge.stats.prediction_powered import (
    CHOSEN,
    PoweredMean,
    in_units_of,
    prediction_powered_mean,
    selection_p,
)

if TYPE_CHECKING:
    from editgauge.core.types import ScoreSpec

Outcomes = Mapping[tuple[str, int], float]
"""(edit, seed) to a number."""


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

    @property
    def notes(self) -> tuple[str, ...]:
        """What is to be said about it, as sentences without a stop."""
        first = "no outcome has both a rating and this score" if self.mean is None else self.mean.note
        left_out = f"{self.unscored} rated outcomes have no score and are left out" if self.unscored else ""
        return tuple(filter(None, (first, left_out, self.warning)))

    @property
    def warning(self) -> str:
        """Set when the rated outcomes do not look like a random sample of all: then no mean here can be trusted."""
        if self.selection_p is None or self.selection_p >= CHOSEN:
            return ""
        return (
            f"the rated outcomes score differently from the unrated ones (p = {self.selection_p:.2g}): they were not "
            "picked at random, so these means are biased; draw a random sample"
        )


def estimate(
    run: str | Path, *, ratings: str | Path, score: str | None = None, method: str | None = None
) -> list[HumanMean]:
    """Estimate the mean rating people would give all edits, from a few ratings and the scores of all (PPI++).

    The rated edits must have been picked at random. A poor score does no harm: it then counts little or nothing.

    Example:
        $ editgauge estimate run --ratings ratings.csv --score ssim
        >>> editgauge.estimate("run", ratings="ratings.csv", score="ssim")

    Args:
        run: run folder.
        ratings: CSV or JSONL file with edit, method, value, and optionally rater, seed.
        score: `NAME` or `PROTOCOL/NAME`; default: the verdict `edit`, or the only score.
        method: one method; default: each method of the run.
    """
    chosen = OneScore.read(Path(run), score)
    if method is not None:
        chosen.check(method)
    given = mean_ratings(Path(ratings), chosen)
    values = [value for ratings_of in given.values() for value in ratings_of.values()]
    scale = min(values), max(values)  # no rating lies outside what people gave to any method
    return [_human_mean(chosen, each, given.get(each, {}), scale) for each in ([method] if method else chosen.values)]


def mean_ratings(file: Path, chosen: OneScore) -> dict[str, dict[tuple[str, int], float]]:
    """Method to (edit, seed) to the mean over raters, for the outcomes of the run; says what is left out."""
    told = read_ratings(file)
    questions = sorted({each.question for each in told})
    if len(questions) > 1:
        raise BadInput(f"'{file}' holds ratings for several questions: keep the lines of one.", questions)
    matched = match(told, chosen.seeds)
    if matched.strangers:
        say(f"Left out: {matched.strangers} ratings of no outcome of the run, such as {matched.first_stranger}.")
    if matched.undecided:
        say(f"Left out: {matched.undecided} ratings that do not say of which of several seeds they are.")
    found: dict[str, dict[tuple[str, int], list[float]]] = {}
    for (key,), rating in matched.found:
        found.setdefault(key.method, {}).setdefault((key.edit, key.seed), []).append(rating.value)
    return {method: {key: fmean(some) for key, some in outcomes.items()} for method, outcomes in found.items()}


def _human_mean(chosen: OneScore, method: str, ratings: Outcomes, scale: tuple[float, float]) -> HumanMean:
    scores = chosen.values[method]
    rated = [key for key in ratings if key in scores]
    rest = [key for key in scores if key not in ratings]
    unscored = len(ratings) - len(rated)
    if not rated:
        return HumanMean(method, chosen.protocol, chosen.spec, None, unscored)
    labels = np.array([ratings[key] for key in rated])
    sign = 1.0 if chosen.spec.higher_is_better else -1.0
    predictions, more = (np.array([sign * scores[key] for key in keys], dtype=np.float64) for keys in (rated, rest))
    here, there = (np.array([chosen.sources[edit] for edit, _ in keys], dtype=np.str_) for keys in (rated, rest))
    chance = selection_p(predictions, here, more, there)
    predictions, more = in_units_of(labels, predictions, more)
    mean = prediction_powered_mean(labels, predictions, here, more, there).inside(scale)
    return HumanMean(method, chosen.protocol, chosen.spec, mean, unscored, chance)
