"""Compare the order of methods by evaluators with that by people (AugCLIP, table 4)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from editgauge._stats.agreement import KENDALL, SPEARMAN, between
from editgauge._stats.intervals import Labels, Mean, Numbers, clustered_mean
from editgauge._stats.pairwise import Rank, rank_methods
from editgauge._stats.resampling import Estimate, no_estimate
from editgauge.analysis._evaluators import Evaluator, Scored, best_first
from editgauge.analysis.outcomes import Matched, by_question
from editgauge.analysis.preferences import CREDIT
from editgauge.analysis.ratings import PreferredOutcome, Rating
from editgauge.results import OutcomeKey, ScoreColumns
from editgauge.types import ScoreSpec


@dataclass(frozen=True, slots=True)
class RankedScore:
    """The ranks that one evaluator gives the methods."""

    protocol: str
    spec: ScoreSpec
    ranks: Mapping[str, Rank]
    """Method to rank; only methods it has a value for."""
    kendall: Estimate
    """Tau-b of the methods' means with those of people; the interval draws source images and keeps these methods."""
    spearman: Estimate


@dataclass(frozen=True, slots=True)
class Ranking:
    """The order of the methods by people, and by every evaluator on the same outcomes."""

    by: str
    """The question; `choices` for the share of comparisons that a method won."""
    people: Mapping[str, Rank]
    """Method to rank, the best first."""
    means: Mapping[str, Mean]
    scores: tuple[RankedScore, ...]
    """The evaluator closest to people's order first."""


def ranking_by_choices(
    matched: Matched[PreferredOutcome], evaluators: Sequence[Evaluator], outcomes: ScoreColumns
) -> Ranking | None:
    """Rank methods by the share of comparisons they won, ties counting half; None for a single method."""
    won = ((key, credit) for keys, choice in matched.pairs for key, credit in zip(keys, _won(choice), strict=True))
    rows = _Rows.of(won, outcomes)

    def worth(evaluator: Evaluator) -> Numbers:
        pairs = (evaluator.pair(*keys) or (math.nan, math.nan) for keys, _ in matched.pairs)
        return np.array([value for pair in pairs for value in pair], dtype=np.float64)

    return _ranking("choices", rows, [(evaluator, worth(evaluator)) for evaluator in evaluators])


def rankings_by_ratings(matched: Matched[Rating], scores: Sequence[Scored], outcomes: ScoreColumns) -> list[Ranking]:
    """Rank methods by their mean rating, question by question."""
    rankings = []
    for question, ratings in by_question(matched).items():
        rows = _Rows.of(
            ((key, fmean(rating.value for rating in answers)) for key, answers in ratings.items()), outcomes
        )
        worths = ([score.worth(key) for key in ratings] for score in scores)
        numbers = [np.array([math.nan if rating is None else rating for rating in score]) for score in worths]
        rankings.append(_ranking(question, rows, list(zip(scores, numbers, strict=True))))
    return [score for score in rankings if score is not None]


def _won(choice: PreferredOutcome) -> tuple[float, float]:
    return CREDIT[choice.choice], 1 - CREDIT[choice.choice]


@dataclass(frozen=True, slots=True)
class _Rows:
    """Values that people gave outcomes, with their groups."""

    values: Numbers
    methods: Labels
    edits: Labels
    sources: Labels

    @classmethod
    def of(cls, rows: Iterable[tuple[OutcomeKey, float]], outcomes: ScoreColumns) -> _Rows:
        keys, values = zip(*rows, strict=True)
        return cls(
            np.array(values, dtype=np.float64),
            np.array([key.method for key in keys], dtype=np.str_),
            np.array([key.edit for key in keys], dtype=np.str_),
            outcomes.sources_of(keys),
        )


def _ranking(by: str, rows: _Rows, evaluators: Sequence[tuple[Evaluator, Numbers]]) -> Ranking | None:
    if np.unique(rows.methods).size < 2:
        return None
    people = _ranks(rows.values, rows)
    ranked = sorted(
        (_ranked(evaluator, worth, rows) for evaluator, worth in evaluators),
        key=lambda score: (best_first(score.kendall), best_first(score.spearman)),
    )
    order = sorted(people, key=lambda method: (people[method].value, method))
    scale = float(rows.values.min()), float(rows.values.max())
    means = {
        name: clustered_mean(rows.values[rows_of_method], rows.sources[rows_of_method], scale=scale)
        for name in order
        for rows_of_method in [rows.methods == name]
    }
    return Ranking(by, {name: people[name] for name in order}, means, tuple(ranked))


def _ranked(evaluator: Evaluator, worth: Numbers, rows: _Rows) -> RankedScore:
    is_scored = ~np.isnan(worth)
    scored_rows = _Rows(rows.values[is_scored], rows.methods[is_scored], rows.edits[is_scored], rows.sources[is_scored])
    kendall, spearman = (
        between(measure, worth[is_scored], scored_rows.values, scored_rows.methods, scored_rows.sources)
        if is_scored.any()
        else no_estimate("no scores")
        for measure in (KENDALL, SPEARMAN)
    )
    return RankedScore(evaluator.protocol, evaluator.spec, _ranks(worth[is_scored], scored_rows), kendall, spearman)


def _ranks(values: Numbers, rows: _Rows) -> dict[str, Rank]:
    scale = (float(values.min()), float(values.max())) if values.size else None
    ranks = rank_methods(values, rows.methods, rows.edits, rows.sources, scale=scale)
    return {str(name): rank for name, rank in zip(np.unique(rows.methods), ranks, strict=True)}
