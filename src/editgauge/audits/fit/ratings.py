"""Fits `edit` and `quality` of the protocol `editgauge` on outcomes that people rated, together with probes.

    python -m editgauge.audits.fit.ratings measure imagenhub --data FOLDER --outcomes 'FOLDER/*' \\
        --ratings imagenhub=RATINGS --out rated.jsonl
    python -m editgauge.audits.fit.ratings probes PROBES --out probes.jsonl
    python -m editgauge.audits.fit.ratings fit rated.jsonl --probes PROBES --measured probes.jsonl

`measure` keeps the features of every rated outcome in a file, so that a second fit looks at no picture again. Besides
the rated outcomes it measures the untouched source, for which nothing was done, and the benchmark's own reference.
`fit` reports how well unseen photographs, and unseen methods on unseen photographs, are judged before it writes the
model: the mean over several ways to share the photographs out to folds, and the worst of them.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.stats import spearmanr
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupKFold

from editgauge._util.concurrency import run_async
from editgauge._util.files import write_text
from editgauge._util.progress import log_info
from editgauge.audits.fit.features import ROLES, read_measured
from editgauge.audits.fit.features import measure as measure_probes
from editgauge.audits.fit.fit import truth_of_done
from editgauge.audits.fit.rated import PROBES, WEIGHTS, Rated, measure, read_rated
from editgauge.audits.people.ground import GOOD
from editgauge.audits.probes.probes import read_probes
from editgauge.models._factory import describe
from editgauge.models.profiles import choose_models
from editgauge.protocols import editgauge as own
from editgauge.protocols.editgauge import REDRAWN
from editgauge.protocols.editgauge.asked import UNTOUCHED, VISIBLE
from editgauge.protocols.editgauge.calibrated import QUALITY_SHARE
from editgauge.protocols.editgauge.features import FEATURES, fingerprint
from editgauge.protocols.editgauge.further import JUDGED, WORDS
from editgauge.protocols.editgauge.model import RATINGS_FILE

if TYPE_CHECKING:
    from editgauge.protocols.editgauge.features import Question

Floats = NDArray[np.float64]
SUMS: tuple[Question, ...] = ("asked", "contained", "quality")
RISING = (
    "presence", "presence_gain", "new_seen", "new_by_both", "gone", "replaced", "color_gain", "color_rank",
    "color_rank_gain", "style_fit", "style_gain", "place_fit", "third_fit", "size_fit",
)  # fmt: skip
"""Features of which more never speaks against the edit being done: their weights are not negative."""
FALLING = ("untouched",)
"""Features that never count as evidence for it."""
SET = {"text_fit": 2.0, "text_gain": 1.0, "count_wrong": -3.0, WORDS: 1.5, JUDGED: 1.5}
"""Weights that are set and not fitted, because hardly any rated outcome has these features: requested words that can be
read letter by letter pass, another number than was asked for does not. That of a joint embedder is set as well, for
none was available. The judge's lies between those that people's ratings give to the published answers of two judges
with all other evidence, on photographs not fitted on (VIEScore's GPT-4o 2.4, Gemini 1.1)."""
SEEN_GONE = 1.0
"""The least weight of a thing that was seen before and is not seen any more: too few rated removals tell it."""
NOT_THERE = -0.5
"""The most that the log-odds may be when a requested thing is not seen at all: no pass without seeing it."""
SHRINKAGE = 0.5
FOLDS = 8
REPEATS = 5
"""Ways to share out the photographs to folds."""
DIGITS = 4


def rated_probes(folder: Path, measured: Path) -> list[Rated]:
    """Probes of the tuning half whose truth is known."""
    return [
        Rated(each.probe.id, each.probe.photo, PROBES, truth, None, _looked_for(each.values), each.values)  # type: ignore[arg-type]
        for each in read_measured(folder, measured)
        if each.probe.split == "tuning" and (truth := truth_of_done(each.probe)) is not None
    ]


def measure_known_probes(folder: Path, out: Path) -> None:
    """Keeps the features of the probes of the tuning half that are plainly done or not done."""
    plain = [each for each in read_probes(folder) if each.split == "tuning" and each.severity in (None, 1.0)]
    measure_probes(folder, out, [each for each in plain if truth_of_done(each) is not None])


def _looked_for(values: Mapping[Any, Mapping[str, float | None]]) -> bool:
    return any(values["asked"][name] is not None for name in RISING)


def table(records: Sequence[Rated], question: Question) -> Floats:
    """A row per outcome, a column per feature; 0 where a feature has no value, which adds nothing.

    Of what was not looked for only the features of the picture as a whole count.
    """
    return np.array(
        [
            [
                (each.values[question].get(name) or 0.0)
                if each.answered or question != "asked" or name in FALLING
                else 0.0
                for name in FEATURES[question]
            ]
            for each in records
        ],
        np.float64,
    )


def fit_edit(records: Sequence[Rated]) -> tuple[Floats, Floats]:
    """Weights of `asked` and of `contained`, intercept last: the product of the two chances is that of being done.

    The intercept of `asked` alone stands for what was not looked for; every outcome informs the fit of over-editing.
    """
    asked, contained = table(records, "asked"), table(records, "contained")
    done = np.array([_verdict(item.done or 0.0) for item in records])
    weights = np.array([record.weight for record in records])
    spread, center = np.maximum(contained.std(axis=0), 1e-6), contained.mean(axis=0)
    scaled = (contained - center) / spread
    first, local = asked.shape[1], is_local(records)
    shrunk = np.ones(first + scaled.shape[1] + 2)
    shrunk[[first, -1]] = 0

    def loss(numbers: Floats) -> tuple[float, Floats]:
        there = _chance(asked, numbers[: first + 1])
        kept = np.where(local, _chance(scaled, numbers[first + 1 :]), 1)
        chance = np.clip(there * kept, 1e-6, 1 - 1e-6)
        fit = -(weights * (done * np.log(chance) + (1 - done) * np.log(1 - chance))).sum()
        slope = -weights * (done / chance - (1 - done) / (1 - chance))
        of_asked, of_kept = slope * kept * there * (1 - there), local * slope * there * kept * (1 - kept)
        steps = [asked.T @ of_asked, [of_asked.sum()], scaled.T @ of_kept, [of_kept.sum()]]
        shrinkage = SHRINKAGE * shrunk * numbers
        return float(fit + (shrinkage * numbers).sum()), np.concatenate(steps) + 2 * shrinkage

    bounds = [*(_bound(name) for name in FEATURES["asked"]), (None, NOT_THERE / 2)]
    bounds += [*([(None, 0.0)] * scaled.shape[1]), (None, None)]
    start = np.array([np.clip(-0.3, *bound) if any(end is not None for end in bound) else -0.3 for bound in bounds])
    numbers = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x
    return numbers[: first + 1], _unscaled(numbers[first + 1 :], center, spread)


def _verdict(rating: float) -> float:
    """Between the mean rating, which has degrees, and the majority's verdict, at which the pass mark of 0.5 belongs."""
    return (rating + float(rating >= GOOD)) / 2


def _bound(name: str) -> tuple[float | None, float | None]:
    """The least and the greatest weight of a feature of `asked`."""
    if name in SET:
        return SET[name], SET[name]
    if name == "gone":
        return SEEN_GONE, None
    if name == "asks_presence":
        return None, NOT_THERE / 2
    return (0.0, None) if name in RISING else (None, 0.0) if name in FALLING else (None, None)


def is_local(records: Sequence[Rated]) -> NDArray[np.bool_]:
    """Should most of the picture stay? Not after a change of style or background."""
    return np.array([each.values["contained"]["unmatched"] is not None for each in records])


def fit_quality(records: Sequence[Rated]) -> Floats:
    """Weights of `quality`, intercept last: a logistic curve through the mean ratings."""
    values = table(records, "quality")
    rating = np.array([record.quality or 0.0 for record in records])
    center, spread = values.mean(axis=0), np.maximum(values.std(axis=0), 1e-6)
    scaled = (values - center) / spread

    def loss(numbers: Floats) -> float:
        chance = np.clip(_chance(scaled, numbers), 1e-6, 1 - 1e-6)
        fit = -(rating * np.log(chance) + (1 - rating) * np.log(1 - chance)).sum()
        return float(fit + SHRINKAGE * (numbers[:-1] ** 2).sum())

    return _unscaled(minimize(loss, np.zeros(values.shape[1] + 1), method="L-BFGS-B").x, center, spread)


def _chance(values: Floats, numbers: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-np.clip(values @ numbers[:-1] + numbers[-1], -30, 30))))


def _unscaled(numbers: Floats, center: Floats, spread: Floats) -> Floats:
    weights = numbers[:-1] / spread
    return np.append(weights, numbers[-1] - weights @ center)


@dataclass(frozen=True, slots=True)
class FittedScores:
    """`edit` and `quality` of outcomes, and which `edit` the protocol would give."""

    edit: Floats
    quality: Floats
    answered: NDArray[np.bool_]

    @property
    def overall(self) -> Floats:
        """As the protocol joins them."""
        return np.asarray(self.edit ** (1 - QUALITY_SHARE) * self.quality**QUALITY_SHARE)


def judged(records: Sequence[Rated], train: Sequence[Rated]) -> FittedScores:
    """The scores of outcomes, by a fit on others."""
    asked, contained = fit_edit([item for item in train if item.done is not None])
    quality = fit_quality([element for element in train if element.quality is not None])
    kept = np.where(is_local(records), _chance(table(records, "contained"), contained), 1)
    edit = _chance(table(records, "asked"), asked) * kept
    plain = (kept < REDRAWN) | is_untouched(records)
    looked_for = np.array([record.answered for record in records])
    return FittedScores(edit, _chance(table(records, "quality"), quality), looked_for | plain)


def is_untouched(records: Sequence[Rated]) -> NDArray[np.bool_]:
    """Does no patch show anything else than before?"""
    return np.array([(each.values["asked"]["untouched"] or 0.0) > 1 - UNTOUCHED / VISIBLE for each in records])


def out_of_fold(records: Sequence[Rated], *, methods: bool, repeat: int = 0) -> FittedScores:
    """Every outcome by a fit that has seen neither its photograph nor, if asked, its method."""
    photos = np.array([record.photo for record in records])
    scores = FittedScores(np.zeros(len(records)), np.zeros(len(records)), np.zeros(len(records), np.bool_))
    folds = GroupKFold(min(FOLDS, len(set(photos))), shuffle=True, random_state=repeat)
    for kept, left_out in folds.split(photos, photos, photos):
        names = sorted({records[row].method for row in left_out}) if methods else [""]
        for name in names:
            rows = [row for row in left_out if records[row].method == name or not methods]
            train = [records[row] for row in kept if not methods or records[row].method != name]
            part = judged([records[row] for row in rows], train)
            scores.edit[rows], scores.quality[rows], scores.answered[rows] = part.edit, part.quality, part.answered
    return scores


def judged_apart(records: Sequence[Rated], others: Sequence[Rated]) -> FittedScores:
    """Outcomes of another ground, by fits on the first one that have not seen their photographs."""
    photos = np.array([candidate.photo for candidate in others])
    scores = FittedScores(np.zeros(len(others)), np.zeros(len(others)), np.zeros(len(others), np.bool_))
    for _, rows in GroupKFold(FOLDS).split(photos, photos, photos):
        out = set(photos[rows])
        part = judged([others[row] for row in rows], [record for record in records if record.photo not in out])
        scores.edit[rows], scores.quality[rows], scores.answered[rows] = part.edit, part.quality, part.answered
    return scores


def unseen(records: Sequence[Rated], *, methods: bool) -> dict[str, dict[str, float]]:
    """How the fit performs on photographs, and on methods if asked, that it has not seen: mean, least and most."""
    rows = [
        _agreement(records, out_of_fold(records, methods=methods, repeat=repeat))
        for repeat in range(1 if methods else REPEATS)
    ]
    return {
        name: {
            "mean": round(float(np.mean([row[name] for row in rows])), 3),
            "least": round(min(row[name] for row in rows), 3),
            "most": round(max(row[name] for row in rows), 3),
        }
        for name in rows[0]
    }


def write_unseen(records: Sequence[Rated], others: Sequence[Rated], file: Path) -> None:
    """The scores of every rated outcome by fits that have not seen it, as JSON lines, for `docs/people.py`."""
    parts = {
        "photograph unseen": (records, out_of_fold(records, methods=False)),
        "photograph and method unseen": (records, out_of_fold(records, methods=True)),
    }
    if others:
        parts["another ground"] = others, judged_apart(records, others)
    lines: list[str] = []
    for what, (outcomes, scores) in parts.items():
        columns = (scores.answered, scores.edit, scores.quality, scores.overall)
        for record, answered, *values in zip(outcomes, *columns, strict=True):
            if record.method in WEIGHTS:
                continue
            named = dict(zip(("edit", "quality", "overall"), (round(float(value), 6) for value in values), strict=True))
            known = named if answered else {"quality": named["quality"]}
            lines.append(json.dumps({"edit": record.edit, "method": record.method, "fit": what, "scores": known}))
    write_text(file, "\n".join(lines) + "\n")


def _agreement(records: Sequence[Rated], scores: FittedScores) -> dict[str, float]:
    """With people's ratings, of outcomes that people rated."""
    of_people = np.array([element.method not in WEIGHTS for element in records])
    done = np.array([np.nan if each.done is None else each.done for each in records])
    rated = np.array([np.nan if each.quality is None else each.quality for each in records])
    answered, known = of_people & scores.answered, of_people & ~np.isnan(rated)
    method = np.array([record.method for record in records])
    looked_into = of_people & np.array([item.answered for item in records])
    people = np.sqrt(np.nan_to_num(done) * np.nan_to_num(rated))
    good, passed = done[answered] >= GOOD, scores.edit[answered] >= own.PASSED
    return {
        "answered": float(answered.sum() / of_people.sum()),
        "looked_into": float(looked_into.sum() / of_people.sum()),
        "edit_auroc": float(roc_auc_score(good, scores.edit[answered])),
        "edit_auroc_looked_into": float(roc_auc_score(done[looked_into] >= GOOD, scores.edit[looked_into])),
        "edit_pooled": _rho(scores.edit[answered], done[answered]),
        "edit_per_method": _per_method(scores.edit, done, answered, method),
        "edit_system": _system(scores.edit[answered], done[answered], method[answered]),
        "pass_agrees": float((passed == good).mean()),
        "pass_holds": float(good[passed].mean()) if passed.any() else 0.0,
        "quality_pooled": _rho(scores.quality[known], rated[known]),
        "quality_per_method": _per_method(scores.quality, rated, known, method),
        "overall_pooled": _rho(scores.overall[answered], people[answered]),
        "overall_system": _system(scores.overall[answered], people[answered], method[answered]),
    }


def _rho(score: Floats, truth: Floats) -> float:
    return float(spearmanr(score, truth)[0])


def _system(score: Floats, truth: Floats, method: NDArray[Any]) -> float:
    """The correlation of the methods' means."""
    names = sorted(set(method))
    return _rho(*(np.array([values[method == name].mean() for name in names]) for values in (score, truth)))


def _per_method(score: Floats, truth: Floats, where: NDArray[np.bool_], method: NDArray[Any]) -> float:
    """The mean correlation by Fisher's z over methods whose ratings differ."""
    correlations = []
    for name in sorted(set(method[where])):
        rows = where & (method == name)
        if rows.sum() > 3 and len(set(truth[rows])) > 1 and len(set(score[rows])) > 1:
            correlations.append(np.arctanh(np.clip(spearmanr(score[rows], truth[rows])[0], -0.999, 0.999)))
    return float(np.tanh(np.mean(correlations))) if correlations else 0.0


def fitted_models(records: Sequence[Rated]) -> dict[str, Any]:
    """The three models as a JSON value, with what they were fitted on and their results on unseen data."""
    asked, contained = fit_edit([entry for entry in records if entry.done is not None])
    quality = fit_quality([each for each in records if each.quality is not None])
    numbers: dict[Question, Floats] = {"asked": asked, "contained": contained, "quality": quality}
    return {
        "models": {
            question: {
                "features": fingerprint(FEATURES[question]),
                "intercept": round(float(values[-1]), DIGITS),
                "weights": {
                    name: round(float(value), DIGITS) for name, value in zip(FEATURES[question], values, strict=False)
                },
            }
            for question, values in numbers.items()
        },
        "provenance": {
            "outcomes": {
                name: sum(element.method == name for element in records)
                for name in sorted({item.method for item in records})
            },
            "photographs": len({record.photo for record in records}),
            "photograph_ids": sorted({each.photo for each in records if each.method not in WEIGHTS}),
            "unseen_photographs": unseen(records, methods=False),
            "unseen_photographs_and_methods": unseen(records, methods=True),
            "models": {role: card["id"] for role, card in describe(choose_models("lite", {}, ROLES).models).items()},
            "command": "python -m editgauge.audits.fit.ratings fit RATED --probes PROBES --measured MEASURED",
        },
    }


def main() -> None:
    """Measures rated outcomes, or fits on what was measured."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    measuring = verbs.add_parser("measure", help="keep the features of rated outcomes in a file")
    measuring.add_argument("benchmark")
    measuring.add_argument("--data")
    for option in ("--ratings", "--out"):
        measuring.add_argument(option, required=True)
    measuring.add_argument("--outcomes", required=True, action="append")
    probing = verbs.add_parser("probes", help="keep the features of probes with known truth in a file")
    probing.add_argument("folder", type=Path)
    probing.add_argument("--out", required=True, type=Path)
    fitting = verbs.add_parser("fit", help="fit the models and put them where the protocol reads them")
    fitting.add_argument("rated", nargs="+", type=Path)
    fitting.add_argument("--probes", type=Path)
    fitting.add_argument("--measured", type=Path)
    fitting.add_argument(
        "--apart", nargs="*", type=Path, default=[], help="rated outcomes that are judged, not fitted on"
    )
    fitting.add_argument("--unseen", type=Path, help="write what fits say that have not seen the outcome")
    options = parser.parse_args()
    if options.verb == "measure":
        run_async(measure(options.benchmark, options.data, options.outcomes, options.ratings, Path(options.out)))
        return
    if options.verb == "probes":
        measure_known_probes(options.folder, options.out)
        return
    records = [each for file in options.rated for each in read_rated(file)]
    if options.probes and options.measured:
        records += rated_probes(options.probes, options.measured)
    if options.unseen:
        write_unseen(records, [each for file in options.apart for each in read_rated(file)], options.unseen)
    result = fitted_models(records)
    write_text(Path(str(own.__file__)).parent / RATINGS_FILE, f"{json.dumps(result, indent=1)}\n")
    log_info(json.dumps(result["provenance"], indent=1), quiet=False)


if __name__ == "__main__":
    main()
