"""Both grounds of an audit in sentences: probes with known truth, and real edits that people rated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from editgauge.audits.people.ground import OWN, GroundScore, disagree

if TYPE_CHECKING:
    from editgauge.audits.cards.card import ScoreCard
    from editgauge.audits.cards.result import AuditCard
    from editgauge.stats.resampling import Estimate


def both_grounds(card: AuditCard) -> list[str]:
    """What the headline scores reach on either ground, those on which the grounds disagree first."""
    if card.ground is None:
        return []
    heads = [each for each in card.scores if (each.protocol, each.name) in card.headlines]
    rows = [(each, row) for each in heads if (row := card.ground.of(each.protocol, each.name))]
    apart = [both for both in rows if disagree(both[0].auroc, both[1].done)]
    together = [both for both in rows if both not in apart]
    return [*_apart(apart), *(_sentence(*both) for both in together), *_fitted(card)]


def _apart(rows: Sequence[tuple[ScoreCard, GroundScore]]) -> list[str]:
    return [f"The two grounds disagree. {_sentence(*both)}" for both in rows[:1]] + [
        f"They also disagree about the next. {_sentence(*both)}" for both in rows[1:]
    ]


def _sentence(card: ScoreCard, row: GroundScore) -> str:
    """`editgauge/edit`: on our probes 0.93, on real edits rated by people 0.80, of which it answers 53 %."""
    return (
        f"{card.protocol}/{card.name}: AUROC {_number(card.auroc)} on our probes, "
        f"{_number(row.done)} on real edits rated by people at {100 * row.answered:.0f} % coverage."
    )


def _fitted(card: AuditCard) -> list[str]:
    ground = card.ground
    if ground is None or not ground.fitted_on or not any(row.protocol.startswith(OWN) for row in ground.scores):
        return []
    return [
        f"{100 * ground.fitted_on:.0f} % of these rated outcomes are of photographs that the protocol {OWN} was fitted "
        "on: its figures on people's ground are too good."
    ]


def _number(estimate: Estimate) -> str:
    if estimate.value is None:
        return f"unknown ({estimate.reason})"
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:.2f}"
    return f"{estimate.value:.2f} ({estimate.low:.2f} to {estimate.high:.2f})"
