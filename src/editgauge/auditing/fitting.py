"""Fits the models of the protocol `editgauge` on the tuning half of the probes, and writes them out as numbers.

    python -m editgauge.auditing.fitting PROBES MEASURED

PROBES is a folder made by `editgauge build probes`; what is seen in its probes is kept in the file MEASURED, so that a
second fit sees nothing anew. The held-back half is not looked at.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import GroupKFold

from editgauge.auditing.probe_features import ROLES, Measured, measure, read_measured
from editgauge.auditing.probes import Probe, read_probes
from editgauge.auditing.truths import TRUTHS
from editgauge.core.files import write_text
from editgauge.core.progress import say
from editgauge.perception.profiles import choose_models
from editgauge.perception.service import describe
from editgauge.protocols import own
from editgauge.protocols.own.features import FEATURES, fingerprint
from editgauge.protocols.own.model import FILE

if TYPE_CHECKING:
    from editgauge.protocols.own.features import Question

Floats = NDArray[np.float64]

SHAPE = {"max_depth": 2, "learning_rate": 0.06, "min_samples_leaf": 20, "l2_regularization": 1.0}
MOST_TREES = 200
"""How many of them are kept is decided by folds of photographs within the tuning half."""
RISING = {
    "done": (
        "expected_changed", "change_expected", "comes_after", "comes_gain", "goes_gain", "colour_gain", "colour_rank",
        "colour_rank_gain", "style_fit", "style_gain", "same_content", "new_content", "place_fit", "third_fit",
        "size_fit", "editval", "pixlens",
    ),
    "disturbed": FEATURES["disturbed"],
    "flawed": ("rim", "soft", "shines_through", "twice", "suffered"),
}  # fmt: skip
"""Features of which more never speaks against the claim: a prior worth many photographs."""
FALLING = {"done": ("goes_after", "stays_lost"), "flawed": ("surest",)}
FOLDS = 5
BETWEEN = ("jpeg-95", "jpeg-75", "jpeg-50", "shift-2", "shift-4")
"""Kinds that lie between others of their family, as severity 0.75 does: they are not looked at, to save time."""
DIGITS = 5


def fit(measured: Sequence[Measured], seed: int = 0) -> dict[str, Any]:
    """All three models as a JSON value, each with how it fared on photographs that it was not fitted on."""
    tuning = [each for each in measured if each.probe.split == "tuning"]
    return {
        "types": sorted({each.probe.type for each in tuning}),
        "models": {question: _fitted(question, tuning, seed) for question in FEATURES},
        "provenance": {
            "split": "tuning",
            "seed": seed,
            "shape": SHAPE,
            "probes": len({each.probe.id for each in tuning}),
            "photographs": len({each.probe.photo for each in tuning}),
            "models": {role: card["id"] for role, card in describe(choose_models("lite", {}, ROLES).models).items()},
            "command": "python -m editgauge.auditing.fitting PROBES MEASURED",
        },
    }


def _fitted(question: Question, tuning: Sequence[Measured], seed: int) -> dict[str, Any]:
    names = FEATURES[question]
    known = [(each, truth) for each in tuning if (truth := TRUTHS[question](each.probe)) is not None]
    if question == "flawed":  # where nothing changed the model is not asked
        known = [(each, truth) for each, truth in known if each.values[question]["beyond"] is not None]
    values = np.array([[_number(each.values[question][name]) for name in names] for each, _ in known])
    truths = np.array([truth for _, truth in known])
    photos = np.array([each.probe.photo for each, _ in known])
    directions = [(name in RISING[question]) - (name in FALLING.get(question, ())) for name in names]
    staged = np.zeros((MOST_TREES, len(truths)))
    for kept, left_out in GroupKFold(min(FOLDS, len(set(photos)))).split(values, truths, photos):
        trees = _grown(values[kept], truths[kept], directions, MOST_TREES, seed)
        for count, odds in enumerate(trees.staged_decision_function(values[left_out])):
            staged[count, left_out] = np.ravel(odds)
    best = int(np.argmin([_loss(odds, truths) for odds in staged]))
    unseen = staged[best]
    slope, intercept = _calibrated(unseen, truths)
    trees = _grown(values, truths, directions, best + 1, seed)
    told = [_told(predictor[0].nodes) for predictor in trees._predictors]
    start = float(trees._baseline_prediction.ravel()[0]) + sum(tree[0][0] for tree in told)
    return {
        "features": fingerprint(names),
        "unseen_photographs": _fares(slope * unseen + intercept, truths),
        "start": round(intercept + slope * start, DIGITS),
        "slope": round(slope, DIGITS),
        "trees": told,
    }


def _number(value: float | None) -> float:
    return float("nan") if value is None else value


def _doubled(values: Floats, truths: Floats) -> tuple[Floats, NDArray[np.int64], Floats]:
    """Every probe once as true and once as false, as much as it is so; both sides weigh the same in all."""
    weights = np.concatenate([truths / truths.sum(), (1 - truths) / (1 - truths).sum()]) * len(truths) / 2
    labels = np.repeat([1, 0], len(truths))
    counted = weights > 0
    return np.concatenate([values, values])[counted], labels[counted], weights[counted]


def _grown(
    values: Floats, truths: Floats, directions: Sequence[int], count: int, seed: int
) -> HistGradientBoostingClassifier:
    doubled, labels, weights = _doubled(values, truths)
    doubled[:, np.isnan(doubled).all(axis=0)] = 0  # a feature that nobody has tells nothing, and trips the binning
    trees = HistGradientBoostingClassifier(
        **SHAPE, max_iter=count, monotonic_cst=directions, early_stopping=False, random_state=seed
    )
    return trees.fit(doubled, labels, sample_weight=weights)


def _loss(odds: Floats, truths: Floats) -> float:
    """The log loss, both sides weighing the same."""
    doubled, labels, weights = _doubled(odds[:, np.newaxis], truths)
    return float(log_loss(labels, 1 / (1 + np.exp(-doubled[:, 0])), sample_weight=weights))


def _calibrated(odds: Floats, truths: Floats) -> tuple[float, float]:
    """By what the log-odds of unseen photographs must be stretched and shifted to be frequencies (Platt)."""
    doubled, labels, weights = _doubled(odds[:, np.newaxis], truths)
    line = LogisticRegression(C=1e6).fit(doubled, labels, sample_weight=weights)
    return float(line.coef_[0, 0]), float(line.intercept_[0])


def _fares(odds: Floats, truths: Floats) -> dict[str, float]:
    """AUROC of clearly true against clearly false ones, and the log loss, both sides weighing the same."""
    clear = (truths == 0) | (truths >= 1)
    return {
        "auroc": round(float(roc_auc_score(truths[clear] >= 1, odds[clear])), 3),
        "log_loss": round(_loss(odds, truths), 3),
        "probes": len(truths),
    }


def _told(nodes: NDArray[Any]) -> list[list[float]]:
    """One tree: an end is its value; a question has the mean of its ends, and where to go."""
    means: dict[int, float] = {}

    def mean(place: int) -> float:
        node = nodes[place]
        if node["is_leaf"]:
            return float(node["value"])
        left, right = nodes[int(node["left"])], nodes[int(node["right"])]
        told = (left["count"] * means[int(node["left"])] + right["count"] * means[int(node["right"])]) / node["count"]
        return float(told)

    for place in reversed(range(len(nodes))):  # children come after their parents
        means[place] = mean(place)
    return [_row(node, round(means[place], DIGITS)) for place, node in enumerate(nodes)]


def _row(node: Any, value: float) -> list[float]:
    if node["is_leaf"]:
        return [value]
    left, right = int(node["left"]), int(node["right"])
    missing = left if node["missing_go_to_left"] else right
    return [value, int(node["feature_idx"]), round(float(node["num_threshold"]), 6), left, right, missing]


def _is_asked(probe: Probe) -> bool:
    return probe.split == "tuning" and probe.kind not in BETWEEN and probe.severity != 0.75


def main() -> None:
    """Measures what is not measured yet, fits, and puts the numbers where the protocol reads them."""
    told = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    told.add_argument("probes", help="the folder of probes")
    told.add_argument("measured", help="the file of features; made when it is not there")
    given = told.parse_args()
    measure(given.probes, given.measured, [probe for probe in read_probes(given.probes) if _is_asked(probe)])
    result = fit(list(read_measured(given.probes, given.measured)))
    target = Path(str(own.__file__)).parent / FILE
    write_text(target, f"{json.dumps(result, separators=(',', ':'))}\n")
    for question, model in result["models"].items():
        say(f"{question}: {model['unseen_photographs']}", quiet=False)


if __name__ == "__main__":
    main()
