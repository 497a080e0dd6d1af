"""Fits `edit` and `quality` of the protocol `editgauge` on outcomes that people rated, together with probes.

    python -m editgauge.audits.fit.ratings measure imagenhub --data FOLDER --outcomes 'FOLDER/*' --ratings FOLDER --out
    rated.jsonl python -m editgauge.audits.fit.ratings probes PROBES --out probes.jsonl
    python -m editgauge.audits.fit.ratings fit rated.jsonl --probes PROBES --measured probes.jsonl

`measure` keeps the features of every rated outcome in a file, so that a second fit looks at no picture again. Besides
the rated outcomes it measures the untouched source, for which nothing was done, and the benchmark's own reference.
`fit` reports how well unseen photographs, and unseen methods on unseen photographs, are judged before it writes the
model.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.stats import spearmanr
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupKFold

from editgauge.audits.fit.features import ROLES, read_measured
from editgauge.audits.fit.features import measure as measure_probes
from editgauge.audits.fit.fit import truth_of_done
from editgauge.audits.people.ground import mean_ratings
from editgauge.audits.probes.probes import Probe, read_probes
from editgauge.benchmarks import open_benchmark
from editgauge.core.concurrency import run_async
from editgauge.core.files import write_text
from editgauge.core.images import read_image
from editgauge.core.progress import progress, say
from editgauge.core.types import Edit, Outcome
from editgauge.engine.worker.scoring import prepare as make_item
from editgauge.findings.people.ratings import read_ratings
from editgauge.methods.layouts.discover import expand
from editgauge.methods.outcomes import FoundOutcomes, find_outcomes
from editgauge.models.cache import place
from editgauge.models.profiles import choose_models
from editgauge.models.service import Service, describe
from editgauge.protocols import editgauge as own
from editgauge.protocols.editgauge.asked import not_judged
from editgauge.protocols.editgauge.calibrated import QUALITY_SHARE
from editgauge.protocols.editgauge.features import FEATURES, features, fingerprint
from editgauge.protocols.editgauge.further import JUDGED, WORDS
from editgauge.protocols.editgauge.model import RATINGS_FILE
from editgauge.protocols.editgauge.view import look

if TYPE_CHECKING:
    from editgauge.protocols.editgauge.features import Question

Floats = NDArray[np.float64]
SUMS: tuple[Question, ...] = ("asked", "contained", "quality")
UNTOUCHED, REFERENCE, PROBES = "the source", "the reference", "probes"
RISING = (
    "something_new", "presence", "presence_gain", "gone", "replaced", "color_gain", "color_rank", "color_rank_gain",
    "style_fit", "style_gain", "place_fit", "third_fit", "size_fit",
)  # fmt: skip
"""Features of which more never speaks against the edit being done: their weights are not negative."""
SET = {"text_fit": 2.0, "text_gain": 1.0, "count_wrong": -3.0, WORDS: 1.5, JUDGED: 1.5}
"""Weights that are set and not fitted, because hardly any rated outcome has these features: requested words that can be
read letter by letter pass, another number than was asked for does not. That of a joint embedder is set as well, for
none was available. The judge's is what a logistic fit of people's ratings on the published answers of two judges alone
gives (VIEScore's GPT-4o and Gemini: 2.3 and 1.1; 1.5 for both together)."""
SEEN_GONE = 1.0
"""The least weight of a thing that was seen before and is not seen any more: too few rated removals tell it."""
NOT_THERE = -0.5
"""The most that the log-odds may be when a requested thing is not seen at all: no pass without seeing it."""
SHRINKAGE = 0.5
FOLDS = 8
WEIGHTS = {UNTOUCHED: 0.3, REFERENCE: 0.3, PROBES: 0.2}
"""How much one outcome counts that no person rated."""
DIGITS = 4


@dataclass(frozen=True, slots=True)
class Rated:
    """An outcome with its features and what people said about it."""

    edit: str
    photo: str
    method: str
    done: float | None
    """The mean rating from 0 to 1, or the known truth."""
    quality: float | None
    answered: bool
    """Was what was asked for looked for?"""
    values: Mapping[str, Mapping[str, float | None]]

    @property
    def weight(self) -> float:
        """How much it counts in a fit."""
        return WEIGHTS.get(self.method, 1.0)


async def measure(benchmark: str, data: str, outcomes: Sequence[str], ratings: str, out: Path) -> None:
    """Appends what is not in the file yet."""
    edits = open_benchmark(benchmark, Path(data)).edits
    places = [text.split("=", 1) for text in expand(outcomes)]
    found = [find_outcomes(name, Path(where), edits) for name, where in places]
    answers = mean_ratings(read_ratings(Path(ratings)))
    known = {(each.edit, each.method) for each in read_rated(out)} if out.is_file() else set()
    todo = [each for each in _outcomes(edits, found, answers) if (each[0].id, each[1].method) not in known]
    with (
        Service(choose_models("lite", {}, ROLES).models, place()) as see,
        progress("measuring", len(todo), quiet=False) as advance,
        out.open("a", encoding="utf-8") as lines,
    ):
        for edit, outcome in todo:
            assert outcome.image is not None  # noqa: S101 - only outcomes with a picture are listed
            view = await look(make_item(edit, outcome, read_image(edit.source.path), read_image(outcome.image)), see)
            said = answers.get((edit.id, outcome.method), {})
            values = features(view)
            record = Rated(
                edit=edit.id,
                photo=edit.origin,
                method=outcome.method,
                done={UNTOUCHED: 0.0, REFERENCE: 1.0}.get(outcome.method, said.get("done")),
                quality=said.get("quality"),
                answered=not_judged(view) is None and len(edit.reading.steps if edit.reading else ()) <= 1,
                values={str(question): each for question, each in values.items()},
            )
            lines.write(f"{json.dumps(asdict(record))}\n")
            lines.flush()
            advance()


def _outcomes(
    edits: Sequence[Edit], found: Sequence[FoundOutcomes], answers: Mapping[tuple[str, str], Any]
) -> Iterator[tuple[Edit, Outcome]]:
    by_edit: dict[str, list[Outcome]] = {}
    for these in found:
        for outcome in these.outcomes:
            if outcome.image is not None and (outcome.edit_id, outcome.method) in answers:
                by_edit.setdefault(outcome.edit_id, []).append(outcome)
    for edit in edits:
        yield edit, Outcome(edit_id=edit.id, method=UNTOUCHED, image=edit.source.path)
        if edit.reference is not None:
            yield edit, Outcome(edit_id=edit.id, method=REFERENCE, image=edit.reference.path)
        for outcome in by_edit.get(edit.id, ()):
            yield edit, outcome


def read_rated(file: Path) -> list[Rated]:
    """What was measured."""
    return [Rated(**json.loads(line)) for line in file.read_text("utf-8").splitlines()]


def rated_probes(folder: Path, measured: Path) -> list[Rated]:
    """Probes of the tuning half whose truth is known."""
    return [
        Rated(each.probe.id, each.probe.photo, PROBES, truth, None, _looked_for(each.values), each.values)  # type: ignore[arg-type]
        for each in read_measured(folder, measured)
        if each.probe.split == "tuning" and (truth := truth_of_done(each.probe)) is not None
    ]


def _tells(probe: Probe) -> bool:
    """Is it of the tuning half, and plainly done or not done?"""
    return probe.split == "tuning" and probe.severity in (None, 1.0) and truth_of_done(probe) is not None


def _looked_for(values: Mapping[Any, Mapping[str, float | None]]) -> bool:
    return any(values["asked"][name] is not None for name in RISING)


def table(records: Sequence[Rated], question: Question) -> Floats:
    """A row per outcome, a column per feature; 0 where a feature has no value, which adds nothing."""
    return np.array(
        [[each.values[question].get(name) or 0.0 for name in FEATURES[question]] for each in records], np.float64
    )


def fit_edit(records: Sequence[Rated]) -> tuple[Floats, Floats]:
    """Weights of `asked` and of `contained`, intercept last: the product of the two chances is that of being done."""
    asked, contained = table(records, "asked"), table(records, "contained")
    done = np.array([each.done or 0.0 for each in records])
    weights = np.array([each.weight for each in records])
    spread, center = np.maximum(contained.std(axis=0), 1e-6), contained.mean(axis=0)
    scaled = (contained - center) / spread
    first, local = asked.shape[1], is_local(records)

    def loss(numbers: Floats) -> float:
        chance = _chance(asked, numbers[: first + 1]) * np.where(local, _chance(scaled, numbers[first + 1 :]), 1)
        chance = np.clip(chance, 1e-6, 1 - 1e-6)
        fit = -(weights * (done * np.log(chance) + (1 - done) * np.log(1 - chance))).sum()
        return float(fit + SHRINKAGE * (numbers[:first] ** 2).sum() + SHRINKAGE * (numbers[first + 1 : -1] ** 2).sum())

    bounds: list[tuple[float | None, float | None]] = [
        (0.0, None) if name in RISING else (None, None) for name in FEATURES["asked"]
    ]
    bounds += [(None, NOT_THERE / 2), *([(None, 0.0)] * scaled.shape[1]), (None, None)]
    bounds[FEATURES["asked"].index("asks_presence")] = (None, NOT_THERE / 2)
    bounds[FEATURES["asked"].index("gone")] = (SEEN_GONE, None)
    for name, weight in SET.items():
        bounds[FEATURES["asked"].index(name)] = (weight, weight)
    numbers = minimize(loss, np.zeros(len(bounds)) - 0.3, method="L-BFGS-B", bounds=bounds).x
    return numbers[: first + 1], _unscaled(numbers[first + 1 :], center, spread)


def is_local(records: Sequence[Rated]) -> NDArray[np.bool_]:
    """Should most of the picture stay? Not after a change of style or background."""
    return np.array([each.values["contained"]["unmatched"] is not None for each in records])


def fit_quality(records: Sequence[Rated]) -> Floats:
    """Weights of `quality`, intercept last: a logistic curve through the mean ratings."""
    values = table(records, "quality")
    rating = np.array([each.quality or 0.0 for each in records])
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


def judged(records: Sequence[Rated], train: Sequence[Rated]) -> tuple[Floats, Floats]:
    """`edit` and `quality` of outcomes, by a fit on others."""
    asked, contained = fit_edit([each for each in train if each.answered and each.done is not None])
    quality = fit_quality([each for each in train if each.quality is not None])
    kept = np.where(is_local(records), _chance(table(records, "contained"), contained), 1)
    edit = _chance(table(records, "asked"), asked) * kept
    return edit, _chance(table(records, "quality"), quality)


def out_of_fold(records: Sequence[Rated], *, methods: bool) -> tuple[Floats, Floats]:
    """`edit` and `quality` of every outcome by a fit that has seen neither its photograph nor, if asked, its method."""
    photos = np.array([each.photo for each in records])
    edit, quality = np.zeros(len(records)), np.zeros(len(records))
    for kept, left_out in GroupKFold(min(FOLDS, len(set(photos)))).split(photos, photos, photos):
        names = sorted({records[row].method for row in left_out}) if methods else [""]
        for name in names:
            rows = [row for row in left_out if records[row].method == name or not methods]
            train = [records[row] for row in kept if not methods or records[row].method != name]
            edit[rows], quality[rows] = judged([records[row] for row in rows], train)
    return edit, quality


def unseen(records: Sequence[Rated], *, methods: bool) -> dict[str, float]:
    """How the fit fares on photographs, and on methods if asked, that it has not seen."""
    of_people = np.array([each.method not in WEIGHTS for each in records])
    return _agreement(records, *out_of_fold(records, methods=methods), of_people)


def write_unseen(records: Sequence[Rated], file: Path) -> None:
    """The scores of every rated outcome by fits that have not seen it, as JSON lines, for `docs/people.py`."""
    lines: list[str] = []
    for methods in (False, True):
        edit, quality = out_of_fold(records, methods=methods)
        overall = edit ** (1 - QUALITY_SHARE) * quality**QUALITY_SHARE
        for record, *values in zip(records, edit, quality, overall, strict=True):
            if record.method in WEIGHTS:
                continue
            named = dict(zip(("edit", "quality", "overall"), (round(float(value), 6) for value in values), strict=True))
            known = named if record.answered else {"quality": named["quality"]}
            lines.append(
                json.dumps({"edit": record.edit, "method": record.method, "unseen_method": methods, "scores": known})
            )
    write_text(file, "\n".join(lines) + "\n")


def _agreement(
    records: Sequence[Rated], edit: Floats, quality: Floats, of_people: NDArray[np.bool_]
) -> dict[str, float]:
    done = np.array([np.nan if each.done is None else each.done for each in records])
    rated = np.array([np.nan if each.quality is None else each.quality for each in records])
    answered = of_people & np.array([each.answered for each in records])
    method = np.array([each.method for each in records])
    known = of_people & ~np.isnan(rated)
    overall = edit ** (1 - QUALITY_SHARE) * quality**QUALITY_SHARE
    said = np.sqrt(np.nan_to_num(done) * np.nan_to_num(rated))
    return {
        "answered": round(float(answered.sum() / of_people.sum()), 3),
        "edit_auroc": round(float(roc_auc_score(done[answered] >= 0.5, edit[answered])), 3),
        "edit_pooled": round(float(spearmanr(edit[answered], done[answered])[0]), 3),
        "edit_per_method": round(_per_method(edit, done, answered, method), 3),
        "quality_pooled": round(float(spearmanr(quality[known], rated[known])[0]), 3),
        "quality_per_method": round(_per_method(quality, rated, known, method), 3),
        "overall_pooled": round(float(spearmanr(overall[answered], said[answered])[0]), 3),
    }


def _per_method(score: Floats, truth: Floats, where: NDArray[np.bool_], method: NDArray[Any]) -> float:
    """The mean correlation by Fisher's z over methods whose ratings differ."""
    correlations = []
    for name in sorted(set(method[where])):
        rows = where & (method == name)
        if rows.sum() > 3 and len(set(truth[rows])) > 1 and len(set(score[rows])) > 1:
            correlations.append(np.arctanh(np.clip(spearmanr(score[rows], truth[rows])[0], -0.999, 0.999)))
    return float(np.tanh(np.mean(correlations))) if correlations else 0.0


def fitted_models(records: Sequence[Rated]) -> dict[str, Any]:
    """The three models as a JSON value, with what they were fitted on and how they fare on what they have not seen."""
    asked, contained = fit_edit([each for each in records if each.answered and each.done is not None])
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
                name: sum(each.method == name for each in records) for name in sorted({each.method for each in records})
            },
            "photographs": len({each.photo for each in records}),
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
    for option in ("--data", "--ratings", "--out"):
        measuring.add_argument(option, required=True)
    measuring.add_argument("--outcomes", required=True, action="append")
    probing = verbs.add_parser("probes", help="keep the features of probes with known truth in a file")
    probing.add_argument("folder", type=Path)
    probing.add_argument("--out", required=True, type=Path)
    fitting = verbs.add_parser("fit", help="fit the models and put them where the protocol reads them")
    fitting.add_argument("rated", nargs="+", type=Path)
    fitting.add_argument("--probes", type=Path)
    fitting.add_argument("--measured", type=Path)
    fitting.add_argument("--unseen", type=Path, help="write what fits say that have not seen the outcome")
    given = parser.parse_args()
    if given.verb == "measure":
        run_async(measure(given.benchmark, given.data, given.outcomes, given.ratings, Path(given.out)))
        return
    if given.verb == "probes":
        measure_probes(given.folder, given.out, [each for each in read_probes(given.folder) if _tells(each)])
        return
    records = [each for file in given.rated for each in read_rated(file)]
    if given.probes and given.measured:
        records += rated_probes(given.probes, given.measured)
    if given.unseen:
        write_unseen(records, given.unseen)
    result = fitted_models(records)
    write_text(Path(str(own.__file__)).parent / RATINGS_FILE, f"{json.dumps(result, indent=1)}\n")
    say(json.dumps(result["provenance"], indent=1), quiet=False)


if __name__ == "__main__":
    main()
