"""The card of an audit: what it holds, and how it follows from runs over probes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from editgauge.audits.card import (
    Blend,
    MisjudgedProbe,
    ProbeScores,
    ScoreCard,
    Sheet,
    auroc,
    auroc_ahead,
    headlines_of,
    measured_in,
    score_card,
    share,
    worst_failures,
)
from editgauge.audits.card import blend as blended
from editgauge.engine._judges import FOLDER
from editgauge.errors import BadInputError, UnknownNameError
from editgauge.judges._transcripts import Transcripts

if TYPE_CHECKING:
    from editgauge._stats.resampling import Estimate
    from editgauge.audits._probe_questions import PairFindings, SideChoices
    from editgauge.audits._probe_set import Probe
    from editgauge.audits.human_reference import HumanReference
    from editgauge.judges._transcripts import Call
    from editgauge.results import Run

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

    @classmethod
    def of(cls, calls: Sequence[Call], cost: float) -> Cost:
        """Sum the tokens and cost of calls."""
        return cls(
            calls=sum(call.fault != "budget" for call in calls),  # what the budget forbade was never sent
            prompt_tokens=sum(call.prompt_tokens or 0 for call in calls),
            completion_tokens=sum(call.completion_tokens or 0 for call in calls),
            cost=cost,
            seconds=round(sum(call.latency for call in calls), 1),
        )


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
    human_reference: HumanReference | None = None
    """How the scores perform on real edits that people rated; None without a reference set."""

    @property
    def heads(self) -> list[ScoreCard]:
        """The cards of the headline scores."""
        return [score for score in self.scores if (score.protocol, score.name) in self.headlines]


def card_of(
    runs: Sequence[Run],
    probes: Sequence[Probe],
    *,
    blend: str | None = None,
    seconds: Mapping[str, float] | None = None,
    sides: Mapping[str, SideChoices] | None = None,
    pairs: Mapping[str, PairFindings] | None = None,
    against: str | None = None,
) -> AuditCard:
    """Compute the card of runs whose outcomes are probes."""
    sheet = Sheet.of(probes)
    measured = [entry for run in runs for entry in measured_in(run, probes)]
    scores = [value for value in measured if value.spec.name not in STEADINESS]
    cards = tuple(score_card(score, sheet) for score in scores)
    both = {(element.protocol, element.spec.name): element for element in scores}
    headlines = headlines_of(scores, sheet)
    if against is None:
        compared = list(combinations([both[item] for item in _best_first(headlines, cards)], 2))
    else:
        first = both[score_named(against, both, "against")]
        rivals = _best_first([(score.protocol, score.spec.name) for score in scores if score is not first], cards)
        compared = [(first, both[rival]) for rival in rivals]
    labeled = [probe for probe in probes if probe.is_known]
    held_back = [probe for probe in labeled if probe.split == "held_back"]
    return AuditCard(
        probes=len(labeled),
        held_back=len(held_back),
        edits=len({probe.edit for probe in held_back}),
        photos=len({probe.photo for probe in held_back}),
        scores=cards,
        headlines=headlines,
        ahead=tuple(_ahead(one, two, sheet) for one, two in compared),
        steadiness={score.label: score_card(score, sheet).mean for score in measured if score.spec.name in STEADINESS},
        pairs=dict(pairs or {}),
        sides=dict(sides or {}),
        blend=_blend(blend, both, sheet) if blend else None,
        failures={
            score.label: worst_failures(score, card, sheet)
            for score, card in zip(scores, cards, strict=True)
            if (card.protocol, card.name) in headlines
        },
        people=_people(sheet),
        costs=_costs(runs),
        seconds=dict(seconds or {}),
        models=models_of(runs),
    )


def _best_first(names: Sequence[tuple[str, str]], cards: Sequence[ScoreCard]) -> list[tuple[str, str]]:
    """So that differences are most often gains, and the nearest rivals come first."""
    aurocs = {(card.protocol, card.name): card.auroc.value or 0.0 for card in cards}
    return sorted(names, key=lambda item: -aurocs[item])


def _people(sheet: Sheet) -> PeopleAgreement | None:
    photos = sheet.photos[sheet.preferred[:, 0]]
    return PeopleAgreement(len(photos), len(set(photos)), share(sheet.agreed, photos)) if photos.size else None


def _ahead(first: ProbeScores, second: ProbeScores, sheet: Sheet) -> Ahead:
    """Both turned so that more is better, where both have a value."""
    one, two = (np.where(sheet.tuning, np.nan, item.turned) for item in (first, second))
    done = np.where(np.isnan(one + two), np.nan, sheet.done)
    return Ahead(
        first.label,
        second.label,
        auroc(one, done, sheet.photos),
        auroc(two, done, sheet.photos),
        auroc_ahead(one, two, done, sheet.photos),
    )


def models_of(runs: Sequence[Run]) -> dict[str, str]:
    """Return the model name of each role."""
    return {role: str(model["name"]) for one in runs for role, model in one.manifest.models.items()}


def _blend(names: str, both: Mapping[tuple[str, str], ProbeScores], sheet: Sheet) -> Blend:
    preservation, modification = (both[key] for key in scores_to_mix(names, both))
    return blended(preservation, modification, sheet)


def scores_to_mix(names: str, available: Collection[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return protocol and name of the two scores that `blend` names."""
    parts = [part.strip() for part in names.split(",")]
    if len(parts) != 2:
        raise BadInputError(f"`blend` takes two scores, PRESERVATION,MODIFICATION; got '{names}'.")
    return [score_named(part, available, "blend") for part in parts]


def score_named(name: str, available: Collection[tuple[str, str]], option: str) -> tuple[str, str]:
    """Return protocol and name of the score that an option names, with or without its protocol."""
    matches = [key for key in available if name in (key[1], "/".join(key))]
    if not matches:
        raise UnknownNameError("score in this audit", name, ["/".join(key) for key in available])
    if len(matches) > 1:
        raise BadInputError(f"{option}: '{name}' is a score of several protocols; write {'/'.join(matches[0])}.")
    return matches[0]


def _costs(runs: Sequence[Run]) -> Cost | None:
    """Sum the calls of all judges."""
    transcripts = [
        Transcripts(one.folder / FOLDER) for one in runs if one.manifest.judges and (one.folder / FOLDER).is_dir()
    ]
    if not transcripts:
        return None
    return Cost.of([call for item in transcripts for call in item], sum(transcript.spent for transcript in transcripts))
