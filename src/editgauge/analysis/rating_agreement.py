"""Scores compared with people's ratings, at every level."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np
from scipy.stats import rankdata

from editgauge._stats.agreement import COSINE, PEARSON, SPEARMAN, Measure, Parts, between, correlate, within
from editgauge._stats.intervals import Labels, Mean, Numbers, clustered_mean
from editgauge._stats.raters import Ceiling, Panel, answer_matrix, ceiling, human_ceiling, krippendorff, panel
from editgauge._stats.resampling import Estimate, no_estimate
from editgauge.analysis._evaluators import EvaluatorTarget, Scored, best_first
from editgauge.analysis.outcomes import Matched, OutcomeKey, ScoredOutcomes, by_question
from editgauge.analysis.ratings import Rating
from editgauge.types import ScoreSpec


@dataclass(frozen=True, slots=True)
class LevelAgreement:
    """How far a score agrees with ratings at one level; positive is agreement, whatever the score's direction."""

    spearman: Estimate
    pearson: Estimate
    cosine: Estimate
    """Cosine similarity of scores and ratings as they are, as in EditVal's figure 6: high for any two positive rows."""
    parts: Mapping[str, Estimate]
    """Spearman's within each method, rater or edit type; empty where nothing is taken apart."""


@dataclass(frozen=True, slots=True)
class RatedScore:
    """One score compared with the ratings of one question."""

    protocol: str
    spec: ScoreSpec
    question: str
    levels: Mapping[str, LevelAgreement]
    unscored: int
    """Rated outcomes without this score: left out, never imputed."""
    by_type_within_methods: Mapping[str, Estimate]
    """Spearman's by edit type, within each method and averaged over methods, as in EditVal's appendices J.1 and K."""


def rated_scores(matched: Matched[Rating], scores: Sequence[Scored], known: ScoredOutcomes) -> list[RatedScore]:
    """Every score compared with every question; for each question the score that agrees most comes first."""
    return [
        score
        for question, ratings in by_question(matched).items()
        for score in sorted((_beside(each, question, ratings, known) for each in scores), key=_most_agreeing)
    ]


_Ratings = dict[OutcomeKey, list[Rating]]


def ratings_targets(matched: Matched[Rating], known: ScoredOutcomes) -> list[EvaluatorTarget]:
    """The ratings of every question, to hold one evaluator after another against, all outcomes together."""
    return [_asked(question, ratings, known) for question, ratings in by_question(matched).items()]


def _asked(question: str, ratings: _Ratings, known: ScoredOutcomes) -> EvaluatorTarget:
    means = {key: fmean(one.value for one in its) for key, its in ratings.items()}

    def ask(evaluator: Scored) -> Estimate:
        worths = {key: worth for key in means if (worth := evaluator.worth(key)) is not None}
        return correlate(SPEARMAN, list(worths.values()), [means[key] for key in worths], known.sources_of(worths))

    return EvaluatorTarget(f"ratings: {question}" if question else "ratings", "Spearman's correlation", 0.0, ask)


def _most_agreeing(score: RatedScore) -> float:
    return best_first(score.levels["pooled"].spearman)


def _beside(score: Scored, question: str, ratings: _Ratings, known: ScoredOutcomes) -> RatedScore:
    values = {key: worth for key in ratings if (worth := score.worth(key)) is not None}
    there = {key: its for key, its in ratings.items() if key in values}
    outcomes = _Pairs.of(((key, values[key], fmean(one.value for one in its), "") for key, its in there.items()), known)
    answers = _Pairs.of(
        ((key, values[key], one.value, one.rater) for key, its in there.items() for one in its if one.rater), known
    )
    levels = {
        "pooled": _level(lambda measure: correlate(measure, outcomes.scores, outcomes.ratings, outcomes.sources)),
        "per_method": _level(lambda measure: outcomes.within(measure, outcomes.methods)),
        "per_rater": _level(lambda measure: answers.within(measure, answers.raters))
        if answers.raters.size
        else _no_raters(outcomes),
        "by_type": _level(lambda measure: outcomes.within(measure, outcomes.edit_types)),
        "system": _level(
            lambda measure: between(measure, outcomes.scores, outcomes.ratings, outcomes.methods, outcomes.sources)
        ),
    }
    unscored = len(ratings) - len(there)
    return RatedScore(score.protocol, score.spec, question, levels, unscored, outcomes.by_type_within_methods())


def _level(ask: Callable[[Measure], Estimate | Parts]) -> LevelAgreement:
    spearman, pearson, cosine = ask(SPEARMAN), ask(PEARSON), ask(COSINE)
    parts = spearman.parts if isinstance(spearman, Parts) else {}
    return LevelAgreement(_whole(spearman), _whole(pearson), _whole(cosine), parts)


def _whole(estimate: Estimate | Parts) -> Estimate:
    return estimate.average if isinstance(estimate, Parts) else estimate


def _no_raters(outcomes: _Pairs) -> LevelAgreement:
    nothing = no_estimate("the ratings name no rater" if outcomes.scores.size else "no pairs")
    return LevelAgreement(nothing, nothing, nothing, {})


@dataclass(frozen=True, slots=True)
class _Pairs:
    """Scores and ratings in one order, and what each pair belongs to."""

    scores: Numbers
    ratings: Numbers
    methods: Labels
    raters: Labels
    edit_types: Labels
    sources: Labels

    @classmethod
    def of(cls, rows: Iterable[tuple[OutcomeKey, float, float, str]], known: ScoredOutcomes) -> _Pairs:
        keys, scores, ratings, raters = zip(*rows, strict=True) if (rows := list(rows)) else ((), (), (), ())
        return cls(
            np.array(scores, dtype=np.float64),
            np.array(ratings, dtype=np.float64),
            np.array([key.method for key in keys], dtype=np.str_),
            np.array(raters, dtype=np.str_),
            known.edit_types_of(keys),
            known.sources_of(keys),
        )

    def within(self, measure: Measure, groups: Labels) -> Parts:
        return within(measure, self.scores, self.ratings, groups, self.sources)

    def by_type_within_methods(self) -> dict[str, Estimate]:
        types = {str(name): self.edit_types == name for name in np.unique(self.edit_types)}
        return {
            name: within(
                SPEARMAN, self.scores[rows], self.ratings[rows], self.methods[rows], self.sources[rows]
            ).average
            for name, rows in types.items()
        }


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


@dataclass(frozen=True, slots=True)
class People:
    """The ratings of one question."""

    question: str
    raters: int
    """How many have a name; what follows, except for the means, is about them."""
    panel: Panel | None
    """How often they give the same answer; None when no outcome has two answers."""
    alpha: Estimate
    """Krippendorff's, taking the answers as an order."""
    ceiling: Estimate
    """Each rater against the mean of the others (Spearman): compare with the level `per_rater` of a score."""
    possible: Ceiling
    """What a perfect score would reach, given how reliable the answers are: with one rater, and with their mean."""
    means: Mapping[str, Mean]
    """The mean rating of each method; an outcome counts with the mean of its raters."""


def people(matched: Matched[Rating], known: ScoredOutcomes) -> list[People]:
    """One for each question."""
    questions: dict[str, list[tuple[OutcomeKey, Rating]]] = defaultdict(list)
    for (key,), rating in matched.pairs:
        questions[rating.question].append((key, rating))
    return [_people(question, answers, known) for question, answers in questions.items()]


def _people(question: str, answers: Sequence[tuple[OutcomeKey, Rating]], known: ScoredOutcomes) -> People:
    by_outcome: dict[OutcomeKey, list[float]] = defaultdict(list)
    for key, rating in answers:
        by_outcome[key].append(rating.value)
    means = np.array([np.mean(values) for values in by_outcome.values()])
    methods, sources = np.array([key.method for key in by_outcome], dtype=np.str_), known.sources_of(by_outcome)
    signed = [(key, rating.rater, rating.value) for key, rating in answers if rating.rater]
    raters = list(dict.fromkeys(rater for _, rater, _ in signed))
    matrix, its_sources = answer_matrix(signed, raters), known.sources_of(dict.fromkeys(key for key, *_ in signed))
    return People(
        question,
        len(raters),
        panel(matrix, its_sources),
        krippendorff(matrix, "ordinal", its_sources),
        human_ceiling(matrix, its_sources),
        ceiling(matrix, its_sources),
        {str(name): clustered_mean(means[methods == name], sources[methods == name]) for name in np.unique(methods)},
    )
