"""Scores compared with people's ratings, at every level."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from editgauge._stats.agreement import COSINE, PEARSON, SPEARMAN, Measure, correlate
from editgauge._stats.intervals import Labels, Numbers
from editgauge._stats.levels import Parts, between, within
from editgauge._stats.resampling import Estimate, no_estimate
from editgauge.analysis.evaluators.evaluators import EvaluatorTarget, Scored, best_first
from editgauge.analysis.people.matching import Matched, OutcomeKey, ScoredOutcomes, by_question
from editgauge.analysis.people.ratings import Rating
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


def asked_by_ratings(matched: Matched[Rating], known: ScoredOutcomes) -> list[EvaluatorTarget]:
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
