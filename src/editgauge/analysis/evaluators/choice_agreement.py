"""Evaluators compared with people's choices between two outcomes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from editgauge._stats.agreement import choice_agreement, choice_credit
from editgauge._stats.intervals import Labels, Mean, Numbers
from editgauge._stats.paired import Complementarity, Paired, against_the_first, complementarity
from editgauge._stats.resampling import Estimate
from editgauge.analysis.evaluators.evaluators import (
    Evaluator,
    EvaluatorTarget,
    Scored,
    best_first,
    label,
    margins,
    shares,
)
from editgauge.analysis.people.matching import Matched, OutcomeKey, ScoredOutcomes
from editgauge.analysis.people.ratings import PreferredOutcome
from editgauge.types import ScoreSpec

MOST_PAIRED = 4
"""This many of the evaluators that agree most are taken in pairs."""


@dataclass(frozen=True, slots=True)
class ChosenScore:
    """One evaluator compared with people's choices."""

    protocol: str
    spec: ScoreSpec
    share: Mean | None
    """Of the choices, how many it agrees with (s_2AFC); None when no choice has both scores."""
    by_type: dict[str, Mean]
    equal: int
    """Choices between outcomes with equal scores: each counts half, as guessing would."""
    unscored: int
    """Choices with an outcome that has no such score: left out, never imputed."""


@dataclass(frozen=True, slots=True)
class ChosenScores:
    """What the choices say about the evaluators, the one that agrees most first."""

    scores: tuple[ChosenScore, ...]
    ties: int
    """Choices in which people found both alike: no side to agree with, so they are left out."""
    behind: tuple[Paired, ...]
    """The one that agrees most against every other one, on the choices that both can answer."""
    pairs: tuple[Complementarity, ...]
    """Any two of the four that agree most, on the choices that both can answer: do they err alike?"""


def chosen_scores(
    matched: Matched[PreferredOutcome], evaluators: Sequence[Evaluator], known: ScoredOutcomes
) -> ChosenScores:
    """Every evaluator compared with the choices."""
    answers = _Answers.of(matched, known)
    earned = [_Earned.of(each, answers) for each in evaluators]
    summaries = [_summary(each, answers) for each in earned]
    order = sorted(range(len(summaries)), key=lambda place: best_first(summaries[place].share))
    pairs = (_together(earned[one], earned[two], answers) for one, two in combinations(order[:MOST_PAIRED], 2))
    return ChosenScores(
        tuple(summaries[place] for place in order),
        len(matched.pairs) - len(answers.outcomes),
        against_the_first([(label(evaluators[place]), earned[place].credit) for place in order], answers.sources),
        tuple(pair for pair in pairs if pair),
    )


def asked_by_choices(matched: Matched[PreferredOutcome], known: ScoredOutcomes) -> EvaluatorTarget:
    """People's choices, to hold one evaluator after another against."""
    answers = _Answers.of(matched, known)

    def ask(evaluator: Scored) -> Estimate:
        margin = margins(evaluator, answers.outcomes)
        there = ~np.isnan(margin)
        return choice_agreement(margin[there], 0 * margin[there], answers.chose_first[there], answers.sources[there])

    return EvaluatorTarget("choices", "share agreed with", 0.5, ask)


@dataclass(frozen=True, slots=True)
class _Answers:
    """The choices in which people did choose."""

    outcomes: list[tuple[OutcomeKey, ...]]
    chose_first: NDArray[np.bool_]
    sources: Labels
    edit_types: Labels

    @classmethod
    def of(cls, matched: Matched[PreferredOutcome], known: ScoredOutcomes) -> _Answers:
        decided = [(keys, choice.chosen == "first") for keys, choice in matched.pairs if choice.chosen != "tie"]
        return cls(
            [keys for keys, _ in decided],
            np.array([first for _, first in decided], dtype=np.bool_),
            known.sources_of(keys[0] for keys, _ in decided),
            known.edit_types_of(keys[0] for keys, _ in decided),
        )


@dataclass(frozen=True, slots=True)
class _Earned:
    """NaN, within this file, where an outcome has no score."""

    evaluator: Evaluator
    margin: Numbers
    """By how much the first outcome of every choice is the better one."""
    credit: Numbers
    """What the evaluator earns on every choice."""

    @classmethod
    def of(cls, evaluator: Evaluator, answers: _Answers) -> _Earned:
        margin = margins(evaluator, answers.outcomes)
        return cls(evaluator, margin, choice_credit(margin, 0, answers.chose_first))


def _summary(earned: _Earned, answers: _Answers) -> ChosenScore:
    return ChosenScore(
        earned.evaluator.protocol,
        earned.evaluator.spec,
        *shares(earned.credit, answers.sources, answers.edit_types),
        equal=int((earned.credit == 0.5).sum()),
        unscored=int(np.isnan(earned.credit).sum()),
    )


def _together(first: _Earned, second: _Earned, answers: _Answers) -> Complementarity | None:
    both = ~np.isnan(first.credit) & ~np.isnan(second.credit)
    if not both.any():
        return None
    scaled = (each.margin[both] / (each.margin[both].std() or 1.0) for each in (first, second))
    return complementarity(
        first.credit[both],
        second.credit[both],
        answers.sources[both],
        average=choice_credit(sum(scaled), 0, answers.chose_first[both]),
        names=(label(first.evaluator), label(second.evaluator)),
    )
