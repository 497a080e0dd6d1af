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

LEAST_DISPUTE = 0.3
"""Answers nearer to each other than this share of the scale are no dispute."""
Values = list[tuple[str, str]]
"""A question or a protocol, and the value."""


class Highlight(NamedTuple):
    """One outcome and why it is shown."""

    label: str
    outcome: ScoredOutcome
    instruction: str
    values: Values
    """What the scores say about it."""


def highlights(context: Context) -> list[Highlight]:
    """Those that there are, each of another edit; outcomes that leave the source as it is are left out."""
    edited = [each for each in context.outcomes if each.edited and each.edited.pixels != each.source.pixels]
    keys = [context.answers[question][0] for question in ("done", "kept") if question in context.answers]
    keys = keys or context.headlines[:1]
    scales = {key: _goodness(key, edited, context) for key in {*keys, *context.answers.get("done", ())}}
    ratings = {id(each): rating for each in edited if (rating := _rating(each, keys, scales)) is not None}
    rated = [each for each in edited if id(each) in ratings]
    chosen: list[Highlight] = []

    def choose(label: str, ranked: Sequence[ScoredOutcome], shown: Callable[[ScoredOutcome], Values]) -> None:
        seen = {highlight.outcome.edit for highlight in chosen}
        outcome = next((each for each in ranked if each.edit not in seen), None)
        if outcome:
            instruction = context.run.edits.get(outcome.edit, {}).get("instruction", "") or outcome.edit
            chosen.append(Highlight(label, outcome, instruction, shown(outcome)))

    choose(
        "Best",
        sorted(rated, key=lambda each: ratings[id(each)], reverse=True),
        lambda o: _score_values(o, keys, context),
    )
    choose("Worst", sorted(rated, key=lambda each: ratings[id(each)]), lambda o: _score_values(o, keys, context))
    disputes = {id(each): _dispute(each, context.answers.get("done", ()), scales) for each in edited}
    disputed = sorted((each for each in edited if disputes[id(each)] >= LEAST_DISPUTE), key=lambda e: -disputes[id(e)])
    choose("Most disputed", disputed, lambda outcome: _votes(outcome, context))
    return chosen


def _goodness(key: ScoreKey, outcomes: Sequence[ScoredOutcome], context: Context) -> Callable[[float], float]:
    """A value of the score as a share of its scale, 1 for the best."""
    spec = context.run.spec(*key)
    low, high = spec.range
    if not (math.isfinite(low) and math.isfinite(high)):
        values = [value for each in outcomes if isinstance(value := each.scores.get(key), float)]
        low, high = (min(values), max(values)) if values else (0.0, 1.0)
    span = high - low or 1.0
    return lambda value: (value - low if spec.higher_is_better else high - value) / span


def _goodness_values(outcome: ScoredOutcome, keys: Sequence[ScoreKey], scales: Scales) -> list[float]:
    """The scores that the outcome has, as shares of their scales."""
    return [scales[key](value) for key in keys if isinstance(value := outcome.scores.get(key), float)]


def _rating(outcome: ScoredOutcome, keys: Sequence[ScoreKey], scales: Scales) -> tuple[float, float] | None:
    """As good as the weaker of its answers, then by their mean; None unless it has all of them."""
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
    """What each protocol says on whether the edit was done."""
    keys = [key for key in context.answers["done"] if isinstance(outcome.scores.get(key), float)]
    return [(key[0], _highlight_value(outcome, key, context)) for key in keys]


def _highlight_value(outcome: ScoredOutcome, key: ScoreKey, context: Context) -> str:
    value = outcome.scores.get(key)
    low, high = context.run.spec(*key).range
    return text.number(value, 2 if high - low <= 1 else 1) if isinstance(value, float) else "no score"
