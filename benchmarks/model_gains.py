"""What each small model adds on real edits that people rated: the tables of `docs/explanation/lite-models.md`.

    python benchmarks/model_gains.py measure FOLDER --ratings RATINGS --out gains.jsonl
    python benchmarks/model_gains.py table gains.jsonl [--brisque svm.txt --ranges ranges.json]

FOLDER is `ImagenHub_Text-Guided_IE` with its outcomes and RATINGS the folder of ImagenHub's rating tables. `measure`
takes about a second and a half of one core for an outcome and can be stopped and begun again. `table` fits
`editgauge/edit` without each role on other photographs, and prints coverage, AUROC and correlations. `--brisque` is the
published model file of BRISQUE in libsvm's format.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import spearmanr
from sklearn.metrics import roc_auc_score

from editgauge._util.concurrency import run_async
from editgauge._util.images import as_unit, read_image
from editgauge._vision.natural_statistics import natural_statistics
from editgauge._vision.redrawn_changes import semantic_change
from editgauge.audits.fit.rated import Rated
from editgauge.audits.fit.ratings import SUMS, out_of_fold
from editgauge.benchmarks import open_benchmark
from editgauge.benchmarks.datasets import published_ratings
from editgauge.engine._scoring import build_item
from editgauge.errors import UnscorableError
from editgauge.methods.layouts.discover import expand
from editgauge.methods.outcomes import find_outcomes
from editgauge.metrics import metrics
from editgauge.metrics.structure_distance import self_similarity_distance
from editgauge.models.cache import cache_dir
from editgauge.models.profiles import choose_models
from editgauge.models.service import ModelService
from editgauge.protocols._objects import match_boxes
from editgauge.protocols.editgauge.asked import asked_features, not_judged
from editgauge.protocols.editgauge.features import FEATURES, features
from editgauge.protocols.editgauge.redrawn import changed_places, token_features
from editgauge.protocols.editgauge.roles import roles_of
from editgauge.protocols.editgauge.view import look
from editgauge.types import Edit, Item, Outcome

ROLES = (
    "detector", "segmenter", "image_embedder", "classifier", "text_reader", "face_reader", "perceptual_distance"
)  # fmt: skip
LEAST_FACE = 32
LEAST_SURE = 0.02
PASSED = 0.5
Record = dict[str, Any]


def outcomes_of(folder: Path, ratings: Path) -> Iterator[tuple[Edit, Outcome, dict[str, float]]]:
    """Every rated outcome with its mean ratings."""
    answers: dict[tuple[str, str], dict[str, list[float]]] = {}
    for answer in published_ratings("imagenhub", ratings):
        values = answers.setdefault((str(answer["edit"]), str(answer["method"])), {})
        values.setdefault(str(answer["question"]), []).append(float(str(answer["value"])))
    edits = {edit.id: edit for edit in open_benchmark("imagenhub", folder).edits}
    for text in expand([f"{folder}/*"]):
        name, _, folder = text.partition("=")
        for outcome in find_outcomes(name, Path(folder), list(edits.values())).outcomes:
            rated = answers.get((outcome.edit_id, outcome.method))
            if rated and outcome.image is not None:
                yield edits[outcome.edit_id], outcome, {each: float(np.mean(rated[each])) for each in ("SC", "PQ")}


async def measure(folder: Path, ratings: Path, out: Path, *, only_roles: bool) -> None:
    """Appends what is not in the file yet; what each role adds to `edit` alone takes a quarter of the time."""
    known = read(out) if out.is_file() else []
    done = {(each["edit"], each["method"]) for each in known}
    rated = sorted(outcomes_of(folder, ratings), key=_shuffled)
    with (
        ModelService(choose_models("lite-plus", {}, ROLES).models, cache_dir()) as see,
        out.open("a", encoding="utf-8") as lines,
    ):
        for edit, outcome, said in rated:
            if (edit.id, outcome.method) in done or outcome.image is None:
                continue
            item = build_item(edit, outcome, read_image(edit.source.path), read_image(outcome.image))
            record = {"edit": edit.id, "photo": edit.id.rpartition("_")[0], "method": outcome.method, **said}
            record["variants"] = await _variants(item, see)
            if not only_roles:
                record |= {"raw": await _raw(item, see), "rises": await _rises(item, see)}
            lines.write(f"{json.dumps(record)}\n")
            lines.flush()


def _shuffled(rated: tuple[Edit, Outcome, dict[str, float]]) -> bytes:
    """An order in which any part is a fair sample of all."""
    return hashlib.sha256(f"{rated[0].id} {rated[1].method}".encode()).digest()


async def _variants(item: Item, see: ModelService) -> dict[str, Record]:
    """Features of `editgauge/edit` with all roles, and as they are when a role has no model."""
    view = await look(item, see)
    views = {
        "all": view,
        "without classifier": replace(view, named={}),
        "without text reader": replace(view, read=None),
        "COCO words alone": replace(view, named={}, read=None),
    }
    steps = item.edit.reading.steps if item.edit.reading else ()
    values = features(view)
    return {
        name: {
            "answered": not_judged(each) is None and len(steps) <= 1,
            "values": {question: values[question] for question in SUMS} | {"asked": asked_features(each)},
        }
        for name, each in views.items()
    }


async def _rises(item: Item, see: ModelService) -> dict[str, float | None]:
    """How much surer the detector and the classifier are of what should come; None for a word that they do not know."""
    word = roles_of(item.edit).comes
    rises: dict[str, float | None] = {"detector": None, "classifier": None}
    if not word:
        return rises
    with suppress(UnscorableError):
        seen = await asyncio.gather(*(see.detect(each, word, least=LEAST_SURE) for each in (item.source, item.edited)))
        before, after = (float(each.confidences.max(initial=0)) for each in seen)
        rises["detector"] = after - before
    if see.knows(word):
        tokens = await asyncio.gather(see.patches(item.source), see.patches(item.edited))
        height, width = item.source.shape[:2]
        change = semantic_change(*(each.tokens for each in tokens))
        boxes = [None, *changed_places(change, width, height)]
        before, after = [
            max([(await see.classify(picture, box)).share(word) for box in boxes])
            for picture in (item.source, item.edited)
        ]
        rises["classifier"] = after - before
    return rises


async def _raw(item: Item, see: ModelService) -> Record:
    """What models and metrics say of the two pictures."""
    before, after = await asyncio.gather(see.patches(item.source), see.patches(item.edited))
    change = semantic_change(before.tokens, after.tokens)
    first, second = await asyncio.gather(see.embed_image(item.source), see.embed_image(item.edited))
    faces = await asyncio.gather(see.faces(item.source), see.faces(item.edited))
    cosines = faces[0].similarity(faces[1])
    large = np.flatnonzero((faces[0].boxes[:, 2:] - faces[0].boxes[:, :2]).min(axis=1) >= LEAST_FACE)
    pairs = [(old, new) for old, new in match_boxes(faces[0].boxes, faces[1].boxes) if old in large]
    readable = [old for old in large if np.isfinite(faces[0].smile[old])]
    unread = [old for old in readable if not any(o == old and np.isfinite(faces[1].smile[n]) for o, n in pairs)]
    return {
        "class token": float(first @ second),
        "patches": 1 - float(change.mean()),
        "focus": float(np.sort(change, axis=None)[-max(change.size // 10, 1) :].mean() - np.median(change)),
        "structure": -self_similarity_distance(*(each.tokens.reshape(change.size, -1) for each in (before, after))),
        "token length": token_features(before, after, change)["token_length"],
        "LPIPS": -await see.distance(item.source, item.edited),
        "SSIM": metrics.get("ssim")(as_unit(item.source), as_unit(item.edited)),
        "statistics": [natural_statistics(as_unit(each)).tolist() for each in (item.source, item.edited)],
        "face cosine": min((float(cosines[pair]) for pair in pairs), default=None) if len(large) else None,
        "faces found again": len(pairs) / len(large) if len(large) else None,
        "landmarks kept": 1 - len(unread) / len(readable) if readable else None,
    }


def read(file: Path) -> list[Record]:
    """What was measured."""
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def agreement(records: Sequence[Record], values: Sequence[float | None], question: str) -> tuple[int, float, float]:
    """Outcomes with a value, Spearman within a method (mean of Fisher's z), and pooled."""
    rows = [(value, each) for value, each in zip(values, records, strict=True) if value is not None]
    score, rating = np.array([value for value, _ in rows]), np.array([each[question] for _, each in rows])
    methods = np.array([each["method"] for _, each in rows])
    within = [spearmanr(score[methods == name], rating[methods == name])[0] for name in sorted(set(methods.tolist()))]
    finite = [np.clip(each, -0.999, 0.999) for each in within if np.isfinite(each)]
    return len(rows), float(np.tanh(np.mean(np.arctanh(finite)))), float(spearmanr(score, rating)[0])


def brisque(statistics: Sequence[float], model: Mapping[str, Any]) -> float:
    """The published score: features brought to -1 to 1, then a support vector regression; lower is better."""
    scaled = 2 * (np.array(statistics) - model["low"]) / (model["high"] - model["low"]) - 1
    distances = ((model["vectors"] - scaled) ** 2).sum(axis=1)
    return float(model["weights"] @ np.exp(-model["gamma"] * distances) - model["rho"])


def read_brisque(file: Path, ranges: Path) -> Record:
    """The regression of libsvm's text format, and the ranges of the features (JSON with `low` and `high`)."""
    head, _, body = file.read_text("ascii").partition("SV\n")
    settings = dict(line.split(" ", 1) for line in head.splitlines())
    rows = [line.split() for line in body.splitlines()]
    limits = json.loads(ranges.read_text("utf-8"))
    return {
        "gamma": float(settings["gamma"]),
        "rho": float(settings["rho"]),
        "weights": np.array([float(row[0]) for row in rows]),
        "vectors": np.array([[float(pair.partition(":")[2]) for pair in row[1:]] for row in rows]),
        "low": np.array(limits["low"]),
        "high": np.array(limits["high"]),
    }


def without_tokens(values: Mapping[str, Mapping[str, float | None]]) -> dict[str, dict[str, float | None]]:
    """The features without those that come from patch tokens; 0 tells nothing, None would mean another kind of edit."""
    of_tokens = {*FEATURES["contained"], "untouched", "new_seen", "novelty", "most_changed", "token_length"}
    return {
        question: {name: 0.0 if name in of_tokens and value is not None else value for name, value in each.items()}
        for question, each in values.items()
    }


def ablation(records: Sequence[Record], name: str, *, tokens: bool = True) -> tuple[float, float, float]:
    """Share of the outcomes looked into, share that `edit` answers, and its AUROC for mean SC >= 0.5, by fits on other
    photographs."""
    rated = [
        Rated(
            edit=each["edit"],
            photo=each["photo"],
            method=each["method"],
            done=each["SC"],
            quality=each["PQ"],
            answered=each["variants"][name]["answered"],
            values=each["variants"][name]["values"] if tokens else without_tokens(each["variants"][name]["values"]),
        )
        for each in records
    ]
    scores = out_of_fold(rated, methods=False)
    good = np.array([each["SC"] >= PASSED for each in records])[scores.answered]
    auroc = float(roc_auc_score(good, scores.edit[scores.answered]))
    return float(np.mean([each.answered for each in rated])), float(scores.answered.mean()), auroc


def _rise(rises: Mapping[str, float | None], name: str) -> float | None:
    """Of one model, or of the surer one of both."""
    values = [rises[each] for each in ((name,) if name in rises else rises)]
    return max((value for value in values if value is not None), default=None)


def table(file: Path, model: Path | None, ranges: Path | None) -> None:
    """Prints all tables, each of the outcomes that were measured for it."""
    every = read(file)
    records = [each for each in every if "raw" in each]
    print(f"{len(records)} outcomes of {len({each['edit'] for each in records})} edits\n")
    print("| score | n | PQ within, pooled | SC within, pooled |\n|---|---|---|---|")
    columns = {name: [each["raw"][name] for each in records] for name in records[0]["raw"] if name != "statistics"}
    columns["natural statistics of the outcome (shape)"] = [each["raw"]["statistics"][1][0] for each in records]
    if model and ranges:
        regression = read_brisque(model, ranges)
        columns["BRISQUE"] = [-brisque(each["raw"]["statistics"][1], regression) for each in records]
        columns["BRISQUE, compared with the source"] = [
            brisque(each["raw"]["statistics"][0], regression) - brisque(each["raw"]["statistics"][1], regression)
            for each in records
        ]
    for name, values in columns.items():
        (count, *quality), (_, *done) = (agreement(records, values, question) for question in ("PQ", "SC"))
        print(f"| {name} | {count} | {quality[0]:.2f}, {quality[1]:.2f} | {done[0]:.2f}, {done[1]:.2f} |")
    print("\n| something should come: surer of it | outcomes | edits | AUROC |\n|---|---|---|---|")
    for name in ("detector", "classifier", "either"):
        known = [(rise, each) for each in records if (rise := _rise(each["rises"], name)) is not None]
        auroc = roc_auc_score([each["SC"] >= PASSED for _, each in known], [rise for rise, _ in known])
        print(f"| {name} | {len(known)} | {len({each['edit'] for _, each in known})} | {auroc:.2f} |")
    print(f"\n{len(every)} outcomes of {len({each['edit'] for each in every})} edits")
    print("\n| `editgauge/edit` | looked into | answers | AUROC |\n|---|---|---|---|")
    for name in ("all", "without text reader", "without classifier", "COCO words alone"):
        looked, coverage, auroc = ablation(every, name)
        print(f"| {name} | {looked:.0%} | {coverage:.0%} | {auroc:.2f} |")
    looked, coverage, auroc = ablation(every, "all", tokens=False)
    print(f"| without patch tokens | {looked:.0%} | {coverage:.0%} | {auroc:.2f} |")


def main() -> None:
    """Measures outcomes, or prints the tables of what was measured."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    measuring = verbs.add_parser("measure")
    measuring.add_argument("folder", type=Path)
    measuring.add_argument("--ratings", type=Path, required=True)
    measuring.add_argument("--out", type=Path, required=True)
    measuring.add_argument("--only-roles", action="store_true", help="only what each role adds to `edit`")
    showing = verbs.add_parser("table")
    showing.add_argument("file", type=Path)
    showing.add_argument("--brisque", type=Path, help="the published model in libsvm's format")
    showing.add_argument("--ranges", type=Path, help="JSON with the least and greatest value of each feature")
    options = parser.parse_args()
    if options.verb == "measure":
        run_async(measure(options.folder, options.ratings, options.out, only_roles=options.only_roles))
    else:
        table(options.file, options.brisque, options.ranges)


if __name__ == "__main__":
    main()
