"""Fits the models of the protocol `editgauge` on the tuning half of the probes, and writes them out as numbers.

    python -m editgauge.audits.fit.fit PROBES MEASURED [QUESTION ...]

PROBES is a folder made by `editgauge build probes`; what is seen in its probes is kept in the file MEASURED, so that a
second fit sees nothing again. Without questions both models are fitted; else those alone, on the probes that tell
about them, and the others stay as they are. The held-out half is not looked at. `editgauge.audits.fit.ratings` fits
the models of `edit` and `quality`.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupKFold

from editgauge._util.files import write_text
from editgauge._util.progress import log_info
from editgauge.audits.fit.features import ROLES, ProbeFeatures, measure, read_measured
from editgauge.audits.fit.trees import DIGITS, SHAPE, doubled, grown, weighed
from editgauge.audits.probes.probes import RIGHT, Probe, read_probes
from editgauge.models._factory import describe
from editgauge.models.profiles import choose_models
from editgauge.protocols import editgauge as own
from editgauge.protocols.editgauge.features import FEATURES, fingerprint
from editgauge.protocols.editgauge.model import FILE, TREES

if TYPE_CHECKING:
    from editgauge.audits.fit.trees import Floats
    from editgauge.protocols.editgauge.features import Question

MOST_TREES = 200
"""How many of them are kept is decided by folds of photographs within the tuning half."""
RISING = {
    "disturbed": FEATURES["disturbed"],
    "flawed": (
        "rim", "rim_gain", "rim_change", "step", "soft", "soft_beside", "blurred", "shines_through", "left_over",
        "uneven", "beyond_near", "misfit", "again",
    ),
}  # fmt: skip
"""Features of which more never speaks against the claim: a prior worth many photographs."""
RAMPS = {"disturbed": 0.1, "flawed": 0.25}
"""How gently answers pass from one side of a threshold to the other: what has degrees has no steps."""
FOLDS = 5
BETWEEN = ("jpeg-95", "jpeg-75", "jpeg-50", "shift-2", "shift-4")
"""Kinds that lie between others of their family, as severity 0.75 does: they are not looked at, to save time."""


def fit(measured: Sequence[ProbeFeatures], questions: Sequence[Question] = TREES, seed: int = 0) -> dict[str, Any]:
    """Models as a JSON value, each with what it was fitted on and how it fared on photographs that it had not seen."""
    tuning = [item for item in measured if item.probe.split == "tuning"]
    return {
        "models": {question: _fitted(question, tuning, seed) for question in questions},
        "provenance": {
            "split": "tuning",
            "seed": seed,
            "shape": {**SHAPE, "ramps": RAMPS},
            "models": {role: card["id"] for role, card in describe(choose_models("lite", {}, ROLES).models).items()},
            "command": "python -m editgauge.audits.fit.fit PROBES MEASURED [QUESTION ...]",
        },
    }


def _fitted(question: Question, tuning: Sequence[ProbeFeatures], seed: int) -> dict[str, Any]:
    names = FEATURES[question]
    known = [(each, truth) for each in tuning if (truth := TRUTHS[question](each.probe)) is not None]
    if question == "flawed":  # where nothing changed the model is not asked
        known = [(value, truth) for value, truth in known if value.values[question]["beyond"] is not None]
    values = np.array([[_number(entry.values[question][name]) for name in names] for entry, _ in known])
    truths = np.array([truth for _, truth in known])
    photos = np.array([element.probe.photo for element, _ in known])
    directions = [int(name in RISING[question]) for name in names]
    staged = np.zeros((MOST_TREES, len(truths)))
    for kept, left_out in GroupKFold(min(FOLDS, len(set(photos)))).split(values, truths, photos):
        trees = grown(values[kept], truths[kept], directions, MOST_TREES, RAMPS[question], seed)
        staged[:, left_out] = trees.staged(values[left_out])
    best = int(np.argmin([_loss(odds, truths) for odds in staged]))
    slope, intercept = _calibrated(staged[best], truths)
    trees = grown(values, truths, directions, best + 1, RAMPS[question], seed)
    written = trees.written()
    start = trees.start + sum(tree[0][0] for tree in written)
    return {
        "features": fingerprint(names),
        "probes": len({item.probe.id for item, _ in known}),
        "photographs": len(set(photos)),
        "unseen_photographs": _fares(slope * staged[best] + intercept, truths),
        "start": round(intercept + slope * start, DIGITS),
        "slope": round(slope, DIGITS),
        "trees": written,
    }


def _number(value: float | None) -> float:
    return float("nan") if value is None else value


def _loss(odds: Floats, truths: Floats) -> float:
    """The log loss, clean probes weighing as much as all others."""
    true, false = weighed(truths)
    lost = true * np.logaddexp(0, -odds) + false * np.logaddexp(0, odds)
    return float(lost.sum() / (true + false).sum())


def _calibrated(odds: Floats, truths: Floats) -> tuple[float, float]:
    """By what the log-odds of unseen photographs must be stretched and shifted to be frequencies (Platt)."""
    rows, labels, weights = doubled(odds[:, np.newaxis], truths)
    line = LogisticRegression(C=1e6).fit(rows, labels, sample_weight=weights)
    return float(line.coef_[0, 0]), float(line.intercept_[0])


def _fares(odds: Floats, truths: Floats) -> dict[str, float]:
    """AUROC of clearly true against clearly false ones, and the log loss."""
    clear = (truths == 0) | (truths >= 1)
    return {
        "auroc": round(float(roc_auc_score(truths[clear] >= 1, odds[clear])), 3),
        "log_loss": round(_loss(odds, truths), 3),
    }


def _is_asked(probe: Probe, questions: Sequence[Question]) -> bool:
    between = probe.kind in BETWEEN or probe.severity == 0.75
    return (
        probe.split == "tuning" and not between and any(TRUTHS[question](probe) is not None for question in questions)
    )


def main() -> None:
    """Measures what is not measured yet, fits, and puts the numbers where the protocol reads them."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("probes", help="the folder of probes")
    parser.add_argument("measured", help="the file of features; made when it is not there")
    parser.add_argument(
        "questions", nargs="*", metavar="QUESTION", help=f"of {', '.join(TREES)}; all when none is given"
    )
    options = parser.parse_args()
    unknown = [question for question in options.questions if question not in TREES]
    if unknown:
        parser.error(f"no such question: {', '.join(unknown)}")
    questions = [question for question in TREES if question in (options.questions or TREES)]
    measure(
        options.probes,
        options.measured,
        [probe for probe in read_probes(options.probes) if _is_asked(probe, questions)],
    )
    result = fit(list(read_measured(options.probes, options.measured)), questions)
    target = Path(str(own.__file__)).parent / FILE
    write_text(target, f"{json.dumps(joined(json.loads(target.read_text('utf-8')), result), separators=(',', ':'))}\n")
    for question, model in result["models"].items():
        log_info(f"{question}: {model['unseen_photographs']}", quiet=False)


def joined(before: dict[str, Any], result: dict[str, Any]) -> dict[str, Any]:
    """The models that were there, except for those fitted again."""
    return {**result, "models": {**before["models"], **result["models"]}}


OF_THE_REST, OF_THE_EDIT = "rest/", "artifact/"
"""How the names of families of disturbances and of artifacts begin."""
REACHING_OUT = ("artifact/shifted", "artifact/duplicated")
"""Artifacts that reach into the rest of the picture."""


def truth_of_done(probe: Probe) -> float | None:
    """1 when the edit was done; None where people might disagree."""
    return None if probe.done is None else float(probe.done)


def truth_of_disturbed(probe: Probe) -> float | None:
    """How much the rest was disturbed, from 0 to 1; None if unknown."""
    if probe.kind in ("another_photograph", "black"):
        return 1.0
    if probe.family.startswith(OF_THE_REST):
        return probe.severity
    inside = probe.family.startswith(OF_THE_EDIT) and probe.family not in REACHING_OUT
    return 0.0 if inside or probe.harmless or probe.kind in (RIGHT, "nothing") else None


def truth_of_flawed(probe: Probe) -> float | None:
    """How severe the artifact is; None for outcomes that are no right ones."""
    if probe.family.startswith(OF_THE_EDIT):
        return probe.severity
    return 0.0 if probe.kind == RIGHT or probe.harmless else None


TRUTHS: dict[Question, Callable[[Probe], float | None]] = {
    "disturbed": truth_of_disturbed,
    "flawed": truth_of_flawed,
}


if __name__ == "__main__":
    main()
