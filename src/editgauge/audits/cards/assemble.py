"""From runs over probes to one card."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import combinations

import numpy as np

from editgauge.audits.cards.blends import Blend, label
from editgauge.audits.cards.blends import blend as blended
from editgauge.audits.cards.card import ProbeScores, ScoreCard, score_card
from editgauge.audits.cards.failures import worst_failures
from editgauge.audits.cards.measures import auroc, auroc_ahead, share
from editgauge.audits.cards.result import Ahead, AuditCard, Cost, PeopleAgreement, is_steadiness
from editgauge.audits.cards.sheet import Sheet
from editgauge.audits.cards.values import headlines_of, measured_in
from editgauge.audits.judges.ask import cost_of
from editgauge.audits.judges.pairs import PairFindings
from editgauge.audits.judges.sides import SideChoices
from editgauge.audits.probes.probes import Probe
from editgauge.core.errors import BadInput, UnknownName
from editgauge.core.run import Run
from editgauge.engine.judges import FOLDER
from editgauge.judges.transcripts import Transcripts


def card_of(
    runs: Sequence[Run],
    probes: Sequence[Probe],
    blend: str | None = None,
    seconds: Mapping[str, float] | None = None,
    sides: Mapping[str, SideChoices] | None = None,
    pairs: Mapping[str, PairFindings] | None = None,
    against: str | None = None,
) -> AuditCard:
    """The card of runs whose outcomes are probes."""
    sheet = Sheet.of(probes)
    measured = [each for one in runs for each in measured_in(one, probes)]
    scores = [each for each in measured if not is_steadiness(each.spec.name)]
    cards = tuple(score_card(each, sheet) for each in scores)
    both = {(each.protocol, each.spec.name): each for each in scores}
    headlines = headlines_of(scores, sheet)
    if against is None:
        compared = list(combinations([both[each] for each in _best_first(headlines, cards)], 2))
    else:
        first = both[score_named(against, both, "--against")]
        rivals = _best_first([(each.protocol, each.spec.name) for each in scores if each is not first], cards)
        compared = [(first, both[each]) for each in rivals]
    known = [probe for probe in probes if probe.is_known]
    held_back = [probe for probe in known if probe.split == "held_back"]
    return AuditCard(
        probes=len(known),
        held_back=len(held_back),
        edits=len({probe.edit for probe in held_back}),
        photos=len({probe.photo for probe in held_back}),
        scores=cards,
        headlines=headlines,
        ahead=tuple(_ahead(one, two, sheet) for one, two in compared),
        steadiness={
            f"{each.protocol}/{each.spec.name}": score_card(each, sheet).mean
            for each in measured
            if is_steadiness(each.spec.name)
        },
        pairs=dict(pairs or {}),
        sides=dict(sides or {}),
        blend=_blend(blend, both, sheet) if blend else None,
        failures={
            f"{card.protocol}/{card.name}": worst_failures(both[card.protocol, card.name], card, sheet)
            for card in cards
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
    return sorted(names, key=lambda each: -aurocs[each])


def _people(sheet: Sheet) -> PeopleAgreement | None:
    photos = sheet.photos[sheet.preferred[:, 0]]
    return PeopleAgreement(len(photos), len(set(photos)), share(sheet.agreed, photos)) if photos.size else None


def _ahead(first: ProbeScores, second: ProbeScores, sheet: Sheet) -> Ahead:
    """Both turned so that more is better, where both have a value."""
    one, two = (np.where(sheet.tuning, np.nan, _sign(each) * each.values) for each in (first, second))
    done = np.where(np.isnan(one + two), np.nan, sheet.done)
    return Ahead(
        label(first),
        label(second),
        auroc(one, done, sheet.photos),
        auroc(two, done, sheet.photos),
        auroc_ahead(one, two, done, sheet.photos),
    )


def _sign(measured: ProbeScores) -> float:
    return 1.0 if measured.spec.higher_is_better else -1.0


def models_of(runs: Sequence[Run]) -> dict[str, str]:
    """The name of the model for each role."""
    return {role: str(model["name"]) for one in runs for role, model in one.manifest.models.items()}


def _blend(names: str, both: Mapping[tuple[str, str], ProbeScores], sheet: Sheet) -> Blend:
    preservation, modification = (both[key] for key in scores_to_mix(names, both))
    return blended(preservation, modification, sheet)


def scores_to_mix(names: str, known: Collection[tuple[str, str]]) -> list[tuple[str, str]]:
    """Protocol and name of the two scores that `--blend` names."""
    parts = [part.strip() for part in names.split(",")]
    if len(parts) != 2:
        raise BadInput(f"--blend takes two scores, PRESERVATION,MODIFICATION; got '{names}'.")
    return [score_named(part, known, "--blend") for part in parts]


def score_named(name: str, known: Collection[tuple[str, str]], option: str) -> tuple[str, str]:
    """Protocol and name of the score that an option names, with or without its protocol."""
    matches = [key for key in known if name in (key[1], "/".join(key))]
    if not matches:
        raise UnknownName("score in this audit", name, ["/".join(key) for key in known])
    if len(matches) > 1:
        raise BadInput(f"{option}: '{name}' is a score of several protocols; write {'/'.join(matches[0])}.")
    return matches[0]


def _costs(runs: Sequence[Run]) -> Cost | None:
    """What judges were asked, all calls together."""
    transcripts = [
        Transcripts(one.folder / FOLDER) for one in runs if one.manifest.judges and (one.folder / FOLDER).is_dir()
    ]
    return (
        cost_of([call for each in transcripts for call in each], sum(each.spent for each in transcripts))
        if transcripts
        else None
    )
