"""What an audit found, and the same as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from editgauge.audits.cards.blends import Blend
    from editgauge.audits.cards.card import ScoreCard
    from editgauge.audits.cards.failures import MisjudgedProbe
    from editgauge.audits.judges.pairs import PairFindings
    from editgauge.audits.judges.sides import SideChoices
    from editgauge.audits.people.ground import RatedGround
    from editgauge.stats.resampling import Estimate

CARD = "card.json"
STEADINESS = ("self_agreement", "order_agreement")
"""Scores of a judge's steadiness: asked again, and with the pictures in the other order."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What judges were asked, all calls together."""

    calls: int
    prompt_tokens: int
    completion_tokens: int
    cost: float
    seconds: float
    """Of the answers alone, added up."""


@dataclass(frozen=True, slots=True)
class Ahead:
    """By how much the AUROC of one score is above that of another, over the held-out probes that have both."""

    first: str
    second: str
    first_auroc: Estimate
    second_auroc: Estimate
    difference: Estimate


@dataclass(frozen=True, slots=True)
class PeopleAgreement:
    """Pairs of outcomes that people compared."""

    pairs: int
    photos: int
    agree: Estimate
    """The share of people who prefer what most of them prefer: more than this no evaluator can be asked for."""


@dataclass(frozen=True, slots=True)
class AuditCard:
    """How evaluators perform on the held-out photographs."""

    probes: int
    """All of them, those of the tuning photographs included."""
    held_back: int
    edits: int
    photos: int
    """Of the held-out probes."""
    scores: tuple[ScoreCard, ...]
    headlines: tuple[tuple[str, str], ...]
    """By protocol: its verdict, or else the score that tells best on the tuning photographs what was done."""
    ahead: tuple[Ahead, ...]
    """Any two headline scores against each other; or one score against all others, when that was asked for."""
    steadiness: Mapping[str, Estimate]
    """Of judges, by score: do they agree with themselves, and whatever the order of pictures?"""
    pairs: Mapping[str, PairFindings]
    """By judge: how it does when it is shown two outcomes."""
    sides: Mapping[str, SideChoices]
    """By model: can it tell left from right? Over all photographs, for nothing was chosen by them."""
    blend: Blend | None
    failures: Mapping[str, tuple[MisjudgedProbe, ...]]
    people: PeopleAgreement | None
    """None if none were compared."""
    costs: Cost | None
    seconds: Mapping[str, float]
    """By protocol, over all calls into the folder; what an earlier one had asked of a model is remembered."""
    models: Mapping[str, str]
    ground: RatedGround | None = None
    """How the scores perform on real edits that people rated; None when no such ground was given."""


def is_steadiness(name: str) -> bool:
    """Does a score tell about the judge rather than of the edit?"""
    return name in STEADINESS


def to_json(card: AuditCard) -> dict[str, Any]:
    """The card as plain values; a score without a number has null and a reason."""
    return asdict(card)
