"""The card of one score: how it does on probes with known truth. Pure statistics, whatever gives the numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from editgauge._stats.intervals import Labels, Numbers
from editgauge.audits.cards.measures import accuracy, auroc, best_mark, credit, nothing, share
from editgauge.audits.cards.sheet import Places, Sheet
from editgauge.audits.cards.values import ProbeScores

if TYPE_CHECKING:
    from editgauge._stats.resampling import Estimate

OTHER_WORDS = "another_instruction"
"""The kind whose pictures are those of the right outcome, while something else is asked for."""
MOST_FAILURES = 12


@dataclass(frozen=True, slots=True)
class TypeCell:
    """One edit type."""

    auroc: Estimate
    accuracy: Estimate
    probes: int
    scored: int


@dataclass(frozen=True, slots=True)
class ScoreCard:
    """How one score performs."""

    protocol: str
    name: str
    higher_is_better: bool
    about: str
    probes: int
    scored: int
    unscored: Mapping[str, int]
    """By reason."""
    mark: float | None
    """Values of at least this (or at most, where lower is better) mean that an edit counts as done."""
    mark_is_its_own: bool
    """Else it was chosen on the tuning photographs."""
    auroc: Estimate
    """Of `edit done`, over all probes whose truth is known."""
    accuracy: Estimate
    """Balanced accuracy of `edit done` at the mark."""
    says_done_rightly: Estimate
    says_not_rightly: Estimate
    chosen: Estimate
    """Of all pairs made so that one is better, the share in which it has the better score."""
    people: Estimate
    """Of all pairs that people compared, the share in which the one most of them prefer has the better score.

    Over all photographs, for nothing was chosen by them."""
    by_type: Mapping[str, TypeCell]
    against: Mapping[str, Estimate]
    """By wrong kind: how often the right outcome has the better score."""
    ordering: Mapping[str, Estimate]
    """By group of graded families, and by family: pairs in the right order."""
    moves: Mapping[str, Estimate]
    """By harmless change: how far the score moves, in units of its spread."""
    flips: Mapping[str, Estimate]
    """By harmless change: how often the verdict turns."""
    deaf: Estimate
    """How often the score is exactly the same when another edit is asked for."""
    mean: Estimate
    spread: float | None
    """Standard deviation over the probes."""


@dataclass(frozen=True, slots=True)
class MisjudgedProbe:
    """A probe on the wrong side of the mark."""

    probe: str
    kind: str
    type: str
    done: bool
    value: float


def score_card(measured: ProbeScores, sheet: Sheet) -> ScoreCard:
    """Compute the card of a score on held-out photographs; a missing threshold is chosen on the tuning half."""
    spec, sign, turned = measured.spec, measured.sign, measured.turned
    tuned = best_mark(np.where(sheet.tuning, turned, np.nan), sheet.done)
    mark = tuned if measured.mark is None else sign * measured.mark
    inside = ~sheet.tuning & sheet.known
    held_out = np.where(inside, turned, np.nan)
    done, photos = sheet.done, sheet.photos
    accuracies = accuracy(held_out, done, mark, photos) if mark is not None else (nothing("no mark to pass"),) * 3
    scored = ~np.isnan(held_out)
    spread = float(held_out[scored].std()) if scored.any() else None
    return ScoreCard(
        protocol=measured.protocol,
        name=spec.name,
        higher_is_better=spec.higher_is_better,
        about=spec.about,
        probes=int(inside.sum()),
        scored=int(scored.sum()),
        unscored=_reasons(measured, inside & ~scored),
        mark=None if mark is None else sign * mark,
        mark_is_its_own=measured.mark is not None,
        auroc=auroc(held_out, done, photos),
        accuracy=accuracies[0],
        says_done_rightly=accuracies[1],
        says_not_rightly=accuracies[2],
        chosen=_chosen(held_out, sheet.choices("held_back"), photos),
        people=_chosen(turned, sheet.preferred, photos),
        by_type=_by_type(held_out, mark, sheet, inside),
        against={kind: _beside_right(held_out, sheet, kind, credit) for kind in _wrong_kinds(sheet)},
        ordering=_ordering(held_out, sheet),
        moves=_moves(held_out, spread, sheet),
        flips=_flips(held_out, mark, sheet),
        deaf=_beside_right(held_out, sheet, OTHER_WORDS, lambda right, other: _known(right, other, right == other)),
        mean=share(sign * held_out, photos, "no probe has this score"),
        spread=spread,
    )


def _reasons(measured: ProbeScores, missing: NDArray[np.bool_]) -> dict[str, int]:
    if not len(measured.reasons):
        return {"none": int(missing.sum())} if missing.any() else {}
    names, counts = np.unique(np.asarray(measured.reasons)[missing], return_counts=True)
    return {str(name): int(count) for name, count in sorted(zip(names, counts, strict=True), key=lambda item: -item[1])}


def _chosen(values: Numbers, pairs: Places, photos: Labels) -> Estimate:
    return share(credit(values[pairs[:, 0]], values[pairs[:, 1]]), photos[pairs[:, 0]])


def _by_type(held_out: Numbers, mark: float | None, sheet: Sheet, inside: NDArray[np.bool_]) -> dict[str, TypeCell]:
    types = np.array([probe.type for probe in sheet.probes])
    cells = {}
    for name in np.unique(types[inside]):
        these = np.where(types == name, held_out, np.nan)
        cells[str(name)] = TypeCell(
            auroc(these, sheet.done, sheet.photos),
            accuracy(these, sheet.done, mark, sheet.photos)[0] if mark is not None else nothing("no mark to pass"),
            int((inside & (types == name)).sum()),
            int((~np.isnan(these)).sum()),
        )
    return cells


def _ordering(held_out: Numbers, sheet: Sheet) -> dict[str, Estimate]:
    """By group (what stands before the stroke) and by family."""
    if not sheet.graded.size:
        return {}
    better, worse = sheet.graded.T
    earned = credit(held_out[better], held_out[worse])
    families = np.array([sheet.probes[index].family for index in worse])
    groups = np.array([family.partition("/")[0] for family in families])
    shares = {}
    for words in (groups, families):
        for word in np.unique(words):
            shares[str(word)] = share(earned[words == word], sheet.photos[worse][words == word])
    return shares


def _moves(held_out: Numbers, spread: float | None, sheet: Sheet) -> dict[str, Estimate]:
    if not spread:
        return {kind: nothing("all scores are equal") for kind in _harmless_kinds(sheet)}

    def moved(right: Numbers, other: Numbers) -> Numbers:
        return np.abs(other - right) / spread

    return {kind: _beside_right(held_out, sheet, kind, moved) for kind in _harmless_kinds(sheet)}


def _flips(held_out: Numbers, mark: float | None, sheet: Sheet) -> dict[str, Estimate]:
    if mark is None:
        return {}

    def flipped(right: Numbers, other: Numbers) -> Numbers:
        return _known(right, other, (right >= mark) != (other >= mark))

    return {kind: _beside_right(held_out, sheet, kind, flipped) for kind in _harmless_kinds(sheet)}


def _beside_right(
    held_out: Numbers, sheet: Sheet, kind: str, compare: Callable[[Numbers, Numbers], Numbers]
) -> Estimate:
    """Average a comparison between right outcomes and probes of a kind from the same edits."""
    indices = [index for index, probe in enumerate(sheet.probes) if probe.kind == kind and sheet.rights[index] >= 0]
    these = np.array(indices, dtype=np.int64)
    return share(compare(held_out[sheet.rights[these]], held_out[these]), sheet.photos[these])


def _known(one: Numbers, other: Numbers, answer: NDArray[np.bool_]) -> Numbers:
    """Return the answer as a number, NaN unless both values are finite."""
    return np.where(np.isnan(one + other), np.nan, answer)


def _harmless_kinds(sheet: Sheet) -> list[str]:
    return list(dict.fromkeys(probe.kind for probe in sheet.probes if probe.harmless))


def _wrong_kinds(sheet: Sheet) -> list[str]:
    """Kinds of probes with the edit not done, whose right outcome is there too."""
    beside_right = (probe for probe, right in zip(sheet.probes, sheet.rights, strict=True) if right >= 0)
    return list(dict.fromkeys(probe.kind for probe in beside_right if probe.done is False))


def worst_failures(measured: ProbeScores, card: ScoreCard, sheet: Sheet) -> tuple[MisjudgedProbe, ...]:
    """Return the held-out probes farthest on the wrong side, alternating edits and kinds."""
    if card.mark is None:
        return ()
    turned, mark = measured.turned, measured.sign * card.mark
    is_valid = ~sheet.tuning & ~np.isnan(turned) & ~np.isnan(sheet.done)
    wrong = np.flatnonzero(is_valid & ((turned >= mark) != (sheet.done == 1)))
    if not wrong.size:
        return ()
    ranks = np.full(turned.size, np.nan)
    ranks[is_valid] = rankdata(turned[is_valid]) / is_valid.sum()
    depth = np.where(sheet.done == 1, 1 - ranks, ranks)[wrong]
    order = [int(wrong[index]) for index in np.argsort(-depth, kind="stable")]
    return tuple(_failure(measured, sheet, index) for index in _varied(sheet, order)[:MOST_FAILURES])


def _varied(sheet: Sheet, order: list[int]) -> list[int]:
    """Each edit once, and each kind once, then each once more, and so on."""
    times: Counter[str] = Counter()
    rounds = []
    for index in order:
        mine = sheet.probes[index].edit, f"{sheet.probes[index].kind.partition('-')[0]}, a kind"
        times.update(mine)
        rounds.append(max(times[element] for element in mine))
    return [index for _, index in sorted(zip(rounds, order, strict=True), key=lambda item: item[0])]


def _failure(measured: ProbeScores, sheet: Sheet, index: int) -> MisjudgedProbe:
    probe = sheet.probes[index]
    return MisjudgedProbe(probe.id, probe.kind, probe.type, bool(probe.done), float(measured.values[index]))
