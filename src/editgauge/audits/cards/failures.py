"""Where a score is most wrong: what it calls done though it is not, and the other way round."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import rankdata

if TYPE_CHECKING:
    from editgauge.audits.cards.card import ProbeScores, ScoreCard
    from editgauge.audits.cards.sheet import Sheet

MOST = 12


@dataclass(frozen=True, slots=True)
class MisjudgedProbe:
    """A probe on the wrong side of the mark."""

    probe: str
    kind: str
    type: str
    done: bool
    value: float


def worst_failures(
    measured: ProbeScores, card: ScoreCard, sheet: Sheet, most: int = MOST
) -> tuple[MisjudgedProbe, ...]:
    """The held-out probes farthest on the wrong side, edits and kinds taking turns."""
    if card.mark is None:
        return ()
    sign = 1.0 if card.higher_is_better else -1.0
    turned, mark = sign * measured.values, sign * card.mark
    known = ~sheet.tuning & ~np.isnan(turned) & ~np.isnan(sheet.done)
    wrong = np.flatnonzero(known & ((turned >= mark) != (sheet.done == 1)))
    if not wrong.size:
        return ()
    ranks = np.full(turned.size, np.nan)
    ranks[known] = rankdata(turned[known]) / known.sum()
    depth = np.where(sheet.done == 1, 1 - ranks, ranks)[wrong]
    order = [int(wrong[place]) for place in np.argsort(-depth, kind="stable")]
    return tuple(_failure(measured, sheet, place) for place in _varied(sheet, order)[:most])


def _varied(sheet: Sheet, order: list[int]) -> list[int]:
    """Each edit once, and each kind once, then each once more, and so on."""
    times: Counter[str] = Counter()
    rounds = []
    for place in order:
        mine = sheet.probes[place].edit, f"{sheet.probes[place].kind.partition('-')[0]}, a kind"
        times.update(mine)
        rounds.append(max(times[each] for each in mine))
    return [place for _, place in sorted(zip(rounds, order, strict=True), key=lambda each: each[0])]


def _failure(measured: ProbeScores, sheet: Sheet, place: int) -> MisjudgedProbe:
    probe = sheet.probes[place]
    return MisjudgedProbe(probe.id, probe.kind, probe.type, bool(probe.done), float(measured.values[place]))
