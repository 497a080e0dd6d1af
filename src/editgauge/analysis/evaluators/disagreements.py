"""Where a score and people disagree most: the outcomes to look at first, to see why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from scipy.stats import rankdata

from editgauge.analysis.evaluators.rating_agreement import RatedScore
from editgauge.analysis.people.matching import Matched, OutcomeKey, ScoredOutcomes, by_question
from editgauge.analysis.people.ratings import Rating
from editgauge.types import ScoreSpec

MOST = 4
"""This many outcomes are shown on either side."""
LEAST_ANSWERED = 0.4
"""The share of the rated outcomes that a score must answer to be the one whose disagreements are shown."""
WIDE = 0.2
"""The gap between the two places from which it is a disagreement."""


@dataclass(frozen=True, slots=True)
class DisputedOutcome:
    """An outcome that a score places elsewhere among the rated outcomes than people do."""

    outcome: OutcomeKey
    score: float
    ratings: tuple[float, ...]
    """What each person gave it."""
    place: float
    """The share of the rated outcomes that the score finds worse, equals counted half, from 0 to 1."""
    people_place: float
    """The same by the mean rating."""

    @property
    def gap(self) -> float:
        """Positive where the score is kinder than people."""
        return self.place - self.people_place


@dataclass(frozen=True, slots=True)
class Disagreements:
    """One score compared with one question: where they are farthest apart, each edit at most once on either side."""

    protocol: str
    spec: ScoreSpec
    question: str
    outcomes: int
    """That have both the score and ratings."""
    overrated: tuple[DisputedOutcome, ...]
    """The score is kinder than people; the widest gap first."""
    underrated: tuple[DisputedOutcome, ...]


def disagreements(rated: Matched[Rating], scores: Sequence[RatedScore], known: ScoredOutcomes) -> list[Disagreements]:
    """For every question, of the score that agrees most with people and answers enough: what is left to explain."""
    questions = by_question(rated)
    answers_enough = [
        score for score in scores if score.unscored <= (1 - LEAST_ANSWERED) * len(questions[score.question])
    ]
    best: dict[str, RatedScore] = {}
    for score in (*answers_enough, *scores):
        best.setdefault(score.question, score)
    return [_of_score(best[question], ratings, known) for question, ratings in questions.items() if question in best]


def _of_score(
    score: RatedScore, all_ratings: Mapping[OutcomeKey, Sequence[Rating]], known: ScoredOutcomes
) -> Disagreements:
    values = known.values.get((score.protocol, score.spec.name), {})
    ratings = {key: [one.value for one in its] for key, its in all_ratings.items() if key in values}
    towards_better = 1 if score.spec.higher_is_better else -1
    places = _places([towards_better * values[key] for key in ratings])
    people_places = _places([fmean(ratings_of_outcome) for ratings_of_outcome in ratings.values()])
    disputed = [
        DisputedOutcome(key, values[key], tuple(ratings_of_outcome), place, people_place)
        for (key, ratings_of_outcome), place, people_place in zip(ratings.items(), places, people_places, strict=True)
    ]
    return Disagreements(
        score.protocol,
        score.spec,
        score.question,
        len(disputed),
        overrated=_widest([each for each in disputed if each.gap >= WIDE]),
        underrated=_widest([each for each in disputed if each.gap <= -WIDE]),
    )


def _places(values: Sequence[float]) -> list[float]:
    """For each the share of all that are worse, and of half of those that are equal."""
    return [(float(rank) - 0.5) / len(values) for rank in rankdata(values)] if values else []


def _widest(disputed: Sequence[DisputedOutcome]) -> tuple[DisputedOutcome, ...]:
    of_edits: dict[str, DisputedOutcome] = {}
    for each in sorted(disputed, key=lambda one: -abs(one.gap)):
        of_edits.setdefault(each.outcome.edit, each)
    return tuple(of_edits.values())[:MOST]
