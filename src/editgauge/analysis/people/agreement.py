"""What people said about the outcomes of a run: their means by method, and how far they agree with each other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from editgauge._stats.intervals import Mean, clustered_mean
from editgauge._stats.raters import Ceiling, Panel, answer_matrix, ceiling, human_ceiling, krippendorff, panel
from editgauge._stats.resampling import Estimate
from editgauge.analysis.people.matching import Matched, OutcomeKey, ScoredOutcomes
from editgauge.analysis.people.ratings import Rating


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
