"""Do evaluators put the methods into people's order? Ranks side by side, as in AugCLIP's table 4."""

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
from editgauge.analysis.outcomes import Matched, OutcomeKey, ScoredOutcomes, by_question
from editgauge.analysis.preferences import CREDIT
from editgauge.analysis.ratings import PreferredOutcome, Rating
from editgauge.types import ScoreSpec


@dataclass(frozen=True, slots=True)
class RankedScore:
    """The places that one evaluator gives the methods."""

    protocol: str
    spec: ScoreSpec
    ranks: Mapping[str, Rank]
    """Method to place; only those that it has something to say of."""
    kendall: Estimate
    """Tau-b of the methods' means with those of people; the interval draws source images and keeps these methods."""
    spearman: Estimate


@dataclass(frozen=True, slots=True)
class Ranking:
    """The order of the methods by people, and by every evaluator on the same outcomes."""

    by: str
    """What people were asked; `choices` for the share of comparisons that a method won."""
    people: Mapping[str, Rank]
    """Method to place, the best first."""
    means: Mapping[str, Mean]
    scores: tuple[RankedScore, ...]
    """The one whose order is nearest to people's first."""


def ranking_by_choices(
    matched: Matched[PreferredOutcome], evaluators: Sequence[Evaluator], known: ScoredOutcomes
) -> Ranking | None:
    """The methods by the share of their comparisons that they won, a tie counting half; None for a single method."""
    won = ((key, credit) for keys, choice in matched.pairs for key, credit in zip(keys, _won(choice), strict=True))
    rows = _Rows.of(won, known)

    def worth(evaluator: Evaluator) -> Numbers:
        both = (evaluator.pair(*keys) or (math.nan, math.nan) for keys, _ in matched.pairs)
        return np.array([value for pair in both for value in pair], dtype=np.float64)

    return _ranking("choices", rows, [(each, worth(each)) for each in evaluators])


def rankings_by_ratings(matched: Matched[Rating], scores: Sequence[Scored], known: ScoredOutcomes) -> list[Ranking]:
    """The methods by their mean rating, question by question."""
    rankings = []
    for question, ratings in by_question(matched).items():
        rows = _Rows.of(((key, fmean(one.value for one in its)) for key, its in ratings.items()), known)
        worths = ([each.worth(key) for key in ratings] for each in scores)
        numbers = [np.array([math.nan if one is None else one for one in each]) for each in worths]
        rankings.append(_ranking(question, rows, list(zip(scores, numbers, strict=True))))
    return [each for each in rankings if each is not None]


def _won(choice: PreferredOutcome) -> tuple[float, float]:
    return CREDIT[choice.chosen], 1 - CREDIT[choice.chosen]


@dataclass(frozen=True, slots=True)
class _Rows:
    """What people gave outcomes, and what each belongs to."""

    values: Numbers
    methods: Labels
    edits: Labels
    sources: Labels

    @classmethod
    def of(cls, rows: Iterable[tuple[OutcomeKey, float]], known: ScoredOutcomes) -> _Rows:
        keys, values = zip(*rows, strict=True)
        return cls(
            np.array(values, dtype=np.float64),
            np.array([key.method for key in keys], dtype=np.str_),
            np.array([key.edit for key in keys], dtype=np.str_),
            known.sources_of(keys),
        )


def _ranking(by: str, rows: _Rows, evaluators: Sequence[tuple[Evaluator, Numbers]]) -> Ranking | None:
    if np.unique(rows.methods).size < 2:
        return None
    people = _places(rows.values, rows)
    ranked = sorted(
        (_ranked(evaluator, worth, rows) for evaluator, worth in evaluators),
        key=lambda score: (best_first(score.kendall), best_first(score.spearman)),
    )
    order = sorted(people, key=lambda method: (people[method].value, method))
    means = {
        name: clustered_mean(rows.values[own], rows.sources[own]) for name in order for own in [rows.methods == name]
    }
    return Ranking(by, {name: people[name] for name in order}, means, tuple(ranked))


def _ranked(evaluator: Evaluator, worth: Numbers, rows: _Rows) -> RankedScore:
    there = ~np.isnan(worth)
    known = _Rows(rows.values[there], rows.methods[there], rows.edits[there], rows.sources[there])
    kendall, spearman = (
        between(measure, worth[there], known.values, known.methods, known.sources)
        if there.any()
        else no_estimate("no scores")
        for measure in (KENDALL, SPEARMAN)
    )
    return RankedScore(evaluator.protocol, evaluator.spec, _places(worth[there], known), kendall, spearman)


def _places(values: Numbers, rows: _Rows) -> dict[str, Rank]:
    scale = (float(values.min()), float(values.max())) if values.size else None
    places = rank_methods(values, rows.methods, rows.edits, rows.sources, scale=scale)
    return {str(name): place for name, place in zip(np.unique(rows.methods), places, strict=True)}
