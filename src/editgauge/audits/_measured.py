"""Features of rated outcomes and of probes, measured once and stored as JSON lines."""

from __future__ import annotations

import csv
import json
from ast import literal_eval
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import numpy as np
from PIL import Image

from editgauge._util.images import read_image
from editgauge._util.progress import progress
from editgauge.audits._probe_set import OUTCOMES, Probe, read_probes
from editgauge.benchmarks import open_benchmark
from editgauge.benchmarks.datasets import published_ratings
from editgauge.engine._scoring import build_item
from editgauge.instructions.parsed import edit_steps
from editgauge.models._cache import cache_dir
from editgauge.models.perception import ModelService
from editgauge.models.profiles import choose_models
from editgauge.protocols.editgauge import kept_inputs
from editgauge.protocols.editgauge._models import features
from editgauge.protocols.editgauge._request import explain_missing_request
from editgauge.protocols.editgauge._view import build_view
from editgauge.types import Edit, Outcome, Unscored

ROLES = ("detector", "segmenter", "image_embedder", "classifier", "text_reader")
SOURCE, REFERENCE, PROBES = "the source", "the reference", "probes"
WEIGHTS = {SOURCE: 0.3, REFERENCE: 0.3, PROBES: 0.2}
"""Weight in a fit of an outcome that no person rated."""
SILVER_JUDGE = "gpt4o"
"""Judge of VIEScore whose answers about over-editing and about the edit alone are silver labels."""
MAX_JUDGE_SCORE = 10.0
WATERMARK = 82 / 512, 18 / 512
"""Width and height of the mark that DALL-E 2 leaves in the lower right corner, as shares of the image."""
TOKEN_DIGITS = 4
Labels = dict[str, float]
"""`success` and `quality` by people, `done` and `kept` by a judge (silver), each from 0 to 1."""


@dataclass(frozen=True, slots=True)
class MeasuredOutcome:
    """One outcome with its labels and features; those of the request for its first step."""

    dataset: str
    edit: str
    photo: str
    method: str
    labels: Labels
    is_looked_for: bool
    """Was the request looked for or measured?"""
    is_local: bool
    severities: dict[str, float]
    """Disturbances of the whole image."""
    kept_severities: dict[str, float] | None
    """Disturbances of what must stay; None if `kept` has no answer."""
    values: Mapping[str, Mapping[str, float | None]]
    token: list[float] | None = None
    """Of the changed region."""
    further_steps: list[dict[str, float | None]] = field(default_factory=list)
    """Features of the request for further steps of the instruction; empty unless all steps were looked for."""

    @property
    def weight(self) -> float:
        """Weight in a fit."""
        return WEIGHTS.get(self.method, 1.0)


@dataclass(frozen=True, slots=True)
class RatedOutcome:
    """One outcome to measure."""

    dataset: str
    edit: Edit
    method: str
    image: Path
    labels: Labels = field(default_factory=dict)


async def measure(outcomes: Iterable[RatedOutcome], out: Path) -> None:
    """Append the features of outcomes that are not in the file yet."""
    complete = {(row.edit, row.method) for row in read_measured(out)}
    todo = [outcome for outcome in outcomes if (outcome.edit.id, outcome.method) not in complete]
    with (
        ModelService(choose_models("lite", {}, ROLES).models, cache_dir()) as service,
        progress("measuring", len(todo), quiet=False) as advance,
        out.open("a", encoding="utf-8") as lines,
    ):
        for outcome in todo:
            row = await _measure_one(outcome, service)
            lines.write(f"{json.dumps(asdict(row))}\n")
            lines.flush()
            advance()


async def _measure_one(outcome: RatedOutcome, service: ModelService) -> MeasuredOutcome:
    record = Outcome(edit_id=outcome.edit.id, method=outcome.method, image=outcome.image)
    item = build_item(outcome.edit, record, read_image(outcome.edit.source.path), read_image(outcome.image))
    views = [await build_view(replace(item, edit=step), service) for step in edit_steps(item.edit)]
    view = views[0]
    is_looked_for = all(explain_missing_request(step) is None for step in views)
    token = view.region_token
    values = {str(name): numbers for name, numbers in features(view).items() if name != "edit"}
    inputs = kept_inputs(views)
    if not isinstance(inputs, Unscored):
        values["kept"] = inputs[0]
    return MeasuredOutcome(
        dataset=outcome.dataset,
        edit=outcome.edit.id,
        photo=outcome.edit.origin,
        method=outcome.method,
        labels=outcome.labels,
        is_looked_for=is_looked_for,
        is_local=view.is_local,
        severities=view.disturbance.severities(),
        kept_severities=None if isinstance(inputs, Unscored) else inputs[1].severities(),
        values=values,
        token=None if token is None else [round(float(number), TOKEN_DIGITS) for number in token],
        further_steps=[dict(features(step)["success"]) for step in views[1:]] if is_looked_for else [],
    )


def read_measured(path: Path) -> list[MeasuredOutcome]:
    """Return what was measured; nothing if the file does not exist."""
    if not path.is_file():
        return []
    return [MeasuredOutcome(**json.loads(line)) for line in path.read_text("utf-8").splitlines()]


def text_guided(museum: Path, ratings: Path, judges: Iterable[Path]) -> Iterator[RatedOutcome]:
    """Yield ImagenHub's text-guided outcomes, their sources and references.

    Args:
        museum: folder `ImagenHub_Text-Guided_IE` with a folder of outcomes per method.
        ratings: folder of ImagenHub's tables, one per rater.
        judges: VIEScore's answers, one TSV per judge.
    """
    people = _mean_ratings(published_ratings("imagenhub", ratings))
    silver = _judge_answers(judges)
    for edit in open_benchmark("imagenhub", museum).edits:
        yield RatedOutcome("text-guided", edit, SOURCE, edit.source.path, {"success": 0.0, "quality": 1.0, "done": 0.0})
        if edit.reference is not None:
            yield RatedOutcome("text-guided", edit, REFERENCE, edit.reference.path, {"success": 1.0, "done": 1.0})
        for (name, method), labels in people.items():
            image = museum / method / Path(edit.source.path).name
            if name == edit.id and image.is_file():
                yield RatedOutcome("text-guided", edit, method, image, labels | silver.get((name, method), {}))


def mask_guided(museum: Path, masked: Path) -> Iterator[RatedOutcome]:
    """Yield rated mask-guided outcomes of the same photographs, measured without their masks.

    Args:
        museum: folder `ImagenHub_Text-Guided_IE` with sources and instructions.
        masked: folder with a folder of outcomes per method, `ratings.csv` and `judges.csv`.
    """
    people: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for row in _rows(masked / "ratings.csv"):
        rating = float(row["semantic_consistency"]), float(row["perceptual_quality"])
        people.setdefault((Path(row["edit"]).stem, row["method"]), []).append(rating)
    silver = {
        (Path(row["edit"]).stem, row["method"]): {
            "done": float(row["success"]) / MAX_JUDGE_SCORE,
            "kept": float(row["no_overediting"]) / MAX_JUDGE_SCORE,
        }
        for row in _rows(masked / "judges.csv")
        if row["judge"] == SILVER_JUDGE and row["success"] and row["no_overediting"]
    }
    for edit in open_benchmark("imagenhub", museum).edits:
        for (name, method), ratings in people.items():
            image = masked / method / Path(edit.source.path).name
            if name == edit.id and image.is_file():
                success, quality = (float(value) for value in np.mean(ratings, axis=0))
                labels = {"success": success, "quality": quality} | silver.get((name, method), {})
                yield RatedOutcome("mask-guided", edit, method, image, labels)


def single_editor(folder: Path) -> Iterator[RatedOutcome]:
    """Yield the outcomes of a folder that `write_magicbrush` wrote."""
    for edit in open_benchmark(str(folder)).edits:
        yield RatedOutcome("magicbrush", edit, "dalle2", folder / "outcomes" / f"{edit.id}.png")


def write_magicbrush(folder: Path, out: Path) -> Path:
    """Write rated edits of MagicBrush as a benchmark folder, with the editor's watermark covered by the source.

    Args:
        folder: with `edits.jsonl` (id, turn, source, edited, instruction), images and `ratings.csv`.
        out: folder to write.
    """
    for name in ("images", "outcomes"):
        (out / name).mkdir(parents=True, exist_ok=True)
    lines = []
    for line in (folder / "edits.jsonl").read_text("utf-8").splitlines():
        edit = json.loads(line)
        name = f"{edit['id']}-{edit['turn']}"
        source, edited = (Image.open(folder / edit[side]).convert("RGB") for side in ("source", "edited"))
        edited = edited.resize(source.size)
        width, height = source.size
        corner = (width - int(width * WATERMARK[0]), height - int(height * WATERMARK[1]), width, height)
        edited.paste(source.crop(corner), corner)
        source.save(out / "images" / f"{name}.png", compress_level=1)
        edited.save(out / "outcomes" / f"{name}.png", compress_level=1)
        row = {"id": name, "source": f"images/{name}.png", "instruction": edit["instruction"]}
        lines.append(json.dumps(row | {"photograph": f"sample_{edit['id']}"}))
    (out / "edits.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    return out


def probe_outcomes(folder: Path) -> Iterator[RatedOutcome]:
    """Yield probes of the tuning half that are plainly done or not done."""
    edits = {edit.id: edit for edit in open_benchmark(str(folder)).edits}
    for probe in read_probes(folder):
        if probe.split == "tuning" and probe.severity in (None, 1.0) and probe.done is not None:
            yield RatedOutcome(
                "probes", edits[probe.id], PROBES, folder / OUTCOMES / f"{probe.id}.png", _probe_labels(probe)
            )


def _probe_labels(probe: Probe) -> Labels:
    return {"success": float(bool(probe.done)), "done": float(bool(probe.done))}


def _mean_ratings(rows: Iterable[Mapping[str, object]]) -> dict[tuple[str, str], Labels]:
    """Return the mean rating of every outcome by question."""
    names = {"SC": "success", "PQ": "quality"}
    values: dict[tuple[str, str], dict[str, list[float]]] = {}
    for row in rows:
        if row["question"] in names:
            key = str(row["edit"]), str(row["method"])
            values.setdefault(key, {}).setdefault(names[str(row["question"])], []).append(float(str(row["value"])))
    return {key: {name: float(np.mean(ratings)) for name, ratings in labels.items()} for key, labels in values.items()}


def _judge_answers(files: Iterable[Path]) -> dict[tuple[str, str], Labels]:
    """Return the silver labels: the two numbers of `SC_scores` are the edit alone and the absence of over-editing."""
    answers = {}
    for path in files:
        if SILVER_JUDGE not in path.stem:
            continue
        for row in _rows(path, delimiter="\t"):
            numbers = literal_eval(row["SC_scores"]) if row["SC_scores"].startswith("[") else []
            if len(numbers) == 2:
                shares = (float(number) / MAX_JUDGE_SCORE for number in numbers)
                answers[Path(row["uid"]).stem, row["method"]] = dict(zip(("done", "kept"), shares, strict=True))
    return answers


def _rows(path: Path, delimiter: str = ",") -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter=delimiter))
