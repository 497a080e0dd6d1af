"""The second ground of an audit: real edits whose outcomes people rated, in addition to probes with known truth."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from editgauge._render.text import percent
from editgauge._stats.agreement import SPEARMAN, correlate, within
from editgauge.analysis.outcomes import OutcomeKey, match, scored_outcomes
from editgauge.analysis.ratings import read_ratings
from editgauge.audits.cards.measures import auroc
from editgauge.errors import BadInputError
from editgauge.protocols.editgauge._models import fitted
from editgauge.results import Run

if TYPE_CHECKING:
    from editgauge._stats.resampling import Estimate
    from editgauge.analysis.outcomes import ScoredOutcomes
    from editgauge.analysis.ratings import Rating
    from editgauge.audits.cards.card import ScoreCard
    from editgauge.audits.cards.result import AuditCard
    from editgauge.types import ScoreSpec

QUESTIONS: Mapping[str, tuple[str, ...]] = {
    "done": ("edit", "SC", "alignment", "accuracy"),
    "quality": ("quality", "PQ"),
}
"""What rating files call the two questions."""
SCALES = (1.0, 5.0, 10.0, 100.0)
"""Highest values of scales; ratings are divided by the first that is not exceeded."""
GOOD = 0.5
"""Mean rating, of the highest one, from which people call an outcome good."""
OWN = "editgauge"


@dataclass(frozen=True, slots=True)
class GroundScore:
    """One score against people's ratings."""

    protocol: str
    name: str
    higher_is_better: bool
    answered: float
    """The share of rated outcomes that have the score."""
    done: Estimate
    """AUROC of people calling the edit done."""
    quality: Estimate
    """AUROC of people calling the picture well made."""
    within: Estimate
    """Spearman's correlation with the rating of the edit inside each method, averaged."""
    pooled: Estimate
    """The same over all outcomes."""


@dataclass(frozen=True, slots=True)
class RatedGround:
    """Real edits that people rated, and how every audited score performs there."""

    name: str
    outcomes: int
    photos: int
    methods: int
    fitted_on: float
    """The share of outcomes whose photograph the protocol `editgauge` was fitted on: its figures are too good there."""
    scores: tuple[GroundScore, ...]

    def of(self, protocol: str, name: str) -> GroundScore | None:
        """Return the row of a score."""
        return next((score for score in self.scores if (score.protocol, score.name) == (protocol, name)), None)


def mean_ratings(ratings: Sequence[Rating]) -> dict[tuple[str, str], dict[str, float]]:
    """Return mean ratings from 0 to 1 for `done` and `quality` by edit and method."""
    values: dict[tuple[str, str, str], list[float]] = {}
    for rating in ratings:
        question = _meaning(rating.question)
        if question:
            values.setdefault((rating.edit, rating.method, question), []).append(float(rating.value))
    highest = max((value for item in values.values() for value in item), default=1.0)
    top = next((scale for scale in SCALES if highest <= scale), highest)
    means: dict[tuple[str, str], dict[str, float]] = {}
    for (edit, method, question), element in values.items():
        means.setdefault((edit, method), {})[question] = float(np.mean(element)) / top
    return means


def _meaning(question: str) -> str | None:
    """Ratings without a question are about the edit."""
    if not question:
        return "done"
    return next((meaning for meaning, names in QUESTIONS.items() if question in names), None)


def ground_runs(
    ground: str, ratings: str | Path, protocols: Sequence[str], score: Callable[[str, Path, dict[str, Path]], Run]
) -> list[Run]:
    """Open the runs of a reference set: a run folder, or `BENCHMARK=FOLDER` scored by every protocol.

    `score` is called with the protocol, the folder and the outcomes of the methods that people rated.
    """
    name, equals, location = ground.partition("=")
    if not equals or Path(ground).is_dir():
        return [Run.open(Path(ground))]
    folder = Path(location)
    methods = sorted({rating.method for rating in read_ratings(Path(ratings))})
    outcomes = {method: folder / method for method in methods if (folder / method).is_dir()}
    if not outcomes:
        raise BadInputError(
            f"'{folder}' has no folder of a rated method. --ground {name}=FOLDER takes the benchmark's folder with a "
            "subfolder of outcomes per method. Rated methods:",
            methods,
        )
    return [score(protocol, folder, outcomes) for protocol in protocols]


def rated_ground(name: str, runs: Sequence[Run], ratings: Sequence[Rating]) -> RatedGround:
    """Compare every score of the runs with the ratings of their outcomes."""
    rows: list[GroundScore] = []
    keys: set[OutcomeKey] = set()
    photos: dict[str, str] = {}
    for run in runs:
        outcomes = scored_outcomes(run)
        rated = _rated(ratings, outcomes)
        keys |= set(rated)
        photos |= outcomes.sources
        specs = [(protocol, spec) for protocol, entry in run.manifest.protocols.items() for spec in entry.scores]
        rows += [_row(protocol, spec, outcomes, rated) for protocol, spec in specs]
    fitted_photos = set(fitted().provenance.get("photograph_ids", ()))
    photo_of = [photos[key.edit] for key in keys]
    return RatedGround(
        name=name,
        outcomes=len(keys),
        photos=len(set(photo_of)),
        methods=len({key.method for key in keys}),
        fitted_on=sum(photo in fitted_photos for photo in photo_of) / len(photo_of),
        scores=tuple(row for row in rows if row.answered),
    )


def _rated(ratings: Sequence[Rating], outcomes: ScoredOutcomes) -> dict[OutcomeKey, dict[str, float]]:
    """Return the mean ratings of outcomes in the run."""
    matched = match(ratings, outcomes.seeds)
    of_outcome = {(rating.edit, rating.method): about[0] for about, rating in matched.pairs}
    means = mean_ratings([rating for _, rating in matched.pairs])
    if not means:
        names_listed = ", ".join(name for names in QUESTIONS.values() for name in names)
        raise BadInputError(f"No rating answers a question that an audit knows: {names_listed}.")
    return {of_outcome[key]: answers for key, answers in means.items()}


def _row(
    protocol: str, spec: ScoreSpec, outcomes: ScoredOutcomes, rated: Mapping[OutcomeKey, Mapping[str, float]]
) -> GroundScore:
    values = outcomes.values.get((protocol, spec.name), {})
    keys = sorted(key for key in rated if key in values)
    sign = 1.0 if spec.higher_is_better else -1.0
    scores = np.array([sign * values[key] for key in keys])
    people = {
        question: np.array([rated[key].get(question, np.nan) for key in keys], np.float64) for question in QUESTIONS
    }
    methods, photos = (
        np.array([key.method for key in keys], np.str_),
        np.array([outcomes.sources[key.edit] for key in keys], np.str_),
    )
    is_valid = ~np.isnan(people["done"])
    x, y, groups, clusters = scores[is_valid], people["done"][is_valid], methods[is_valid], photos[is_valid]
    return GroundScore(
        protocol=protocol,
        name=spec.name,
        higher_is_better=spec.higher_is_better,
        answered=len(keys) / len(rated),
        done=auroc(scores, _good(people["done"]), photos),
        quality=auroc(scores, _good(people["quality"]), photos),
        within=within(SPEARMAN, x, y, groups, clusters, fisher_z=True).average,
        pooled=correlate(SPEARMAN, x, y, clusters),
    )


def _good(ratings: np.ndarray) -> np.ndarray:
    return np.where(np.isnan(ratings), np.nan, (ratings >= GOOD).astype(np.float64))


def disagree(probes: Estimate, people: Estimate) -> bool:
    """Do the intervals of two grounds, which share no photograph, lie apart?"""
    ends = (probes.low, probes.high, people.low, people.high)
    if any(end is None for end in ends):
        return False
    low, high, other_low, other_high = (float(end or 0.0) for end in ends)
    return high < other_low or other_high < low


def both_grounds(card: AuditCard) -> list[str]:
    """Describe the headline scores on both reference sets, disagreements first."""
    if card.ground is None:
        return []
    rows = [(head, row) for head in card.heads if (row := card.ground.of(head.protocol, head.name))]
    disagreeing = [both for both in rows if disagree(both[0].auroc, both[1].done)]
    together = [both for both in rows if both not in disagreeing]
    return [*_apart(disagreeing), *(_sentence(*both) for both in together), *_fitted(card)]


def _apart(rows: Sequence[tuple[ScoreCard, GroundScore]]) -> list[str]:
    return [f"The two grounds disagree. {_sentence(*both)}" for both in rows[:1]] + [
        f"They also disagree about the next. {_sentence(*both)}" for both in rows[1:]
    ]


def _sentence(card: ScoreCard, row: GroundScore) -> str:
    """`editgauge/edit`: on our probes 0.93, on real edits rated by people 0.80, of which it answers 53%."""
    return (
        f"{card.protocol}/{card.name}: AUROC {_number(card.auroc)} on our probes, "
        f"{_number(row.done)} on real edits rated by people at {percent(row.answered)} coverage."
    )


def _fitted(card: AuditCard) -> list[str]:
    ground = card.ground
    if ground is None or not ground.fitted_on or not any(row.protocol.startswith(OWN) for row in ground.scores):
        return []
    return [
        f"{percent(ground.fitted_on)} of these rated outcomes are of photographs that the protocol {OWN} was fitted "
        "on: its figures on people's ground are too good."
    ]


def _number(estimate: Estimate) -> str:
    if estimate.value is None:
        return f"unknown ({estimate.reason})"
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:.2f}"
    return f"{estimate.value:.2f} ({estimate.low:.2f} to {estimate.high:.2f})"
