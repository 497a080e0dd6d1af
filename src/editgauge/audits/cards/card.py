"""The card of one score: how it does on probes with known truth. Pure statistics, whatever gives the numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from editgauge.audits.cards.measures import accuracy, auroc, best_mark, credit, nothing, share
from editgauge.audits.cards.sheet import Places, Sheet
from editgauge.stats.intervals import Labels, Numbers

if TYPE_CHECKING:
    from editgauge.audits.probes.probes import Split
    from editgauge.core.types import ScoreSpec
    from editgauge.stats.resampling import Estimate

OTHER_WORDS = "another_instruction"
"""The kind whose pictures are those of the right outcome, while something else is asked for."""


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


@dataclass(frozen=True, slots=True, eq=False)
class ProbeScores:
    """One score of every probe of a sheet."""

    protocol: str
    spec: ScoreSpec
    values: Numbers
    """NaN where there is none."""
    reasons: Sequence[str] = field(default=())
    """Why there is none, probe by probe; empty where there is one."""
    mark: float | None = None
    """Its own pass mark, where it has one."""


def score_card(measured: ProbeScores, sheet: Sheet, split: Split = "held_back") -> ScoreCard:
    """The card of a score over one half of the photographs; a mark that it lacks is chosen on the tuning half."""
    spec = measured.spec
    sign = 1.0 if spec.higher_is_better else -1.0
    turned = sign * measured.values
    mark = _mark(measured, turned, sheet, sign)
    inside = sheet.in_split(split) & sheet.known
    here = np.where(inside, turned, np.nan)
    done, photos = sheet.done, sheet.photos
    accuracies = accuracy(here, done, mark, photos) if mark is not None else (nothing("no mark to pass"),) * 3
    there = ~np.isnan(here)
    spread = float(here[there].std()) if there.any() else None
    return ScoreCard(
        protocol=measured.protocol,
        name=spec.name,
        higher_is_better=spec.higher_is_better,
        about=spec.about,
        probes=int(inside.sum()),
        scored=int(there.sum()),
        unscored=_reasons(measured, inside & ~there),
        mark=None if mark is None else sign * mark,
        mark_is_its_own=measured.mark is not None,
        auroc=auroc(here, done, photos),
        accuracy=accuracies[0],
        says_done_rightly=accuracies[1],
        says_not_rightly=accuracies[2],
        chosen=_chosen(here, sheet.choices(split), photos),
        people=_chosen(turned, sheet.preferred, photos),
        by_type=_by_type(here, mark, sheet, inside),
        against=_against(here, sheet),
        ordering=_ordering(here, sheet),
        moves=_moves(here, spread, sheet),
        flips=_flips(here, mark, sheet),
        deaf=_deaf(here, sheet),
        mean=share(sign * here, photos, "no probe has this score"),
        spread=spread,
    )


def _mark(measured: ProbeScores, turned: Numbers, sheet: Sheet, sign: float) -> float | None:
    if measured.mark is not None:
        return sign * measured.mark
    return best_mark(np.where(sheet.tuning, turned, np.nan), sheet.done)


def _reasons(measured: ProbeScores, missing: NDArray[np.bool_]) -> dict[str, int]:
    if not len(measured.reasons):
        return {"none": int(missing.sum())} if missing.any() else {}
    names, counts = np.unique(np.asarray(measured.reasons)[missing], return_counts=True)
    return {str(name): int(count) for name, count in sorted(zip(names, counts, strict=True), key=lambda each: -each[1])}


def _chosen(here: Numbers, pairs: Places, photos: Labels) -> Estimate:
    return share(credit(here[pairs[:, 0]], here[pairs[:, 1]]), photos[pairs[:, 0]])


def _by_type(here: Numbers, mark: float | None, sheet: Sheet, inside: NDArray[np.bool_]) -> dict[str, TypeCell]:
    types = np.array([probe.type for probe in sheet.probes])
    cells = {}
    for name in np.unique(types[inside]):
        these = np.where(types == name, here, np.nan)
        cells[str(name)] = TypeCell(
            auroc(these, sheet.done, sheet.photos),
            accuracy(these, sheet.done, mark, sheet.photos)[0] if mark is not None else nothing("no mark to pass"),
            int((inside & (types == name)).sum()),
            int((~np.isnan(these)).sum()),
        )
    return cells


def _against(here: Numbers, sheet: Sheet) -> dict[str, Estimate]:
    shares = {}
    for kind in dict.fromkeys(probe.kind for probe in sheet.probes if probe.done is False):
        these = _places(sheet, kind)
        if these.size:
            shares[kind] = share(credit(here[sheet.rights[these]], here[these]), sheet.photos[these])
    return shares


def _ordering(here: Numbers, sheet: Sheet) -> dict[str, Estimate]:
    """By group (what stands before the stroke) and by family."""
    if not sheet.graded.size:
        return {}
    better, worse = sheet.graded.T
    earned = credit(here[better], here[worse])
    families = np.array([sheet.probes[place].family for place in worse])
    groups = np.array([family.partition("/")[0] for family in families])
    shares = {}
    for words in (groups, families):
        for word in _words(words):
            shares[word] = share(earned[words == word], sheet.photos[worse][words == word])
    return shares


def _moves(here: Numbers, spread: float | None, sheet: Sheet) -> dict[str, Estimate]:
    if not spread:
        return {kind: nothing("all scores are equal") for kind in _harmless(sheet)}
    shares = {}
    for kind in _harmless(sheet):
        these = _places(sheet, kind)
        shares[kind] = share(np.abs(here[these] - here[sheet.rights[these]]) / spread, sheet.photos[these])
    return shares


def _flips(here: Numbers, mark: float | None, sheet: Sheet) -> dict[str, Estimate]:
    if mark is None:
        return {}
    shares = {}
    for kind in _harmless(sheet):
        these = _places(sheet, kind)
        before, after = here[sheet.rights[these]], here[these]
        turned = np.where(np.isnan(before + after), np.nan, (before >= mark) != (after >= mark))
        shares[kind] = share(turned, sheet.photos[these])
    return shares


def _deaf(here: Numbers, sheet: Sheet) -> Estimate:
    these = _places(sheet, OTHER_WORDS)
    before, after = here[sheet.rights[these]], here[these]
    return share(np.where(np.isnan(before + after), np.nan, before == after), sheet.photos[these])


def _harmless(sheet: Sheet) -> list[str]:
    return list(dict.fromkeys(probe.kind for probe in sheet.probes if probe.harmless))


def _places(sheet: Sheet, kind: str) -> Places:
    """The probes of a kind whose right outcome is there too."""
    wanted = [place for place, probe in enumerate(sheet.probes) if probe.kind == kind and sheet.rights[place] >= 0]
    return np.array(wanted, dtype=np.int64)


def _words(words: NDArray[np.str_]) -> list[str]:
    return [str(word) for word in np.unique(words) if word]
