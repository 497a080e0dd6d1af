"""What prefers one outcome to another: a score of a run, a blend of two, a judge that was asked about pairs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import combinations
from typing import Protocol

import numpy as np

from editgauge._render.svg import AxisRange, Plane, document
from editgauge._render.text import shortened
from editgauge._stats.intervals import Labels, Mean, Numbers, clustered_mean
from editgauge._stats.resampling import Estimate, all_equal
from editgauge.analysis.outcomes import OutcomeKey, ScoredOutcomes
from editgauge.benchmarks.attributes import EXTRA, SIDES, Attributes
from editgauge.edit_types import EDIT_TYPES
from editgauge.errors import BadInputError, EditGaugeError
from editgauge.results import Run
from editgauge.types import ScoreSpec


class Evaluator(Protocol):
    """Anything that can be asked which of two outcomes is better."""

    @property
    def protocol(self) -> str:
        """The protocol that it belongs to."""
        ...

    @property
    def spec(self) -> ScoreSpec:
        """What it is called, and which way is better."""
        ...

    def pair(self, first: OutcomeKey, second: OutcomeKey) -> tuple[float, float] | None:
        """What both are worth to it, where more is better; None when it has nothing to say of one of them."""
        ...


@dataclass(frozen=True, slots=True)
class Scored:
    """A score of a run."""

    protocol: str
    spec: ScoreSpec
    values: Mapping[OutcomeKey, float]

    def worth(self, key: OutcomeKey) -> float | None:
        """The score with its sign turned where lower is better; None for what is unscored."""
        value = self.values.get(key)
        return value if value is None or self.spec.higher_is_better else -value

    def pair(self, first: OutcomeKey, second: OutcomeKey) -> tuple[float, float] | None:
        """The two scores, more being better."""
        one, two = self.worth(first), self.worth(second)
        return None if one is None or two is None else (one, two)


@dataclass(frozen=True, slots=True)
class EvaluatorTarget:
    """One thing that an evaluator can be compared with: people's choices, their ratings, triplets of known truth."""

    name: str
    measure: str
    """What the number is."""
    chance: float
    """What guessing would reach."""
    ask: Callable[[Scored], Estimate]


def scored(scores: Iterable[tuple[str, ScoreSpec]], known: ScoredOutcomes) -> list[Scored]:
    """These scores of a run."""
    return [Scored(protocol, spec, known.values.get((protocol, spec.name), {})) for protocol, spec in scores]


def label(evaluator: Evaluator) -> str:
    """Its name among those of other protocols."""
    return f"{evaluator.protocol}/{evaluator.spec.name}"


def shares(credit: Numbers, sources: Labels, edit_types: Labels) -> tuple[Mean | None, dict[str, Mean]]:
    """The mean of what an evaluator earned, NaN for no answer: over all, None without any, and by edit type."""
    there = ~np.isnan(credit)
    types = {name: there & (edit_types == name) for name in EDIT_TYPES}
    by_type = {name: clustered_mean(credit[rows], sources[rows]) for name, rows in types.items() if rows.any()}
    return (clustered_mean(credit[there], sources[there]) if there.any() else None), by_type


def best_first(measured: Mean | Estimate | None) -> float:
    """A key to sort by: the highest first, what has no value last."""
    return math.inf if measured is None or measured.value is None else -measured.value


def margins(evaluator: Evaluator, pairs: Sequence[tuple[OutcomeKey, ...]]) -> Numbers:
    """By how much the first of every two outcomes is the better one; NaN, within this room, for no answer."""
    worths = (evaluator.pair(first, second) for first, second in pairs)
    return np.array([np.nan if both is None else both[0] - both[1] for both in worths], dtype=np.float64)


STEPS = 20
GAMMAS = tuple(step / STEPS for step in range(STEPS + 1))
WIDTH, PANEL = 460, 250
LEFT, RIGHT, TOP, BOTTOM = 54, 22, 40, 44
LONGEST_NAME = 28
STYLE = (
    "text{font:12px system-ui,sans-serif;fill:#333}.title{font-weight:600}.axis,.grid{fill:none;stroke:#999}"
    ".grid{stroke:#e4e4e4}.best-label{paint-order:stroke;stroke:#fff;stroke-width:4}.band{fill:#2a6fb0;fill-opacity:.16}.line{fill:none;stroke:#2a6fb0;stroke-width:2;"
    "stroke-linejoin:round}.best{fill:#2a6fb0}.chance{stroke:#b3541e;stroke-dasharray:5 4}.chance-label{fill:#b3541e}"
)


@dataclass(frozen=True, slots=True)
class GammaCurve:
    """Agreement with one thing that was asked, at every gamma."""

    asked: str
    measure: str
    chance: float
    points: tuple[Estimate, ...]
    best: float | None
    """The gamma of the highest point, picked by the same answers, so its height is optimistic; None without any."""


@dataclass(frozen=True, slots=True)
class Interpolation:
    """How agreement changes from one score (gamma 0) to the other (gamma 1)."""

    preservation: str
    modification: str
    gammas: tuple[float, ...]
    outcomes: int
    """Outcomes with both scores, by which they are scaled."""
    curves: tuple[GammaCurve, ...]


def interpolate(preservation: Scored, modification: Scored, targets: Sequence[EvaluatorTarget]) -> Interpolation:
    """Sweeps gamma and asks at every step."""
    shared = [key for key in preservation.values if key in modification.values]
    if not shared:
        raise BadInputError(f"No outcome has both {label(preservation)} and {label(modification)}.")
    kept, changed = _scaled(preservation, shared), _scaled(modification, shared)
    steps = [blended(kept, changed, gamma) for gamma in GAMMAS]
    curves = (_curve(each, steps) for each in targets)
    return Interpolation(label(preservation), label(modification), GAMMAS, len(shared), tuple(curves))


def blended(kept: dict[OutcomeKey, float], changed: dict[OutcomeKey, float], gamma: float) -> Scored:
    """The mix of two scaled scores as a score of its own."""
    values = {key: gamma * kept[key] + (1 - gamma) * changed[key] for key in kept}
    return Scored("blend", ScoreSpec(f"gamma={gamma:g}", True, (0.0, 1.0)), values)


def _curve(target: EvaluatorTarget, steps: Sequence[Scored]) -> GammaCurve:
    points = tuple(target.ask(step) for step in steps)
    heights = [(point.value, -place) for place, point in enumerate(points) if point.value is not None]
    best = GAMMAS[-max(heights)[1]] if heights else None
    return GammaCurve(target.name, target.measure, target.chance, points, best)


def _scaled(score: Scored, keys: Sequence[OutcomeKey]) -> dict[OutcomeKey, float]:
    turned = {key: score.values[key] * (1 if score.spec.higher_is_better else -1) for key in keys}
    low, high = min(turned.values()), max(turned.values())
    if low == high:
        raise BadInputError(
            f"{label(score)} is the same for all {len(keys)} outcomes: it cannot be scaled, nor blended."
        )
    return {key: (value - low) / (high - low) for key, value in turned.items()}


def interpolation_svg(interpolation: Interpolation) -> str:
    """An SVG document: a panel for everything that was asked, with its interval as a band and chance dashed."""
    panels = (
        f'<g transform="translate(0 {place * PANEL})">{_panel(curve, interpolation)}</g>'
        for place, curve in enumerate(interpolation.curves)
    )
    description = "; ".join(_spoken(curve, interpolation) for curve in interpolation.curves)
    spoken = f"Agreement from {interpolation.modification} to {interpolation.preservation}: {description}"
    return document(panels, WIDTH, PANEL * len(interpolation.curves), spoken, STYLE)


def _panel(curve: GammaCurve, interpolation: Interpolation) -> str:
    scale = _plane(curve)
    points = [(scale.x(gamma), point) for gamma, point in zip(interpolation.gammas, curve.points, strict=True)]
    return "".join(
        (
            f'<text class="title" x="{LEFT}" y="20">{escape(curve.asked)}</text>',
            f'<text x="{WIDTH - RIGHT}" y="20" text-anchor="end">{escape(curve.measure)}</text>',
            _frame(scale),
            _band(points, scale),
            _chance(curve.chance, scale),
            _path(points, scale),
            _best(curve, interpolation, scale),
            _ends(interpolation),
        )
    )


def _plane(curve: GammaCurve) -> Plane:
    """Upwards in steps of a fifth, wide enough for the curve, its band and chance."""
    ends = [end for point in curve.points for end in (point.value, point.low, point.high) if end is not None]
    low, high = min([curve.chance, *ends]), max([curve.chance, *ends])
    first, last = int(low * 5 // 1), int(-(-high * 5 // 1))
    up = AxisRange(first / 5, max(last, first + 1) / 5)
    return Plane(AxisRange(0, 1), up, LEFT, TOP, WIDTH - RIGHT, PANEL - BOTTOM)


def _frame(plane: Plane) -> str:
    fifths = (step / 5 for step in range(round(plane.up.low * 5), round(plane.up.high * 5) + 1))
    lines = plane.levels(fifths, "{:.1f}".format)
    return f'{lines}<path class="axis" d="M{LEFT} {PANEL - BOTTOM}H{WIDTH - RIGHT}"/>'


def _band(points: list[tuple[float, Estimate]], scale: Plane) -> str:
    ends = [(x, each.low, each.high) for x, each in points if each.low is not None and each.high is not None]
    if not ends:
        return ""
    upper = [f"{x:.1f} {scale.y(high):.1f}" for x, _, high in ends]
    lower = [f"{x:.1f} {scale.y(low):.1f}" for x, low, _ in reversed(ends)]
    return f'<path class="band" d="M{" L".join([*upper, *lower])}Z"/>'


def _path(points: list[tuple[float, Estimate]], scale: Plane) -> str:
    there = [f"{x:.1f} {scale.y(each.value):.1f}" for x, each in points if each.value is not None]
    return f'<path class="line" d="M{" L".join(there)}"/>' if there else ""


def _chance(chance: float, scale: Plane) -> str:
    at = scale.y(chance)
    label = f'<text class="chance-label" x="{WIDTH - RIGHT - 4}" y="{at - 5:.1f}" text-anchor="end">guessing</text>'
    return f'<path class="chance" d="M{LEFT} {at:.1f}H{WIDTH - RIGHT}"/>{label}'


def _best(curve: GammaCurve, interpolation: Interpolation, scale: Plane) -> str:
    if curve.best is None:
        return ""
    height = curve.points[interpolation.gammas.index(curve.best)].value or 0.0
    x, side = scale.x(curve.best), "end" if curve.best > 0.75 else "start" if curve.best < 0.25 else "middle"
    return (
        f'<circle class="best" cx="{x:.1f}" cy="{scale.y(height):.1f}" r="4"/>'
        f'<text class="best-label" x="{x:.1f}" y="{scale.y(height) - 9:.1f}" text-anchor="{side}">'
        f"{height:.2f} at γ = {curve.best:g}</text>"
    )


def _ends(interpolation: Interpolation) -> str:
    below = PANEL - BOTTOM + 17
    ends = interpolation.modification, interpolation.preservation
    first, last = (escape(shortened(each, LONGEST_NAME)) for each in ends)
    return (
        f'<text x="{LEFT}" y="{below}">0: {first}</text>'
        f'<text x="{WIDTH - RIGHT}" y="{below}" text-anchor="end">{last} :1</text>'
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2:.0f}" y="{PANEL - 10}" text-anchor="middle">γ, the share of preservation'
        "</text>"
    )


def _spoken(curve: GammaCurve, interpolation: Interpolation) -> str:
    if curve.best is None:
        return f"{curve.asked}, nothing can be determined"
    ends = [curve.points[0].value, curve.points[interpolation.gammas.index(curve.best)].value, curve.points[-1].value]
    first, best, last = ("none" if each is None else f"{each:.2f}" for each in ends)
    return f"{curve.asked}, {first} at gamma 0, {best} at {curve.best:g}, {last} at 1"


@dataclass(frozen=True, slots=True)
class AgreementOverRuns:
    """Agreement with one thing that was asked, run by run."""

    asked: str
    values: tuple[float | None, ...]
    variance: float | None
    """Over the runs (n - 1 below the line); None with fewer than two numbers."""

    @property
    def deviation(self) -> float | None:
        """The standard deviation, in the units of the agreement itself."""
        return None if self.variance is None else self.variance**0.5


@dataclass(frozen=True, slots=True)
class Stability:
    """One score over several runs that should agree."""

    score: str
    runs: int
    outcomes: int
    """Outcomes scored in all of them; only those count."""
    variance: Mean | None
    """The variance of an outcome's score over the runs, averaged over outcomes."""
    of_all: float | None
    """How much of all variance is within outcomes: 0 is steady, 1 nothing but chance; None when all are equal."""
    agreement: tuple[AgreementOverRuns, ...]


def stability(scores: Sequence[Scored], targets: Sequence[EvaluatorTarget], known: ScoredOutcomes) -> Stability:
    """How steady a score is, given once for every run."""
    if len(scores) < 2:
        raise ValueError("steadiness needs the score of at least two runs")
    shared = [key for key in scores[0].values if all(key in each.values for each in scores)]
    table = np.array([[each.values[key] for each in scores] for key in shared], dtype=np.float64)
    moved = tuple(_moved(each, scores) for each in targets)
    if not shared:
        return Stability(label(scores[0]), len(scores), 0, None, None, moved)
    return Stability(
        label(scores[0]),
        len(scores),
        len(shared),
        clustered_mean(table.var(axis=1, ddof=1), known.sources_of(shared)),
        None if all_equal(table.ravel()) else float(table.var(axis=1).mean() / table.var()),
        moved,
    )


def stability_over_runs(
    runs: Sequence[ScoredOutcomes], scores: Sequence[Scored], targets: Sequence[EvaluatorTarget]
) -> list[Stability]:
    """The steadiness of every score of the first run that the others have too."""
    moves = []
    for score in scores:
        name = (score.protocol, score.spec.name)
        again = [Scored(score.protocol, score.spec, run.values[name]) for run in runs[1:] if name in run.values]
        if len(again) == len(runs) - 1:
            moves.append(stability([score, *again], targets, runs[0]))
    if not moves:
        raise BadInputError("The runs have no score in common, so stability cannot be measured.")
    return moves


def _moved(target: EvaluatorTarget, scores: Sequence[Scored]) -> AgreementOverRuns:
    values = tuple(target.ask(each).value for each in scores)
    known_values = [value for value in values if value is not None]
    return AgreementOverRuns(
        target.name, values, float(np.var(known_values, ddof=1)) if len(known_values) > 1 else None
    )


@dataclass(frozen=True, slots=True)
class ListSimilarity:
    """How alike the lists of one side are, averaged over edits and over any two seeds."""

    side: str
    edits: int
    """With at least two lists."""
    joined: Mean
    each: Mean


def rouge_l(one: Sequence[str], two: Sequence[str]) -> tuple[float, float]:
    """ROUGE-L (F1) of two lists: `joined`, and `each` averaged over both directions; 1 is the same words.

    >>> rouge_l(["red cap", "tan shorts"], ["tan shorts", "red cap"])
    (0.5, 1.0)
    """
    try:
        from rouge_score.rouge_scorer import RougeScorer
    except ImportError as error:
        raise EditGaugeError("Comparing attributes needs rouge-score: pip install 'editgauge[captions]'") from error
    scorer = RougeScorer(["rougeL", "rougeLsum"], use_stemmer=False)
    texts = "\n".join(one), "\n".join(two)
    there, back = scorer.score(*texts), scorer.score(*reversed(texts))
    each = (there["rougeLsum"].fmeasure + back["rougeLsum"].fmeasure) / 2
    return float(there["rougeL"].fmeasure), float(each)


def list_similarity(extractions: Sequence[Mapping[str, Attributes]]) -> list[ListSimilarity]:
    """Compares what several extractions say of each edit, any two of them; empty when no edit is in two of them.

    Args:
        extractions: of every seed, edit to attributes, as `editgauge.benchmarks.attributes.read_attributes` gives them.
    """
    edits = dict.fromkeys(edit for each in extractions for edit in each)
    again = {edit: [each[edit] for each in extractions if edit in each] for edit in edits}
    several = {edit: lists for edit, lists in again.items() if len(lists) > 1}
    return [_alike(side, several) for side in SIDES] if several else []


def attributes_of(run: Run) -> dict[str, Attributes]:
    """Edit to the attributes that a run was given; edits without any are left out."""
    extras = {name: edit.get("extras", {}).get(EXTRA) for name, edit in run.edits.items()}
    return {name: Attributes(tuple(its["source"]), tuple(its["target"])) for name, its in extras.items() if its}


def _alike(side: str, again: Mapping[str, Sequence[Attributes]]) -> ListSimilarity:
    alike = [
        (edit, *rouge_l(getattr(one, side), getattr(two, side)))
        for edit, lists in again.items()
        for one, two in combinations(lists, 2)
    ]
    edits, joined, each = zip(*alike, strict=True)
    clusters = np.array(edits, dtype=np.str_)
    return ListSimilarity(
        side, len(again), clustered_mean(np.array(joined), clusters), clustered_mean(np.array(each), clusters)
    )
