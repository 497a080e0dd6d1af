"""Compute the score card of an evaluator on probes with known labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from editgauge._stats.agreement import binary_rates, clustered_auroc
from editgauge._stats.intervals import Labels, Numbers, clustered_mean
from editgauge._stats.pairwise import Paired, paired_difference
from editgauge._stats.resampling import Estimate, as_estimate, estimate, resampled, safe_divide
from editgauge._util.images import Pixels, read_image, resize_image
from editgauge.analysis._evaluators import GAMMAS
from editgauge.audits._probe_set import OUTCOMES, RIGHT, Probe, Split
from editgauge.benchmarks import open_benchmark
from editgauge.errors import BadInputError, UnscorableError
from editgauge.types import Edit, ScoreSpec

if TYPE_CHECKING:
    from editgauge.results import Run

Places = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Sheet:
    """The truth of many probes as columns, and who is to be compared with whom."""

    probes: tuple[Probe, ...]
    photos: Labels
    done: Numbers
    """1, 0, or NaN if unknown."""
    tuning: NDArray[np.bool_]
    rights: Places
    """For every probe the place of its edit's right outcome; -1 without one."""
    graded: Places
    """Pairs inside graded families, the better one first."""
    has_truth: NDArray[np.bool_]
    """Is anything true of the probe by itself, or do people only compare it with others?"""
    preferred: Places
    """Pairs that people compared, the one that most of them prefer first."""
    agreed: Numbers
    """For each of these pairs, the share of people who do."""

    @classmethod
    def of(cls, probes: Sequence[Probe]) -> Sheet:
        """Build the sheet of probes."""
        right = {probe.edit: index for index, probe in enumerate(probes) if probe.kind == RIGHT}
        index_of = {probe.id: index for index, probe in enumerate(probes)}
        compared = [
            (index_of[probe.id], index_of[other], share)
            for probe in probes
            for other, share in probe.over.items()
            if other in index_of
        ]
        return cls(
            tuple(probes),
            np.array([probe.photo for probe in probes], dtype=np.str_),
            np.array([np.nan if probe.done is None else float(probe.done) for probe in probes]),
            np.array([probe.split == "tuning" for probe in probes], dtype=np.bool_),
            np.array([right.get(probe.edit, -1) for probe in probes], dtype=np.int64),
            _graded(probes, right),
            np.array([probe.is_known for probe in probes], dtype=np.bool_),
            np.array([(better, worse) for better, worse, _ in compared], dtype=np.int64).reshape(-1, 2),
            np.array([share for *_, share in compared], dtype=np.float64),
        )

    def in_split(self, split: Split) -> NDArray[np.bool_]:
        """Return a mask of the probes of one half."""
        return self.tuning if split == "tuning" else ~self.tuning

    def choices(self, split: Split) -> Places:
        """Pairs that were made so that one is better, that one first: right against wrong, and graded ones."""
        wrong = np.flatnonzero((self.done == 0) & (self.rights >= 0))
        pairs: Places = np.concatenate([np.stack([self.rights[wrong], wrong], axis=1), self.graded])
        selected: Places = pairs[self.in_split(split)[pairs[:, 0]]]
        return selected


def _graded(probes: Sequence[Probe], right: Mapping[str, int]) -> Places:
    families: dict[tuple[str, str], list[tuple[float, int]]] = {}
    for index, probe in enumerate(probes):
        if probe.family and probe.severity is not None:
            families.setdefault((probe.edit, probe.family), []).append((probe.severity, index))
    pairs = []
    for (edit, _), members in families.items():
        has_none = min(severity for severity, _ in members) > 0
        ordered = sorted([*members, *([(0.0, right[edit])] if has_none and edit in right else [])])
        pairs += [(better, worse) for (less, better), (more, worse) in combinations(ordered, 2) if less < more]
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


NOTHING = "nothing to compare"
ONE_SIDED = "good ones or bad ones are missing"


def nothing(reason: str = NOTHING) -> Estimate:
    """No answer, and why."""
    return Estimate(None, None, None, 0, 0, reason)


def share(earned: Numbers, photos: Labels, reason: str = NOTHING) -> Estimate:
    """Estimate a mean share."""
    is_valid = ~np.isnan(earned)
    if not is_valid.any():
        return nothing(reason)
    return as_estimate(clustered_mean(earned[is_valid], photos[is_valid], scale=(0.0, 1.0)))


def auroc(values: Numbers, good: Numbers, photos: Labels) -> Estimate:
    """Estimate the area under the ROC curve; ties count half.

    >>> auroc(np.array([3.0, 1.0, 2.0]), np.array([1.0, 0.0, 1.0]), np.arange(3)).value
    1.0
    """
    is_valid = ~np.isnan(values) & ~np.isnan(good)
    if _one_sided(good[is_valid]):
        return nothing(ONE_SIDED)
    return clustered_auroc(values[is_valid], good[is_valid], photos[is_valid])


def auroc_ahead(first: Numbers, second: Numbers, good: Numbers, photos: Labels) -> Estimate:
    """Return the difference of two AUROCs over the probes that have both values."""
    is_valid = ~np.isnan(first) & ~np.isnan(second) & ~np.isnan(good)
    if _one_sided(good[is_valid]):
        return nothing(ONE_SIDED)
    one, two = (_auroc_of_draws(values[is_valid], good[is_valid]) for values in (first, second))
    return _resampled(lambda weights: one(weights) - two(weights), photos[is_valid])


def _one_sided(good: Numbers) -> bool:
    return not good.any() or bool(good.all())


def _resampled(of_draws: Callable[[Numbers], Numbers], photos: Labels) -> Estimate:
    value = float(of_draws(np.ones((photos.size, 1)))[0])
    return estimate(value, resampled(of_draws, photos), photos.size, np.unique(photos).size)


def _auroc_of_draws(values: Numbers, good: Numbers) -> Callable[[Numbers], Numbers]:
    """Return a function that computes the area for every bootstrap draw."""
    _, level = np.unique(values, return_inverse=True)
    order = np.argsort(level, kind="stable")
    beginnings = np.flatnonzero(np.diff(level[order], prepend=-1))
    good_in_order = good[order][:, None]

    def of_draws(weights: Numbers) -> Numbers:
        drawn = weights[order]
        goods = np.add.reduceat(drawn * good_in_order, beginnings, axis=0)
        bads = np.add.reduceat(drawn * (1 - good_in_order), beginnings, axis=0)
        below = np.cumsum(bads, axis=0) - bads / 2
        return safe_divide((goods * below).sum(axis=0), goods.sum(axis=0) * bads.sum(axis=0))

    return of_draws


def accuracy(values: Numbers, good: Numbers, mark: float, photos: Labels) -> tuple[Estimate, Estimate, Estimate]:
    """Balanced accuracy at a mark, the share of good ones that reach it, and the share of bad ones that do not."""
    is_valid = ~np.isnan(values) & ~np.isnan(good)
    if not is_valid.any():
        return nothing(), nothing(), nothing()
    balanced = binary_rates(values[is_valid] >= mark, good[is_valid], photos[is_valid])
    return balanced.balanced_accuracy, balanced.recall, balanced.specificity


def best_mark(values: Numbers, good: Numbers) -> float | None:
    """Return the threshold with the highest balanced accuracy, or None.

    >>> best_mark(np.array([0.1, 0.2, 0.8, 0.9]), np.array([0.0, 0.0, 1.0, 1.0]))
    0.5
    """
    is_valid = ~np.isnan(values) & ~np.isnan(good)
    levels, level = np.unique(values[is_valid], return_inverse=True)
    goods = np.bincount(level, weights=good[is_valid], minlength=levels.size)
    bads = np.bincount(level, weights=1 - good[is_valid], minlength=levels.size)
    if levels.size < 2 or not goods.any() or not bads.any():
        return None
    bads_below = np.cumsum(bads)[:-1] / bads.sum()
    goods_above = 1 - np.cumsum(goods)[:-1] / goods.sum()
    best = int(np.argmax(bads_below + goods_above))
    return float((levels[best] + levels[best + 1]) / 2)


def credit(better: Numbers, worse: Numbers) -> Numbers:
    """1 where the better one has the higher value, 0.5 where they are equal, 0 where it is lower; NaN without both."""
    earned: Numbers = (np.sign(better - worse) + 1) / 2
    return earned


VERDICT, PASS = "edit", 0.5
"""The score that says whether the edit was carried out, and from which value on it says yes."""
Function = Callable[[Pixels, Pixels, Edit], float | None]
"""Of source image, edited image and edit; None for no answer."""


@dataclass(frozen=True, slots=True, eq=False)
class ProbeScores:
    """One score of every probe of a sheet."""

    protocol: str
    spec: ScoreSpec
    values: Numbers
    """NaN where there is none."""
    reasons: Sequence[str] = ()
    """Why there is none, probe by probe; empty where there is one."""
    mark: float | None = None
    """Its own pass mark, where it has one."""

    @property
    def label(self) -> str:
        """The score's name among those of other protocols."""
        return f"{self.protocol}/{self.spec.name}"

    @property
    def sign(self) -> float:
        """1 where higher values are better, else -1."""
        return 1.0 if self.spec.higher_is_better else -1.0

    @property
    def turned(self) -> Numbers:
        """The values with their sign changed where lower is better: more is better now."""
        return self.sign * self.values


def measured_in(run: Run, probes: Sequence[Probe]) -> list[ProbeScores]:
    """Every score of a run over the probes, in their order."""
    index_of = {probe.id: number for number, probe in enumerate(probes)}
    specs = {(name, spec.name): spec for name, entry in run.manifest.protocols.items() for spec in entry.scores}
    values = {key: np.full(len(probes), np.nan) for key in specs}
    reasons = {key: ["missing_outcome"] * len(probes) for key in specs}
    columns = ("protocol", "name", "edit", "value", "reason")
    for protocol, name, edit, value, reason in zip(
        *(run.scores[column].to_pylist() for column in columns), strict=True
    ):
        if edit in index_of and (protocol, name) in specs:
            reasons[protocol, name][index_of[edit]] = reason or ""
            values[protocol, name][index_of[edit]] = np.nan if value is None else value
    return [
        ProbeScores(protocol, spec, values[protocol, name], reasons[protocol, name], PASS if name == VERDICT else None)
        for (protocol, name), spec in specs.items()
    ]


def headlines_of(scores: Sequence[ProbeScores], sheet: Sheet) -> tuple[tuple[str, str], ...]:
    """Return one score per protocol: its `edit`, else the best one on the tuning photographs."""

    def separation(score: ProbeScores) -> float:
        return auroc(np.where(sheet.tuning, score.turned, np.nan), sheet.done, sheet.photos).value or 0.0

    names = []
    for protocol in dict.fromkeys(score.protocol for score in scores):
        mine = [score for score in scores if score.protocol == protocol]
        verdicts = [score for score in mine if score.spec.name == VERDICT]
        names.append((protocol, (verdicts or [max(mine, key=separation)])[0].spec.name))
    return tuple(names)


def measured_by(
    function: Function, folder: str | Path, probes: Sequence[Probe], spec: ScoreSpec, mark: float | None = None
) -> ProbeScores:
    """Score every probe with a function; `UnscorableError`, None and non-finite values count as unscored.

    Args:
        function: takes the source image, the edited image in the same size, and the edit.
        folder: where the probes lie.
        probes: which of them to ask.
        spec: what the number is called, and whether more is better.
        mark: from which value on it says that the edit was carried out, if it says so at all.

    """
    edits = {edit.id: edit for edit in open_benchmark(Path(folder)).edits}
    values, reasons = np.full(len(probes), np.nan), [""] * len(probes)
    for index, probe in enumerate(probes):
        source = read_image(edits[probe.id].source.path)
        edited = read_image(Path(folder) / OUTCOMES / f"{probe.id}.png")
        try:
            value = function(source, resize_image(edited, source.shape[1], source.shape[0]), edits[probe.id])
        except UnscorableError as unable:
            value, reasons[index] = None, unable.reason
        if value is None:
            reasons[index] = reasons[index] or "not_applicable"
        elif not np.isfinite(value):
            reasons[index] = "crashed"
        else:
            values[index] = value
    return ProbeScores("function", spec, values, reasons, mark)


@dataclass(frozen=True, slots=True)
class Blend:
    """Two scores mixed: gamma times preservation, the rest modification, both scaled to 0 … 1."""

    preservation: str
    modification: str
    gamma: float
    """The weight that chooses best on the tuning photographs."""
    pair_accuracy: Estimate
    """Of the held-out pairs with a known better one, the share chosen rightly at that weight."""
    auroc: Estimate
    """Of `edit done` on the held-out photographs, at that weight."""
    curve: tuple[float | None, ...]
    """The held-out share at every gamma from 0 to 1 in steps of 0.05; only to be looked at."""
    ahead: Paired | None
    """Held-out pairs chosen rightly by the mix, against the better of the two alone."""


def blend(preservation: ProbeScores, modification: ProbeScores, sheet: Sheet) -> Blend:
    """Find the best mix of two scores over the probes that have both."""
    first, changed = _scaled(preservation, modification), _scaled(modification, preservation)
    tuning, held_back = sheet.choices("tuning"), sheet.choices("held_back")
    photos = sheet.photos
    heights = [_share(gamma * first + (1 - gamma) * changed, tuning) for gamma in GAMMAS]
    ranked = [(height, -index) for index, height in enumerate(heights) if height is not None]
    if not ranked:
        raise BadInputError(f"No pair of tuning probes has both {preservation.label} and {modification.label}.")
    gamma = GAMMAS[-max(ranked)[1]]
    mixed = gamma * first + (1 - gamma) * changed
    alone = first if (heights[-1] or 0) > (heights[0] or 0) else changed
    name = (preservation if alone is first else modification).label
    earned = [credit(element[held_back[:, 0]], element[held_back[:, 1]]) for element in (mixed, alone)]
    values = np.where(sheet.in_split("held_back"), mixed, np.nan)
    return Blend(
        preservation.label,
        modification.label,
        gamma,
        share(earned[0], photos[held_back[:, 0]]),
        auroc(values, sheet.done, photos),
        tuple(_share(item * first + (1 - item) * changed, held_back) for item in GAMMAS),
        paired_difference(earned[0], earned[1], photos[held_back[:, 0]], ("mix", name)),
    )


def _share(values: Numbers, pairs: Places) -> float | None:
    earned = credit(values[pairs[:, 0]], values[pairs[:, 1]])
    return float(np.nanmean(earned)) if not np.isnan(earned).all() else None


def _scaled(score: ProbeScores, other: ProbeScores) -> Numbers:
    """More is better, 0 to 1 over the probes that have both scores."""
    both = np.where(np.isnan(other.values), np.nan, score.turned)
    if np.isnan(both).all():
        raise BadInputError(f"No probe has both {score.label} and {other.label}.")
    low, high = np.nanmin(both), np.nanmax(both)
    if low == high:
        raise BadInputError(f"{score.label} is the same for all probes: it cannot be blended.")
    scaled: Numbers = (both - low) / (high - low)
    return scaled


OTHER_INSTRUCTION = "another_instruction"
"""The kind whose pictures are those of the right outcome, while something else is asked for."""
MAX_FAILURES = 12


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
    sensitivity: Estimate
    specificity: Estimate
    pair_accuracy: Estimate
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
    unchanged_rate: Estimate
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
    inside = ~sheet.tuning & sheet.has_truth
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
        sensitivity=accuracies[1],
        specificity=accuracies[2],
        pair_accuracy=_pair_accuracy(held_out, sheet.choices("held_back"), photos),
        people=_pair_accuracy(turned, sheet.preferred, photos),
        by_type=_by_type(held_out, mark, sheet, inside),
        against={kind: _beside_right(held_out, sheet, kind, credit) for kind in _wrong_kinds(sheet)},
        ordering=_ordering(held_out, sheet),
        moves=_moves(held_out, spread, sheet),
        flips=_flips(held_out, mark, sheet),
        unchanged_rate=_beside_right(
            held_out, sheet, OTHER_INSTRUCTION, lambda right, other: _known(right, other, right == other)
        ),
        mean=share(sign * held_out, photos, "no probe has this score"),
        spread=spread,
    )


def _reasons(measured: ProbeScores, missing: NDArray[np.bool_]) -> dict[str, int]:
    if not len(measured.reasons):
        return {"none": int(missing.sum())} if missing.any() else {}
    names, counts = np.unique(np.asarray(measured.reasons)[missing], return_counts=True)
    return {str(name): int(count) for name, count in sorted(zip(names, counts, strict=True), key=lambda item: -item[1])}


def _pair_accuracy(values: Numbers, pairs: Places, photos: Labels) -> Estimate:
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
    """Return the shares of rightly ordered pairs by group and by family."""
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
    return tuple(_failure(measured, sheet, index) for index in _varied(sheet, order)[:MAX_FAILURES])


def _varied(sheet: Sheet, order: list[int]) -> list[int]:
    """Order failures so that edits and kinds alternate."""
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
