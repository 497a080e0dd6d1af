"""Measures every score against people's ratings and writes the tables of the page `explanation/people.md`.

    python docs/people.py --museum FOLDER --ratings RATINGS --judges vie_scores/*.tsv --magicbrush FOLDER --work WORK

The museum is `ImagenHub_Text-Guided_IE` with its outcomes, RATINGS the folder of ImagenHub's rating tables, the judges'
answers are VIEScore's, and the folder of MagicBrush has `edits.jsonl`, `images` and `ratings.csv` of the second ground.
This one command scores both grounds, makes and measures probes, fits `editgauge` without the photograph (or neither
photograph nor method) and writes the tables into the page between its two marks. What it has measured is in WORK: a
second call continues there, so take a new folder for new code.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image
from sklearn.metrics import roc_auc_score

import editgauge
from editgauge import Run
from editgauge._stats.agreement import SPEARMAN, between, correlate, within
from editgauge._stats.resampling import Estimate, estimate, resampled
from editgauge._util.concurrency import run_async
from editgauge.audits.fit.rated import measure, read_rated
from editgauge.audits.fit.ratings import measure_known_probes, rated_probes, write_unseen
from editgauge.benchmarks.datasets import published_ratings

PAGE = Path(__file__).parent / "explanation/people.md"
START, END = "<!-- table: docs/people.py -->", "<!-- end of table -->"
QUESTIONS = {"SC": "semantic consistency", "PQ": "perceptual quality", "overall": "overall"}
PROTOCOLS = (
    "editgauge", "editval", "pixlens", "preservation", "preservation-aligned", "artifacts", "baselines",
)  # fmt: skip
"""Every protocol that `lite` can answer for edits without text; those of people's faces and poses need `lite-plus`."""
MARK = 82 / 512, 18 / 512
"""Width and height of the mark that DALL-E 2 leaves in the lower right corner, as shares of the picture."""
IN_SAMPLE = "editgauge/steps_done"
"""By the fit that comes with the package, which has seen these ratings; there is none of unseen photographs."""
PASSED = 0.5
ANOTHER = "(another ground)"
LEAST = 0.02
"""Share of the outcomes under which a score has no row."""
Key = tuple[str, str]
"""Edit and method."""


@dataclass(frozen=True, slots=True)
class Row:
    """One score against one question."""

    name: str
    answered: float
    per_method: Estimate
    pooled: Estimate
    system: Estimate
    auroc: Estimate | None


def means(answers: Iterable[Mapping[str, object]], question: str) -> dict[Key, dict[str, float]]:
    """The answers to one question by outcome and rater."""
    found: dict[Key, dict[str, float]] = {}
    for answer in answers:
        if answer["question"] == question:
            key = str(answer["edit"]), str(answer["method"])
            found.setdefault(key, {})[str(answer["rater"])] = float(str(answer["value"]))
    return found


def mean_of(answers: Iterable[Mapping[str, object]], question: str) -> dict[Key, float]:
    """The mean answer to one question by outcome."""
    return {key: float(np.mean(list(each.values()))) for key, each in means(answers, question).items()}


def held_against(name: str, scores: Mapping[Key, float], people: Mapping[Key, float], of: int) -> Row:
    keys = sorted(key for key in people if key in scores)
    x, y = (np.array([each[key] for key in keys]) for each in (scores, people))
    methods, photos = np.array([key[1] for key in keys]), np.array([photo(key[0]) for key in keys])
    return Row(
        name,
        len(keys) / of,
        within(SPEARMAN, x, y, methods, photos, fisher_z=True).average,
        correlate(SPEARMAN, x, y, photos),
        between(SPEARMAN, x, y, methods, photos),
        _auroc(x, y >= PASSED, photos),
    )


def photo(edit: str) -> str:
    """Turns of one conversation are edits of one photograph."""
    return edit.rpartition("_")[0]


def _auroc(scores: np.ndarray, good: np.ndarray, photos: np.ndarray) -> Estimate | None:
    if good.all() or not good.any():
        return None

    def answer(weights: np.ndarray) -> np.ndarray:
        return np.array([_weighted(scores, good, column) for column in weights.T])

    drawn = resampled(answer, photos, resamples=400)
    return estimate(float(roc_auc_score(good, scores)), drawn, len(scores), len(set(photos)))


def _weighted(scores: np.ndarray, good: np.ndarray, weights: np.ndarray) -> float:
    if not (weights[good].any() and weights[~good].any()):
        return float("nan")
    return float(roc_auc_score(good, scores, sample_weight=weights))


def scores_of(run: Run) -> dict[str, dict[Key, float]]:
    """Every score by name; one of which less is better is turned round."""
    better = {
        f"{protocol}/{spec.name}": spec.higher_is_better
        for protocol, entry in run.manifest.protocols.items()
        for spec in entry.scores
        if f"{protocol}/{spec.name}" != IN_SAMPLE
    }
    found: dict[str, dict[Key, float]] = {name: {} for name in better}
    columns = (run.scores[name].to_pylist() for name in ("protocol", "name", "edit", "method", "value"))
    for protocol, name, edit, method, value in zip(*columns, strict=True):
        full = f"{protocol}/{name}"
        if value is not None and full in better:
            found[full][edit, method] = value if better[full] else -value
    return found


def unseen_scores(file: Path) -> dict[str, dict[Key, float]]:
    """The scores of `editgauge` by fits that have not seen the photograph, or neither photograph nor method, by fit."""
    found: dict[str, dict[Key, float]] = {}
    for line in file.read_text("utf-8").splitlines():
        record = json.loads(line)
        for name, value in record["scores"].items():
            scores = found.setdefault(f"editgauge/{name}` ({record['fit']})", {})
            scores[record["edit"], record["method"]] = value
    return found


def table(rows: list[Row]) -> list[str]:
    lines = [
        "| score | answers | within a method | pooled | order of the 8 methods | AUROC of a rating >= 0.5 |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        cells = (row.per_method, row.pooled, row.system, row.auroc)
        lines.append(f"| {row.name} | {row.answered:.0%} | {' | '.join(shown(cell) for cell in cells)} |")
    return lines


def shown(value: Estimate | None) -> str:
    if value is None or value.value is None:
        return "–"
    return f"{value.value:.2f}" if value.low is None else f"{value.value:.2f} ({value.low:.2f} to {value.high:.2f})"


def risk_by_coverage(scores: Mapping[Key, float], people: Mapping[Key, float]) -> list[str]:
    """How often the verdict agrees with people's when only the surest share of all outcomes is answered."""
    keys = sorted((key for key in people if key in scores), key=lambda key: -abs(scores[key] - PASSED))
    lines = ["| answered | agrees with people | of those that pass, people pass |", "|---|---|---|"]
    for share in (0.1, 0.2, 0.3, 0.4, 0.5):
        chosen = keys[: int(share * len(people))]
        if len(chosen) < int(share * len(people)):
            break
        same = np.mean([(scores[key] >= PASSED) == (people[key] >= PASSED) for key in chosen])
        passed = [people[key] >= PASSED for key in chosen if scores[key] >= PASSED]
        lines.append(
            f"| {share:.0%} | {same:.2f} | {np.mean(passed):.2f} of {len(passed)} |"
            if passed
            else f"| {share:.0%} | {same:.2f} | none passes |"
        )
    return lines


def one_rater(answers: Mapping[Key, Mapping[str, float]], of: int) -> Row:
    """One rater against the mean of the others; the rows of all raters together."""
    raters = sorted({rater for each in answers.values() for rater in each})
    scores, people = {}, {}
    for rater in raters:
        for (edit, method), each in answers.items():
            others = [value for name, value in each.items() if name != rater]
            if rater in each and others:
                scores[edit, f"{method}\n{rater}"], people[edit, f"{method}\n{rater}"] = (
                    each[rater],
                    float(np.mean(others)),
                )
    return held_against("*one rater against the others*", scores, people, len(people) or of)


def apart(run: Run, ratings: Path, fitted: Mapping[str, Mapping[Key, float]]) -> list[str]:
    """A table of another ground: the rank correlation of every score with every scale of its ratings."""
    answers = list(published_ratings("magicbrush", ratings))
    scales = list(dict.fromkeys(str(each["question"]) for each in answers))
    names = {name.partition("`")[0] for name in fitted}
    scores = {f"`{name.partition('`')[0]}`": each for name, each in fitted.items()} | {
        f"`{name}`": each for name, each in scores_of(run).items() if name not in names and len(set(each.values())) > 1
    }
    people = {scale: {edit: value for (edit, _), value in mean_of(answers, scale).items()} for scale in scales}
    outcomes = set(run.scores["edit"].to_pylist()) & set(people[scales[0]])
    lines = [f"| score | answers | {' | '.join(scales)} |", f"|---|---|{'---|' * len(scales)}"]
    rows = []
    for name, each in scores.items():
        values = {edit: value for (edit, _), value in each.items() if edit in outcomes}
        if len(values) > LEAST * len(outcomes):
            cells = [_pooled(values, people[scale]) for scale in scales]
            rows.append((name, len(values) / len(outcomes), cells))
    rows.sort(key=lambda row: -(row[2][-1].value or -1))
    lines += [f"| {name} | {share:.0%} | {' | '.join(shown(cell) for cell in cells)} |" for name, share, cells in rows]
    head = f"### A second ground: {len(outcomes)} edits of one editor"
    return [head, "", *lines, ""]


def _pooled(scores: Mapping[str, float], people: Mapping[str, float]) -> Estimate:
    edits = sorted(edit for edit in scores if edit in people)
    x, y = (np.array([each[edit] for edit in edits]) for each in (scores, people))
    return correlate(SPEARMAN, x, y, np.array([edit.rpartition("-")[0] for edit in edits]))


def second_ground(folder: Path, out: Path) -> Path:
    """The rated edits of MagicBrush as a benchmark folder, with the editor's mark covered with the source."""
    lines = []
    for place in ("images", "outcomes"):
        (out / place).mkdir(parents=True, exist_ok=True)
    for line in (folder / "edits.jsonl").read_text("utf-8").splitlines():
        edit = json.loads(line)
        name = f"{edit['id']}-{edit['turn']}"
        source, edited = (Image.open(folder / edit[side]).convert("RGB") for side in ("source", "edited"))
        edited = edited.resize(source.size)
        width, height = source.size
        corner = (width - int(width * MARK[0]), height - int(height * MARK[1]), width, height)
        edited.paste(source.crop(corner), corner)
        source.save(out / "images" / f"{name}.png", compress_level=1)
        edited.save(out / "outcomes" / f"{name}.png", compress_level=1)
        row = {"id": name, "source": f"images/{name}.png", "instruction": edit["instruction"]}
        lines.append(json.dumps(row | {"photograph": f"sample_{edit['id']}"}))
    (out / "edits.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    return out


def measured(museum: Path, ratings: Path, magicbrush: Path, work: Path) -> tuple[Run, Run, Path]:
    """The runs over both grounds, and the file with the scores of fits that have not seen the outcome."""
    work.mkdir(parents=True, exist_ok=True)
    second = work / "second"
    if not (second / "edits.jsonl").is_file():
        second_ground(magicbrush, second)
    rated_methods = sorted({str(answer["method"]) for answer in published_ratings("imagenhub", ratings)})
    first_outcomes = [f"{name}={museum / name}" for name in rated_methods if (museum / name).is_dir()]
    second_outcomes = f"dalle2={second / 'outcomes'}"
    first_ratings, second_ratings = f"imagenhub={ratings}", f"magicbrush={magicbrush / 'ratings.csv'}"
    editgauge.run(
        "imagenhub", data=museum, outcomes=first_outcomes, protocol=PROTOCOLS, models="lite", out=work / "run"
    )
    editgauge.run(second, outcomes=[second_outcomes], protocol=PROTOCOLS, models="lite", out=work / "second-run")
    rated, apart_rated, probes = work / "rated.jsonl", work / "second.jsonl", work / "probes"
    run_async(measure("imagenhub", str(museum), first_outcomes, first_ratings, rated))
    run_async(measure(str(second), None, [second_outcomes], second_ratings, apart_rated))
    if not probes.is_dir():
        editgauge.build.probes(out=probes, limit=8)
    measure_known_probes(probes, work / "probes.jsonl")
    records = [*read_rated(rated), *rated_probes(probes, work / "probes.jsonl")]
    write_unseen(records, read_rated(apart_rated), work / "unseen.jsonl")
    return Run.open(work / "run"), Run.open(work / "second-run"), work / "unseen.jsonl"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--museum", required=True, type=Path, help="ImagenHub_Text-Guided_IE with its outcomes")
    parser.add_argument("--ratings", required=True, type=Path, help="ImagenHub's tables, one per rater")
    parser.add_argument("--judges", nargs="*", type=Path, default=[], help="VIEScore's answers")
    parser.add_argument("--magicbrush", required=True, type=Path, help="folder with edits.jsonl, images, ratings.csv")
    parser.add_argument("--work", required=True, type=Path, help="folder for what is measured; a second call continues")
    options = parser.parse_args()
    run, second_run, unseen = measured(options.museum, options.ratings, options.magicbrush, options.work)
    by_fit = unseen_scores(unseen)
    fitted = {name: each for name, each in by_fit.items() if not name.endswith(ANOTHER)}
    plain = {
        name: each for name, each in scores_of(run).items() if not any(new.startswith(f"{name}`") for new in fitted)
    }
    scores = {f"`{name}": each for name, each in fitted.items()} | {f"`{name}`": each for name, each in plain.items()}
    known = set(zip(*(run.scores[name].to_pylist() for name in ("edit", "method")), strict=True))
    answers = published_ratings("imagenhub", options.ratings)
    judges = {file.stem.split("_")[-2]: published_ratings("viescore", file) for file in options.judges}
    lines: list[str] = []
    for question, meaning in QUESTIONS.items():
        rated = {key: each for key, each in means(answers, question).items() if key in known}
        people = {key: float(np.mean(list(each.values()))) for key, each in rated.items()}
        rows = [
            held_against(name, each, people, len(people))
            for name, each in scores.items()
            if len(set(each.values())) > 1
        ]
        rows = sorted((row for row in rows if row.answered > LEAST), key=lambda row: -(row.pooled.value or -1))
        beside = [
            held_against(f"*{name} (VIEScore)*", mean_of(said, question), people, len(people))
            for name, said in judges.items()
        ]
        lines += [f"### {question}: {meaning}", "", *table([*beside, one_rater(rated, len(people)), *rows]), ""]
        if question == "SC":
            surest = risk_by_coverage(fitted["editgauge/edit` (photograph unseen)"], people)
            lines += [
                "Verdicts of `edit` (photograph unseen, pass at 0.5), the most confident outcomes first:",
                "",
                *surest,
                "",
            ]
    others = {name: each for name, each in by_fit.items() if name.endswith(ANOTHER)}
    lines += apart(second_run, options.magicbrush / "ratings.csv", others)
    text = PAGE.read_text("utf-8")
    before, _, rest = text.partition(START)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{START}\n" + "\n".join(lines) + f"{END}{after}", "utf-8")
    sys.stdout.write(f"written: {PAGE}\n")


if __name__ == "__main__":
    main()
