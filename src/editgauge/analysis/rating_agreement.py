"""Compare scores with human ratings: agreement at every level, largest disagreements, agreement among raters."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from editgauge._stats.agreement import COSINE, PEARSON, SPEARMAN, Measure, Parts, between, correlate, within
from editgauge._stats.intervals import Labels, Mean, Numbers, clustered_mean
from editgauge._stats.raters import Ceiling, Panel, answer_matrix, ceiling, human_ceiling, krippendorff, panel
from editgauge._stats.resampling import Estimate, no_estimate
from editgauge.analysis._evaluators import EvaluatorTarget, Scored, best_first
from editgauge.analysis.outcomes import Matched, by_question
from editgauge.analysis.ratings import Rating
from editgauge.results import OutcomeKey, ScoreColumns
from editgauge.types import ScoreSpec


@dataclass(frozen=True, slots=True)
class LevelAgreement:
    """Agreement of a score with ratings at one level; positive is agreement whatever the score's direction."""

    spearman: Estimate
    pearson: Estimate
    cosine: Estimate
    """Cosine similarity of raw scores and ratings (EditVal, figure 6): high for any two positive vectors."""
    parts: Mapping[str, Estimate]
    """Spearman's within each method, rater or edit type; empty for a level without groups."""


@dataclass(frozen=True, slots=True)
class RatedScore:
    """One score compared with the ratings of one question."""

    protocol: str
    spec: ScoreSpec
    question: str
    levels: Mapping[str, LevelAgreement]
    unscored: int
    """Rated outcomes without this score: left out, never imputed."""
    by_type_within_methods: Mapping[str, LevelAgreement]
    """By edit type, within each method and averaged over methods (EditVal, figures 6 and 10, appendices J.1 and K)."""


def rated_scores(matched: Matched[Rating], scores: Sequence[Scored], outcomes: ScoreColumns) -> list[RatedScore]:
    """Compare every score with every question; for each question the best agreement comes first."""
    return [
        score
        for question, ratings in by_question(matched).items()
        for score in sorted((_compare(score, question, ratings, outcomes) for score in scores), key=_most_agreeing)
    ]


_Ratings = dict[OutcomeKey, list[Rating]]


def ratings_targets(matched: Matched[Rating], outcomes: ScoreColumns) -> list[EvaluatorTarget]:
    """Return the ratings of every question, pooled over outcomes, as targets for evaluators."""
    return [_ratings_target(question, ratings, outcomes) for question, ratings in by_question(matched).items()]


def _ratings_target(question: str, ratings: _Ratings, outcomes: ScoreColumns) -> EvaluatorTarget:
    means = {key: fmean(rating.value for rating in answers) for key, answers in ratings.items()}

    def ask(evaluator: Scored) -> Estimate:
        worths = {key: worth for key in means if (worth := evaluator.worth(key)) is not None}
        return correlate(SPEARMAN, list(worths.values()), [means[key] for key in worths], outcomes.sources_of(worths))

    return EvaluatorTarget(f"ratings: {question}" if question else "ratings", "Spearman's correlation", 0.0, ask)


def _most_agreeing(score: RatedScore) -> float:
    return best_first(score.levels["pooled"].spearman)


def _compare(score: Scored, question: str, ratings: _Ratings, run_outcomes: ScoreColumns) -> RatedScore:
    values = {key: worth for key in ratings if (worth := score.worth(key)) is not None}
    scored_ratings = {key: answers for key, answers in ratings.items() if key in values}
    outcomes = _Pairs.of(
        ((key, values[key], fmean(rating.value for rating in answers), "") for key, answers in scored_ratings.items()),
        run_outcomes,
    )
    answers = _Pairs.of(
        (
            (key, values[key], rating.value, rating.rater)
            for key, ratings_of_key in scored_ratings.items()
            for rating in ratings_of_key
            if rating.rater
        ),
        run_outcomes,
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
    unscored = len(ratings) - len(scored_ratings)
    return RatedScore(score.protocol, score.spec, question, levels, unscored, outcomes.by_type_within_methods())


def _level(compute: Callable[[Measure], Estimate | Parts]) -> LevelAgreement:
    spearman, pearson, cosine = compute(SPEARMAN), compute(PEARSON), compute(COSINE)
    parts = spearman.parts if isinstance(spearman, Parts) else {}
    return LevelAgreement(_overall(spearman), _overall(pearson), _overall(cosine), parts)


def _overall(estimate: Estimate | Parts) -> Estimate:
    return estimate.average if isinstance(estimate, Parts) else estimate


def _no_raters(outcomes: _Pairs) -> LevelAgreement:
    nothing = no_estimate("the ratings name no rater" if outcomes.scores.size else "no pairs")
    return LevelAgreement(nothing, nothing, nothing, {})


@dataclass(frozen=True, slots=True)
class _Pairs:
    """Scores and ratings in one order, with the groups of each pair."""

    scores: Numbers
    ratings: Numbers
    methods: Labels
    raters: Labels
    edit_types: Labels
    sources: Labels

    @classmethod
    def of(cls, rows: Iterable[tuple[OutcomeKey, float, float, str]], outcomes: ScoreColumns) -> _Pairs:
        keys, scores, ratings, raters = zip(*rows, strict=True) if (rows := list(rows)) else ((), (), (), ())
        return cls(
            np.array(scores, dtype=np.float64),
            np.array(ratings, dtype=np.float64),
            np.array([key.method for key in keys], dtype=np.str_),
            np.array(raters, dtype=np.str_),
            outcomes.edit_types_of(keys),
            outcomes.sources_of(keys),
        )

    def within(self, measure: Measure, groups: Labels) -> Parts:
        return within(measure, self.scores, self.ratings, groups, self.sources)

    def by_type_within_methods(self) -> dict[str, LevelAgreement]:
        return {str(name): _level(self._within_methods(self.edit_types == name)) for name in np.unique(self.edit_types)}

    def _within_methods(self, rows: Labels) -> Callable[[Measure], Parts]:
        arrays = (self.scores[rows], self.ratings[rows], self.methods[rows], self.sources[rows])
        return lambda measure: within(measure, *arrays)


MAX_DISPUTED = 4
"""Largest number of outcomes per side."""
MIN_ANSWERED_SHARE = 0.4
"""Share of rated outcomes that a score must cover to be preferred for its disagreements."""
MIN_GAP = 0.2
"""Smallest gap between the two percentiles that counts as a disagreement."""


@dataclass(frozen=True, slots=True)
class DisputedOutcome:
    """An outcome that a score ranks differently from people."""

    outcome: OutcomeKey
    score: float
    ratings: tuple[float, ...]
    """Rating of each person."""
    percentile: float
    """Share of rated outcomes that the score finds worse, ties counting half."""
    people_percentile: float
    """The same by the mean rating."""

    @property
    def gap(self) -> float:
        """Return the difference of the percentiles, positive where the score is more favorable."""
        return self.percentile - self.people_percentile


@dataclass(frozen=True, slots=True)
class Disagreements:
    """The outcomes on which one score and one question differ most, each edit at most once per side."""

    protocol: str
    spec: ScoreSpec
    question: str
    outcomes: int
    """Outcomes with both the score and ratings."""
    overrated: tuple[DisputedOutcome, ...]
    """The score is more favorable than people; the widest gap first."""
    underrated: tuple[DisputedOutcome, ...]


def disagreements(
    rated: Matched[Rating], scores: Sequence[RatedScore], evaluators: Sequence[Scored]
) -> list[Disagreements]:
    """Return, for every question, the disagreements of the best score that answers enough outcomes."""
    questions = by_question(rated)
    answers_enough = [
        score for score in scores if score.unscored <= (1 - MIN_ANSWERED_SHARE) * len(questions[score.question])
    ]
    best: dict[str, RatedScore] = {}
    for score in (*answers_enough, *scores):
        best.setdefault(score.question, score)
    values = {(evaluator.protocol, evaluator.spec.name): evaluator.values for evaluator in evaluators}
    return [
        _disagreements_of(best[question], ratings, values[best[question].protocol, best[question].spec.name])
        for question, ratings in questions.items()
        if question in best
    ]


def _disagreements_of(
    score: RatedScore, all_ratings: Mapping[OutcomeKey, Sequence[Rating]], values: Mapping[OutcomeKey, float]
) -> Disagreements:
    ratings = {key: [rating.value for rating in answers] for key, answers in all_ratings.items() if key in values}
    towards_better = 1 if score.spec.higher_is_better else -1
    percentiles = _percentiles([towards_better * values[key] for key in ratings])
    people_percentiles = _percentiles([fmean(values_of_outcome) for values_of_outcome in ratings.values()])
    disputed = [
        DisputedOutcome(key, values[key], tuple(values_of_outcome), percentile, people_percentile)
        for (key, values_of_outcome), percentile, people_percentile in zip(
            ratings.items(), percentiles, people_percentiles, strict=True
        )
    ]
    return Disagreements(
        score.protocol,
        score.spec,
        score.question,
        len(disputed),
        overrated=_widest([outcome for outcome in disputed if outcome.gap >= MIN_GAP]),
        underrated=_widest([outcome for outcome in disputed if outcome.gap <= -MIN_GAP]),
    )


def _percentiles(values: Sequence[float]) -> list[float]:
    """Return for each value the share of worse values plus half the share of equal ones."""
    from scipy.stats import rankdata

    return [(float(rank) - 0.5) / len(values) for rank in rankdata(values)] if values else []


def _widest(disputed: Sequence[DisputedOutcome]) -> tuple[DisputedOutcome, ...]:
    by_edit: dict[str, DisputedOutcome] = {}
    for outcome in sorted(disputed, key=lambda outcome: -abs(outcome.gap)):
        by_edit.setdefault(outcome.outcome.edit, outcome)
    return tuple(by_edit.values())[:MAX_DISPUTED]


@dataclass(frozen=True, slots=True)
class People:
    """The ratings of one question, and how far raters agree."""

    question: str
    raters: int
    """Raters with a name; all fields but the means are about them."""
    panel: Panel | None
    """How often they give the same answer; None when no outcome has two answers."""
    alpha: Estimate
    """Krippendorff's, taking the answers as an order."""
    ceiling: Estimate
    """Each rater against the mean of the others (Spearman); compare with a score's level `per_rater`."""
    possible: Ceiling
    """Correlation of a perfect score, given the reliability of the answers: with one rater and with their mean."""
    means: Mapping[str, Mean]
    """The mean rating of each method; an outcome counts with the mean of its raters."""


def people(matched: Matched[Rating], outcomes: ScoreColumns) -> list[People]:
    """Summarize the ratings of each question."""
    questions: dict[str, list[tuple[OutcomeKey, Rating]]] = defaultdict(list)
    for (key,), rating in matched.pairs:
        questions[rating.question].append((key, rating))
    return [_people(question, answers, outcomes) for question, answers in questions.items()]


def _people(question: str, answers: Sequence[tuple[OutcomeKey, Rating]], outcomes: ScoreColumns) -> People:
    by_outcome: dict[OutcomeKey, list[float]] = defaultdict(list)
    for key, rating in answers:
        by_outcome[key].append(rating.value)
    means = np.array([np.mean(values) for values in by_outcome.values()])
    methods, sources = np.array([key.method for key in by_outcome], dtype=np.str_), outcomes.sources_of(by_outcome)
    values = [rating.value for _, rating in answers]
    scale = min(values), max(values)  # the scale of a ratings file is not declared
    attributed = [(key, rating.rater, rating.value) for key, rating in answers if rating.rater]
    raters = list(dict.fromkeys(rater for _, rater, _ in attributed))
    matrix, rated_sources = (
        answer_matrix(attributed, raters),
        outcomes.sources_of(dict.fromkeys(key for key, *_ in attributed)),
    )
    return People(
        question,
        len(raters),
        panel(matrix, rated_sources),
        krippendorff(matrix, "ordinal", rated_sources),
        human_ceiling(matrix, rated_sources),
        ceiling(matrix, rated_sources),
        {
            str(name): clustered_mean(means[methods == name], sources[methods == name], scale=scale)
            for name in np.unique(methods)
        },
    )
