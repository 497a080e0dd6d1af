"""Fits the models of `editgauge` on rated outcomes, and evaluates them on unseen photographs and methods."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from sklearn.model_selection import GroupKFold

from editgauge.audits._measured import WEIGHTS, MeasuredOutcome
from editgauge.protocols.editgauge import FALLBACK_NO, FALLBACK_YES
from editgauge.protocols.editgauge._calibration import combine_overall
from editgauge.protocols.editgauge._further import JUDGED, WORDS
from editgauge.protocols.editgauge._models import FEATURES, FittedModels, Model, fingerprint, read_fitted
from editgauge.protocols.editgauge._request import MAX_UNTOUCHED_CHANGE, MIN_VISIBLE_CHANGE
from editgauge.protocols.verdict import decide_done

Floats = NDArray[np.float64]
Bound = tuple[float | None, float | None]

GOOD = 0.5
"""Mean rating from which people call an outcome good."""
RISING = frozenset({
    "presence", "presence_gain", "new_seen", "new_by_both", "gone", "replaced", "color_gain", "color_rank",
    "color_rank_gain", "style_fit", "style_gain", "place_fit", "third_fit", "size_fit",
})  # fmt: skip
"""Features that never speak against the edit being done: their weights are not negative."""
FIXED_WEIGHTS = {"text_fit": 2.0, "text_gain": 1.0, "count_wrong": -3.0, WORDS: 1.5, JUDGED: 1.5}
"""Weights that are set, because hardly any rated outcome has these features: requested text that can be read passes,
a wrong count does not. No joint embedder was available; the judge's weight lies between those fitted for two judges."""
MIN_GONE_WEIGHT = 1.0
"""Least weight of a removed object: too few rated removals inform it."""
MAX_UNSEEN_LOG_ODDS = -0.5
"""Highest log-odds when a requested object is not seen at all: no pass without seeing it."""
FALLING_QUALITY = ("novelty", "most_changed", "clipped", "detail_lost", "detail_gained")
"""Features that never raise quality, so that no disturbance does."""
L2 = 0.5
"""Shrinkage of standardized weights."""
TOKEN_L2 = 40.0
"""Shrinkage of the weights of the changed region's token, scaled to unit variance over all of its numbers."""
QUALITY_L2 = 4.0
FALLBACK_L2 = 10.0
"""Chosen for few wrong answers on unseen photographs: half of it answers 1.5% more outcomes, with more mistakes."""
FOLDS = 8
METHOD_FOLDS = 4
"""Folds of photographs where the method is unseen as well: one fit for each of them and each method."""
REPEATS = 3
"""Ways to divide the photographs into folds."""
DIGITS = 4
CONFIDENCE = ("high", 0.95), ("medium", 0.8), ("low", 0.5), ("low", 0.0)
"""Levels with their least share of right answers on unseen photographs; low answers are counted in two groups."""
MIN_ANSWERS = 12
"""Answers needed to establish a level."""
NEVER = 1.01
"""Threshold of a level that no answer reaches."""


def fit(records: Sequence[MeasuredOutcome]) -> dict[str, Any]:
    """Fit every model; return their JSON form, without provenance and confidence."""
    request, contained = fit_success(records)
    return {
        "models": {
            "edit": _linear("edit", fit_edit(records)),
            "success": _linear("success", request),
            "contained": _linear("contained", contained),
            "kept": _linear("kept", fit_kept(records)),
            "quality": fit_quality(records),
            "fallback": fit_fallback(records),
        },
        "confidence": [],
        "provenance": {},
    }


def _linear(name: Model, numbers: Floats) -> dict[str, Any]:
    return {
        "features": fingerprint(FEATURES[name]),
        "intercept": round(float(numbers[-1]), DIGITS),
        "weights": {
            feature: round(float(value), DIGITS) for feature, value in zip(FEATURES[name], numbers, strict=False)
        },
    }


def design(records: Sequence[MeasuredOutcome], name: Model) -> Floats:
    """Return a row per outcome and a column per feature; 0 for missing values, which add nothing.

    If the request was not looked for, only `untouched` counts among its features.
    """
    stored = "success" if name == "edit" else name
    rows = [
        [
            (record.values[stored].get(feature) or 0.0)
            if record.is_looked_for or name not in ("edit", "success") or feature == "untouched"
            else 0.0
            for feature in FEATURES[name]
        ]
        for record in records
    ]
    return np.array(rows, np.float64).reshape(len(records), len(FEATURES[name]))


def fit_edit(records: Sequence[MeasuredOutcome]) -> Floats:
    """Fit whether the requested change is there, on a judge's answers, accepted outcomes and probes; intercept last."""
    usable = [
        record for record in records if "done" in record.labels and record.is_looked_for and not record.further_steps
    ]
    values = design(usable, "edit")
    people = np.array([float(record.labels.get("success", 0.0) >= GOOD) for record in usable])
    target = np.maximum(people, [record.labels["done"] for record in usable])
    weights = np.array([record.weight for record in usable])
    bounds = [*(_request_bound(name) for name in FEATURES["edit"]), (None, MAX_UNSEEN_LOG_ODDS / 2)]
    bounds[FEATURES["edit"].index("gone")] = (1.5 * MIN_GONE_WEIGHT, None)
    return _fit_logistic(values, target, weights, bounds, L2)


def fit_success(records: Sequence[MeasuredOutcome]) -> tuple[Floats, Floats]:
    """Fit the product of two probabilities: the requested change is there, and nothing else was redrawn.

    The intercept of the first alone stands for a request that was not looked for, so every outcome informs the second.
    """
    usable = [record for record in records if "success" in record.labels and not record.further_steps]
    request, contained = design(usable, "success"), design(usable, "contained")
    rating = np.array([record.labels["success"] for record in usable])
    target = (rating + (rating >= GOOD)) / 2  # degrees from the mean, the pass mark from the majority
    weights = np.array([record.weight for record in usable])
    local = np.array([record.is_local for record in usable])
    center, spread = contained.mean(axis=0), np.maximum(contained.std(axis=0), 1e-6)
    scaled = (contained - center) / spread
    first = request.shape[1]
    shrunk = np.ones(first + scaled.shape[1] + 2)
    shrunk[[first, -1]] = 0

    def loss(numbers: Floats) -> tuple[float, Floats]:
        change = _probability(request, numbers[: first + 1])
        containment = np.where(local, _probability(scaled, numbers[first + 1 :]), 1)
        chance = np.clip(change * containment, 1e-6, 1 - 1e-6)
        value = -(weights * (target * np.log(chance) + (1 - target) * np.log(1 - chance))).sum()
        slope = -weights * (target / chance - (1 - target) / (1 - chance))
        of_request = slope * containment * change * (1 - change)
        of_contained = local * slope * change * containment * (1 - containment)
        steps = [request.T @ of_request, [of_request.sum()], scaled.T @ of_contained, [of_contained.sum()]]
        shrinkage = L2 * shrunk * numbers
        return float(value + (shrinkage * numbers).sum()), np.concatenate(steps) + 2 * shrinkage

    bounds = [*(_request_bound(name) for name in FEATURES["success"]), (None, MAX_UNSEEN_LOG_ODDS / 2)]
    bounds += [*([(None, 0.0)] * scaled.shape[1]), (None, None)]
    numbers = minimize(loss, _start(bounds), jac=True, method="L-BFGS-B", bounds=bounds).x
    return numbers[: first + 1], _unscaled(numbers[first + 1 :], center, spread)


def fit_kept(records: Sequence[MeasuredOutcome]) -> Floats:
    """Fit that nothing else was changed, on a judge's answers about over-editing; no feature raises it."""
    usable = [record for record in records if "kept" in record.labels and record.kept_severities is not None]
    target = np.array([record.labels["kept"] for record in usable])
    bounds: list[Bound] = [*([(None, 0.0)] * len(FEATURES["kept"])), (None, None)]
    return _fit_logistic(design(usable, "kept"), target, np.ones(len(usable)), bounds, L2, standardize=True)


def fit_quality(records: Sequence[MeasuredOutcome]) -> dict[str, Any]:
    """Fit people's ratings of quality on a few features and the token of the changed region."""
    usable = [record for record in records if "quality" in record.labels]
    values, tokens = design(usable, "quality"), token_matrix(usable)
    target = np.array([record.labels["quality"] for record in usable])
    weights = np.array([record.weight for record in usable])
    spread, token_scale = np.maximum(values.std(axis=0), 1e-6), max(float(tokens.std()), 1e-6)
    columns = np.hstack([values / spread, tokens / token_scale])
    shrinkage = np.concatenate([np.full(values.shape[1], QUALITY_L2), np.full(tokens.shape[1], TOKEN_L2), [0.0]])
    bounds: list[Bound] = [(None, 0.0) if name in FALLING_QUALITY else (None, None) for name in FEATURES["quality"]]
    bounds += [(None, None)] * (tokens.shape[1] + 1)
    numbers = _minimize_logistic(columns, target, weights, bounds, shrinkage)
    scaled = np.append(numbers[: values.shape[1]] / spread, numbers[-1])
    token_weights = numbers[values.shape[1] : -1] / token_scale
    is_changed = tokens.any(axis=1)
    return _linear("quality", scaled) | {
        "token_weights": [round(float(value), DIGITS) for value in token_weights],
        "token_offset": round(float((tokens[is_changed] @ token_weights).mean()), DIGITS) if is_changed.any() else 0.0,
    }


def token_matrix(records: Sequence[MeasuredOutcome]) -> Floats:
    """Return the tokens of changed regions, one row per outcome; zeros where nothing changed."""
    length = next((len(record.token) for record in records if record.token), 1)
    return np.array([record.token or [0.0] * length for record in records], np.float64)


def fit_fallback(records: Sequence[MeasuredOutcome]) -> dict[str, Any]:
    """Fit success on where and how much changed and on the kind of edit: one piecewise linear curve per feature."""
    usable = [record for record in records if "success" in record.labels and record.method not in WEIGHTS]
    rating = np.array([record.labels["success"] for record in usable])
    target = (rating + (rating >= GOOD)) / 2
    columns: list[Floats] = []
    knots: dict[str, list[float]] = {}
    for name in FEATURES["fallback"]:
        values = np.array([record.values["fallback"][name] for record in usable], np.float64)
        knots[name] = _knots(values)
        columns += [np.maximum(0, values - knot) for knot in knots[name]]
    hinges = np.stack(columns, axis=1)
    center, spread = np.nanmean(hinges, axis=0), np.maximum(np.nanstd(hinges, axis=0), 1e-6)
    scaled = np.nan_to_num((hinges - center) / spread)  # a missing value adds nothing
    bounds: list[Bound] = [(None, None)] * (scaled.shape[1] + 1)
    numbers = _minimize_logistic(
        scaled, target, np.ones(len(usable)), bounds, np.append(np.full(scaled.shape[1], FALLBACK_L2), 0.0)
    )
    slopes = numbers[:-1] / spread
    starts = np.cumsum([len(bends) for bends in knots.values()])[:-1]
    parts = zip(knots.items(), np.split(slopes, starts), np.split(center, starts), strict=True)
    curves = {
        name: {
            "knots": [round(knot, DIGITS) for knot in bends],
            "slopes": [round(float(slope), DIGITS) for slope in bend_slopes],
            "offset": round(float(bend_slopes @ means), DIGITS),
        }
        for (name, bends), bend_slopes, means in parts
    }
    return {
        "features": fingerprint(FEATURES["fallback"]),
        "intercept": round(float(numbers[-1]), DIGITS),
        "curves": curves,
    }


def _knots(values: Floats) -> list[float]:
    """Return where a feature's curve bends: its least value and its terciles; one knot for a yes or no."""
    finite = values[np.isfinite(values)]
    if len(np.unique(finite)) <= 2:
        return [float(finite.min(initial=0.0))]
    return [float(knot) for knot in np.unique(np.quantile(finite, (0, 1 / 3, 2 / 3)))]


def _request_bound(name: str) -> Bound:
    """Return the least and the greatest weight of a feature of the request."""
    if name in FIXED_WEIGHTS:
        return FIXED_WEIGHTS[name], FIXED_WEIGHTS[name]
    if name == "gone":
        return MIN_GONE_WEIGHT, None
    if name == "asks_presence":
        return None, MAX_UNSEEN_LOG_ODDS / 2
    return (0.0, None) if name in RISING else (None, 0.0) if name == "untouched" else (None, None)


def _fit_logistic(
    values: Floats, target: Floats, weights: Floats, bounds: Sequence[Bound], l2: float, *, standardize: bool = False
) -> Floats:
    """Fit a bounded logistic model with shrinkage; the intercept comes last and is not shrunk."""
    spread = np.maximum(values.std(axis=0), 1e-6) if standardize else np.ones(values.shape[1])
    numbers = _minimize_logistic(values / spread, target, weights, bounds, np.append(np.full(values.shape[1], l2), 0.0))
    return np.append(numbers[:-1] / spread, numbers[-1])


def _minimize_logistic(
    values: Floats, target: Floats, weights: Floats, bounds: Sequence[Bound], shrinkage: Floats
) -> Floats:
    def loss(numbers: Floats) -> tuple[float, Floats]:
        chance = np.clip(_probability(values, numbers), 1e-6, 1 - 1e-6)
        value = -(weights * (target * np.log(chance) + (1 - target) * np.log(1 - chance))).sum()
        slope = weights * (chance - target)
        penalty = shrinkage * numbers
        return float(value + (penalty * numbers).sum()), np.append(values.T @ slope, slope.sum()) + 2 * penalty

    return np.asarray(minimize(loss, _start(bounds), jac=True, method="L-BFGS-B", bounds=list(bounds)).x)


def _start(bounds: Sequence[Bound]) -> Floats:
    """Return zeros moved into their bounds."""
    lower = [-np.inf if low is None else low for low, _ in bounds]
    upper = [np.inf if high is None else high for _, high in bounds]
    return np.clip(np.zeros(len(bounds)), lower, upper)


def _probability(values: Floats, numbers: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-np.clip(values @ numbers[:-1] + numbers[-1], -30, 30))))


def _unscaled(numbers: Floats, center: Floats, spread: Floats) -> Floats:
    weights = numbers[:-1] / spread
    return np.append(weights, numbers[-1] - weights @ center)


@dataclass(frozen=True, slots=True)
class FittedScores:
    """Scores of outcomes as the protocol would give them; not a number where it gives none."""

    edit: Floats
    success: Floats
    kept: Floats
    quality: Floats

    @property
    def overall(self) -> Floats:
        """Success and quality combined."""
        return np.array(
            [
                combine_overall(success, quality).value if np.isfinite(success) else np.nan
                for success, quality in zip(self.success, self.quality, strict=True)
            ]
        )


def predict(records: Sequence[MeasuredOutcome], models: FittedModels) -> FittedScores:
    """Score measured outcomes with fitted models, by the rules of the protocol."""
    rows = [_predict_one(record, models) for record in records]
    return FittedScores(*np.array(rows, np.float64).reshape(-1, 4).T)


def _predict_one(record: MeasuredOutcome, models: FittedModels) -> tuple[float, float, float, float]:
    values = {name: dict(numbers) for name, numbers in record.values.items()}
    request = values["success"]
    edit = success = float("nan")
    untouched = request["untouched"] or 0.0
    if record.is_looked_for:
        steps = [request, *record.further_steps]
        edit = min(models.linear["edit"].predict(step).value for step in steps)
        contained = models.linear["contained"].predict(values["contained"]).value if record.is_local else 1.0
        success = min(models.linear["success"].predict(step).value for step in steps) * contained
    else:
        if untouched > 1 - MAX_UNTOUCHED_CHANGE / MIN_VISIBLE_CHANGE and max(record.severities.values()) == 0:
            edit = models.linear["edit"].predict(request).value
        fallback = models.fallback.predict(values["fallback"]).value
        if record.is_local and not FALLBACK_NO <= fallback <= FALLBACK_YES:
            success = fallback
    severities = record.kept_severities
    preserved = float("nan") if severities is None else models.kept(values["kept"], severities).value
    token = None if record.token is None else np.array(record.token, np.float32)
    return edit, success, preserved, models.quality(values["quality"], token, record.severities).value


def _folds(
    records: Sequence[MeasuredOutcome], seed: int, count: int = FOLDS
) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    photos = np.array([record.photo for record in records])
    folds = GroupKFold(min(count, len(set(photos))), shuffle=True, random_state=seed)
    yield from folds.split(photos, photos, photos)


def as_models(content: dict[str, Any]) -> FittedModels:
    """Return fitted models from their JSON form."""
    return read_fitted(json.dumps(content))


def out_of_fold(records: Sequence[MeasuredOutcome], *, unseen_methods: bool, seed: int = 0) -> FittedScores:
    """Score every outcome with a fit that saw neither its photograph nor, if requested, its method."""
    columns = np.full((4, len(records)), np.nan)
    for train, test in _folds(records, seed, METHOD_FOLDS if unseen_methods else FOLDS):
        methods = sorted({records[row].method for row in test}) if unseen_methods else [None]
        for method in methods:
            rows = [row for row in test if method is None or records[row].method == method]
            models = as_models(fit([records[row] for row in train if method is None or records[row].method != method]))
            scores = predict([records[row] for row in rows], models)
            columns[:, rows] = np.stack([scores.edit, scores.success, scores.kept, scores.quality])
    return FittedScores(*columns)


def confidence_levels(records: Sequence[MeasuredOutcome], scores: Sequence[FittedScores]) -> list[dict[str, Any]]:
    """Return thresholds on the probability that people agree, with the measured share of right answers.

    People agree with a yes if their mean rating of success is at least one half, and with a no otherwise.
    """
    levels = []
    rated = np.array([record.method not in WEIGHTS and "success" in record.labels for record in records])
    good = np.array([record.labels.get("success", 0.0) >= GOOD for record in records])
    for answer in ("yes", "no"):
        agreement, right = [], []
        for fold in scores:
            rows = rated & (answers(fold) == answer)
            agreement.append(np.where(answer == "yes", fold.success, 1 - fold.success)[rows])
            right.append((good == (answer == "yes"))[rows])
        levels += _levels(answer, np.concatenate(agreement), np.concatenate(right), len(scores))
    return levels


def answers(scores: FittedScores) -> NDArray[np.str_]:
    """Return the verdict's answer for every outcome."""
    rows = zip(*(_or_none(column) for column in (scores.edit, scores.success, scores.kept)), strict=True)
    return np.array([decide_done(*row) for row in rows])


def _or_none(column: Floats) -> list[float | None]:
    return [float(value) if np.isfinite(value) else None for value in column]


def _levels(answer: str, agreement: Floats, right: NDArray[np.bool_], repeats: int) -> list[dict[str, Any]]:
    """Return the lowest threshold of each level at which answers above it are right often enough."""

    def count(lower: float, upper: float) -> tuple[int, int]:
        """Return right answers and all answers; every outcome was answered once for each division into folds."""
        rows = (agreement >= lower) & (agreement < upper)
        return round(right[rows].sum() / repeats), round(rows.sum() / repeats)

    def is_reached(least: float, lower: float, upper: float) -> bool:
        correct, total = count(lower, upper)
        return total >= MIN_ANSWERS and correct >= least * total

    candidates = [float(value) for value in np.unique(np.round(agreement, 2))]
    levels, upper = [], np.inf
    for level, least in CONFIDENCE:
        reached = (lower for lower in candidates if lower < upper and is_reached(least, lower, upper))
        lower = next(reached, NEVER) if least else 0.0
        correct, total = count(lower, upper)
        levels.append({"answer": answer, "level": level, "threshold": lower, "right": correct, "total": total})
        upper = min(upper, lower)
    return levels
