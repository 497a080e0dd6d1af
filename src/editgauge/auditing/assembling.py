"""From runs over probes to one card."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from editgauge.auditing.blends import Blend, label
from editgauge.auditing.blends import blend as blended
from editgauge.auditing.card import Measured, score_card
from editgauge.auditing.failures import worst_failures
from editgauge.auditing.measured import headlines_of, measured_in
from editgauge.auditing.measures import auroc_ahead
from editgauge.auditing.probes import Probe
from editgauge.auditing.result import Ahead, Card, Cost, is_steadiness
from editgauge.auditing.sheet import Sheet
from editgauge.auditing.sides import Told
from editgauge.core.errors import BadInput, UnknownName
from editgauge.core.run import Run
from editgauge.judges.transcripts import Transcripts
from editgauge.runner.jury import FOLDER


def card_of(
    runs: Sequence[Run],
    probes: Sequence[Probe],
    blend: str | None = None,
    seconds: Mapping[str, float] | None = None,
    sides: Mapping[str, Told] | None = None,
) -> Card:
    """The card of runs whose outcomes are probes."""
    sheet = Sheet.of(probes)
    measured = [each for one in runs for each in measured_in(one, probes)]
    scores = [each for each in measured if not is_steadiness(each.spec.name)]
    cards = tuple(score_card(each, sheet) for each in scores)
    both = {(each.protocol, each.spec.name): each for each in scores}
    headlines = headlines_of(scores, sheet)
    held_back = [probe for probe in probes if probe.split == "held_back"]
    return Card(
        probes=len(probes),
        held_back=len(held_back),
        edits=len({probe.edit for probe in held_back}),
        photos=len({probe.photo for probe in held_back}),
        scores=cards,
        headlines=headlines,
        ahead=tuple(_ahead(both[one], both[two], sheet) for one, two in combinations(headlines, 2)),
        steadiness={
            f"{each.protocol}/{each.spec.name}": score_card(each, sheet).mean
            for each in measured
            if is_steadiness(each.spec.name)
        },
        sides=dict(sides or {}),
        blend=_blend(blend, both, sheet) if blend else None,
        failures={
            f"{card.protocol}/{card.name}": worst_failures(both[card.protocol, card.name], card, sheet)
            for card in cards
            if (card.protocol, card.name) in headlines
        },
        costs=_costs(runs),
        seconds=dict(seconds or {}),
        models=models_of(runs),
    )


def _ahead(first: Measured, second: Measured, sheet: Sheet) -> Ahead:
    """Both turned so that more is better."""
    one, two = (np.where(sheet.tuning, np.nan, _sign(each) * each.values) for each in (first, second))
    return Ahead(label(first), label(second), auroc_ahead(one, two, sheet.done, sheet.photos))


def _sign(measured: Measured) -> float:
    return 1.0 if measured.spec.higher_is_better else -1.0


def models_of(runs: Sequence[Run]) -> dict[str, str]:
    """The name of the model for each role."""
    return {role: str(told["name"]) for one in runs for role, told in one.manifest.models.items()}


def _blend(names: str, both: Mapping[tuple[str, str], Measured], sheet: Sheet) -> Blend:
    parts = [part.strip() for part in names.split(",")]
    if len(parts) != 2:
        raise BadInput(f"--blend takes two scores, PRESERVATION,MODIFICATION; got '{names}'.")
    preservation, modification = (_score(part, both) for part in parts)
    return blended(preservation, modification, sheet)


def _score(name: str, both: Mapping[tuple[str, str], Measured]) -> Measured:
    found = [key for key in both if name in (key[1], "/".join(key))]
    if not found:
        raise UnknownName("score in this audit", name, ["/".join(key) for key in both])
    if len(found) > 1:
        raise BadInput(f"--blend: '{name}' is a score of several protocols; write {'/'.join(found[0])}.")
    return both[found[0]]


def _costs(runs: Sequence[Run]) -> Cost | None:
    """What judges were asked, all calls together."""
    told = [Transcripts(one.folder / FOLDER) for one in runs if one.manifest.judges and (one.folder / FOLDER).is_dir()]
    calls = [call for each in told for call in each]
    return (
        Cost(
            calls=len(calls),
            prompt_tokens=sum(call.prompt_tokens or 0 for call in calls),
            completion_tokens=sum(call.completion_tokens or 0 for call in calls),
            cost=sum(each.spent for each in told),
            seconds=round(sum(call.latency for call in calls), 1),
        )
        if told
        else None
    )
