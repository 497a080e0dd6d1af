"""Three outcomes to look at first: the best, the worst, and the one on which the protocols disagree most."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from editgauge._render import text
from editgauge.types import QUESTIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from editgauge.analysis.summary import ScoreKey
    from editgauge.reports._outcomes import ScoredOutcome
    from editgauge.reports.context import Context

    Scales = Mapping[ScoreKey, Callable[[float], float]]

MIN_DISPUTE = 0.3
"""Smallest difference that is a dispute, as a share of the scale."""
Values = list[tuple[str, str]]
"""A question or a protocol, and the value."""


class Highlight(NamedTuple):
    """One outcome and why it is highlighted."""

    label: str
    outcome: ScoredOutcome
    instruction: str
    values: Values
    """Its scores."""


def highlights(context: Context) -> list[Highlight]:
    """Return the highlights, each of another edit; outcomes that leave the source unchanged are left out."""
    edited = [
        outcome for outcome in context.outcomes if outcome.edited and outcome.edited.pixels != outcome.source.pixels
    ]
    keys = [context.answers[question][0] for question in ("done", "kept") if question in context.answers]
    keys = keys or context.headlines[:1]
    scales = {key: _goodness(key, edited, context) for key in {*keys, *context.answers.get("done", ())}}
    ratings = {id(outcome): rating for outcome in edited if (rating := _rating(outcome, keys, scales)) is not None}
    rated = [outcome for outcome in edited if id(outcome) in ratings]
    selected: list[Highlight] = []

    def select(label: str, ranked: Sequence[ScoredOutcome], values_of: Callable[[ScoredOutcome], Values]) -> None:
        edits = {highlight.outcome.edit for highlight in selected}
        outcome = next((candidate for candidate in ranked if candidate.edit not in edits), None)
        if outcome:
            instruction = context.run.edits.get(outcome.edit, {}).get("instruction", "") or outcome.edit
            selected.append(Highlight(label, outcome, instruction, values_of(outcome)))

    select(
        "Best",
        sorted(rated, key=lambda outcome: ratings[id(outcome)], reverse=True),
        lambda o: _score_values(o, keys, context),
    )
    select("Worst", sorted(rated, key=lambda outcome: ratings[id(outcome)]), lambda o: _score_values(o, keys, context))
    disputes = {id(outcome): _dispute(outcome, context.answers.get("done", ()), scales) for outcome in edited}
    disputed = sorted(
        (outcome for outcome in edited if disputes[id(outcome)] >= MIN_DISPUTE), key=lambda e: -disputes[id(e)]
    )
    select("Most disputed", disputed, lambda outcome: _votes(outcome, context))
    return selected


def _goodness(key: ScoreKey, outcomes: Sequence[ScoredOutcome], context: Context) -> Callable[[float], float]:
    """Return a function that maps a value to a share of the score's scale, 1 for the best."""
    spec = context.run.spec(*key)
    low, high = spec.range
    if not (math.isfinite(low) and math.isfinite(high)):
        values = [value for outcome in outcomes if (value := outcome.value(key)) is not None]
        low, high = (min(values), max(values)) if values else (0.0, 1.0)
    span = high - low or 1.0
    return lambda value: (value - low if spec.higher_is_better else high - value) / span


def _goodness_values(outcome: ScoredOutcome, keys: Sequence[ScoreKey], scales: Scales) -> list[float]:
    """Return the scores of the outcome as shares of their scales."""
    return [scales[key](value) for key in keys if (value := outcome.value(key)) is not None]


def _rating(outcome: ScoredOutcome, keys: Sequence[ScoreKey], scales: Scales) -> tuple[float, float] | None:
    """Rate an outcome by its weakest score, then by their sum; None if one is missing."""
    values = _goodness_values(outcome, keys, scales)
    return (min(values), sum(values)) if values and len(values) == len(keys) else None


def _dispute(outcome: ScoredOutcome, keys: Sequence[ScoreKey], scales: Scales) -> float:
    values = _goodness_values(outcome, keys, scales)
    return max(values) - min(values) if len(values) > 1 else 0.0


def _score_values(outcome: ScoredOutcome, keys: Sequence[ScoreKey], context: Context) -> Values:
    return [
        (
            QUESTIONS[question] if (question := context.run.spec(*key).question) else key[1],
            _highlight_value(outcome, key, context),
        )
        for key in keys
    ]


def _votes(outcome: ScoredOutcome, context: Context) -> Values:
    """Return each protocol's score on whether the edit was done."""
    keys = [key for key in context.answers["done"] if outcome.value(key) is not None]
    return [(key[0], _highlight_value(outcome, key, context)) for key in keys]


def _highlight_value(outcome: ScoredOutcome, key: ScoreKey, context: Context) -> str:
    value = outcome.value(key)
    low, high = context.run.spec(*key).range
    return text.number(value, 2 if high - low <= 1 else 1) if value is not None else "no score"
