r"""Measures every score against human ratings and writes the tables of the page `explanation/people.md`.

    python -m editgauge.audits.fit --museum FOLDER --ratings RATINGS --judges vie_scores/*.tsv --masked MASKED \
        --magicbrush MAGICBRUSH --work WORK
    python docs/people.py --museum FOLDER --ratings RATINGS --judges vie_scores/*.tsv --masked MASKED \
        --magicbrush MAGICBRUSH --work WORK

The first command fits `editgauge` and writes what fits say that have not seen the outcome to `WORK/unseen.jsonl`. The
second scores the outcomes with the other protocols that `lite` can answer (kept in WORK, so that a second call
continues) and writes the tables into the page between its two marks.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score

import editgauge
from editgauge import Run
from editgauge._stats.agreement import SPEARMAN, between, correlate, within
from editgauge._stats.resampling import Estimate, estimate, resampled
from editgauge.benchmarks.datasets import published_ratings
from editgauge.protocols.editgauge._models import fitted

PAGE = Path(__file__).parent / "explanation/people.md"
START, END = "<!-- table: docs/people.py -->", "<!-- end of table -->"
PROTOCOLS = ("editval", "pixlens", "preservation", "preservation-aligned", "artifacts", "baselines")
"""Other protocols that `lite` can answer for edits without text."""
GOOD = 0.5
"""Mean rating from which people call an outcome good."""
MIN_ANSWERED = 0.02
"""Share of the outcomes below which a score has no row."""
JUDGE_COLUMNS = {"success": "success", "kept": "no_overediting", "quality": "no_artifacts"}
Key = tuple[str, str]
"""Edit and method."""
Scores = Mapping[Key, float]


@dataclass(frozen=True, slots=True)
class Row:
    """One score against one question."""

    name: str
    answered: float
    per_method: Estimate
    pooled: Estimate
    system: Estimate
    auroc: Estimate | None


def compare(name: str, scores: Scores, people: Scores) -> Row:
    """Measure a score against ratings, with intervals over photographs."""
    keys = sorted(key for key in people if key in scores)
    x, y = (np.array([values[key] for key in keys]) for values in (scores, people))
    methods, photos = np.array([key[1] for key in keys]), np.array([photo(key[0]) for key in keys])
    return Row(
        name,
        len(keys) / len(people),
        within(SPEARMAN, x, y, methods, photos, fisher_z=True).average,
        correlate(SPEARMAN, x, y, photos),
        between(SPEARMAN, x, y, methods, photos),
        auroc(x, y >= GOOD, photos),
    )


def photo(edit: str) -> str:
    """Return the photograph of an edit: turns of one conversation are edits of one photograph."""
    return edit.rpartition("_")[0]


def auroc(scores: np.ndarray, good: np.ndarray, photos: np.ndarray) -> Estimate | None:
    """Return the AUROC of a good rating; None if all or no outcomes are good."""
    if good.all() or not good.any():
        return None

    def answer(weights: np.ndarray) -> np.ndarray:
        return np.array([_weighted_auroc(scores, good, column) for column in weights.T])

    drawn = resampled(answer, photos, resamples=400)
    return estimate(float(roc_auc_score(good, scores)), drawn, len(scores), len(set(photos)))


def _weighted_auroc(scores: np.ndarray, good: np.ndarray, weights: np.ndarray) -> float:
    if not (weights[good].any() and weights[~good].any()):
        return float("nan")
    return float(roc_auc_score(good, scores, sample_weight=weights))


def run_scores(run: Run) -> dict[str, dict[Key, float]]:
    """Return every score of a run by name; scores where lower is better are negated."""
    higher = {
        f"{protocol}/{spec.name}": spec.higher_is_better
        for protocol, entry in run.manifest.protocols.items()
        for spec in entry.scores
    }
    scores: dict[str, dict[Key, float]] = {f"`{name}`": {} for name in higher}
    columns = (run.scores[name].to_pylist() for name in ("protocol", "name", "edit", "method", "value"))
    for protocol, name, edit, method, value in zip(*columns, strict=True):
        full = f"{protocol}/{name}"
        if value is not None and full in higher:
            scores[f"`{full}`"][edit, method] = value if higher[full] else -value
    return scores


def read_unseen(path: Path) -> list[dict[str, object]]:
    """Return what fits say that have not seen the outcome, as `editgauge.audits.fit` wrote it."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def own_scores(rows: Iterable[Mapping[str, object]], dataset: str, name: str) -> dict[str, dict[Key, float]]:
    """Return one score of `editgauge` by fit."""
    scores: dict[str, dict[Key, float]] = {}
    for row in rows:
        values: Mapping[str, float] = row["scores"]  # type: ignore[assignment]
        if row["dataset"] == dataset and name in values:
            by_key = scores.setdefault(f"`editgauge/{name}` ({row['fit']})", {})
            by_key[str(row["edit"]), str(row["method"])] = values[name]
    return scores


def labels(rows: Iterable[Mapping[str, object]], dataset: str, name: str) -> dict[Key, float]:
    """Return one label of every outcome of a data set."""
    found: dict[Key, float] = {}
    for row in rows:
        values: Mapping[str, float] = row["labels"]  # type: ignore[assignment]
        if row["dataset"] == dataset and name in values:
            found[str(row["edit"]), str(row["method"])] = values[name]
    return found


def table(rows: Iterable[Row], methods: int) -> list[str]:
    """Return a Markdown table."""
    order = f"order of the {methods} methods"
    lines = [
        f"| score | answers | within a method | pooled | {order} | AUROC of a rating >= 0.5 |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        cells = (row.per_method, row.pooled, row.system, row.auroc)
        lines.append(f"| {row.name} | {row.answered:.0%} | {' | '.join(shown(cell) for cell in cells)} |")
    return lines


def shown(value: Estimate | None) -> str:
    """Return an estimate with its interval."""
    if value is None or value.value is None or np.isnan(value.value):
        return "–"
    return f"{value.value:.2f}" if value.low is None else f"{value.value:.2f} ({value.low:.2f} to {value.high:.2f})"


def sorted_rows(scores: Mapping[str, Scores], people: Scores) -> list[Row]:
    """Return a row per score that answers enough outcomes, best first."""
    rows = [compare(name, values, people) for name, values in scores.items() if len(set(values.values())) > 1]
    return sorted((row for row in rows if row.answered > MIN_ANSWERED), key=lambda row: -(row.pooled.value or -1))


def one_rater(answers: Iterable[Mapping[str, object]], question: str, known: Scores) -> Row:
    """Measure one rater against the mean of the others, all raters together."""
    by_outcome: dict[Key, dict[str, float]] = {}
    for answer in answers:
        key = str(answer["edit"]), str(answer["method"])
        if answer["question"] == question and key in known:
            by_outcome.setdefault(key, {})[str(answer["rater"])] = float(str(answer["value"]))
    scores, people = {}, {}
    for (edit, method), ratings in by_outcome.items():
        for rater, value in ratings.items():
            rest = [rating for name, rating in ratings.items() if name != rater]
            if rest:
                key = edit, f"{method}\n{rater}"
                scores[key], people[key] = value, float(np.mean(rest))
    return compare("*one rater against the others*", scores, people)


def mean_answers(answers: Iterable[Mapping[str, object]], question: str) -> dict[Key, float]:
    """Return the mean answer to one question by outcome."""
    values: dict[Key, list[float]] = {}
    for answer in answers:
        if answer["question"] == question:
            values.setdefault((str(answer["edit"]), str(answer["method"])), []).append(float(str(answer["value"])))
    return {key: float(np.mean(ratings)) for key, ratings in values.items()}


def masked_judges(folder: Path, column: str) -> dict[str, dict[Key, float]]:
    """Return the answers of judges about mask-guided outcomes; `success` and `quality` are the lower of two numbers."""
    pairs = {"success": ("success", "no_overediting"), "quality": ("naturalness", "no_artifacts")}
    columns = pairs.get(column, (JUDGE_COLUMNS[column],))
    scores: dict[str, dict[Key, float]] = {}
    with (folder / "judges.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if all(row[name] for name in columns):
                by_key = scores.setdefault(f"*{row['judge']} (VIEScore)*", {})
                by_key[Path(row["edit"]).stem, row["method"]] = min(float(row[name]) for name in columns)
    return scores


def same_outcomes(
    rows: Iterable[Mapping[str, object]], dataset: str, label: str, judges: Mapping[str, Scores], people: Scores
) -> list[Row]:
    """Measure judges on the outcomes that `success` answers, where it does not answer all."""
    if label != "success":
        return []
    answered = own_scores(rows, dataset, "success")["`editgauge/success` (photograph unseen)"]
    return [
        compare(
            f"{name}, outcomes that `success` answers", {key: values[key] for key in answered if key in values}, people
        )
        for name, values in judges.items()
    ]


def text_guided_tables(
    options: argparse.Namespace, rows: Sequence[Mapping[str, object]], others: Mapping[str, Scores]
) -> list[str]:
    """Return the tables of the text-guided edits."""
    ratings = published_ratings("imagenhub", options.ratings)
    judges = {path.stem.split("_")[-2]: published_ratings("viescore", path) for path in options.judges}
    lines: list[str] = []
    for question, label, names in (("SC", "success", ("success", "edit", "overall")), ("PQ", "quality", ("quality",))):
        people = labels(rows, "text-guided", label)
        own = {key: values for name in names for key, values in own_scores(rows, "text-guided", name).items()}
        known = [
            compare(f"*{name} (VIEScore)*", mean_answers(answers, question), people) for name, answers in judges.items()
        ]
        known += same_outcomes(
            rows,
            "text-guided",
            label,
            {f"*{name} (VIEScore)*": mean_answers(answers, question) for name, answers in judges.items()},
            people,
        )
        title = {"SC": "semantic consistency", "PQ": "perceptual quality"}[question]
        body = [*known, one_rater(ratings, question, people), *sorted_rows({**own, **others}, people)]
        lines += [f"### Text-guided edits, {question}: {title}", "", *table(body, 8), ""]
    kept = labels(rows, "text-guided", "kept")
    body = sorted_rows({**own_scores(rows, "text-guided", "kept"), **others}, kept)
    return [*lines, "### Text-guided edits, over-editing by GPT-4o (silver labels)", "", *table(body, 8), ""]


def mask_guided_tables(options: argparse.Namespace, rows: Sequence[Mapping[str, object]]) -> list[str]:
    """Return the tables of the mask-guided edits."""
    lines: list[str] = []
    titles = {
        "success": "SC: semantic consistency",
        "quality": "PQ: perceptual quality",
        "kept": "over-editing by GPT-4o (silver labels)",
    }
    for label, title in titles.items():
        people = labels(rows, "mask-guided", label)
        names = ("success", "edit") if label == "success" else (label,)
        own = {key: values for name in names for key, values in own_scores(rows, "mask-guided", name).items()}
        judges = {} if label == "kept" else masked_judges(options.masked, label)
        known = [compare(name, values, people) for name, values in judges.items()]
        known += same_outcomes(rows, "mask-guided", label, judges, people)
        body = [*known, *sorted_rows(own, people)]
        methods = len({method for _, method in people})
        lines += [f"### Mask-guided edits, {title}", "", *table(body, methods), ""]
    return lines


def confidence_table() -> list[str]:
    """Return how often answers of each confidence are right, on unseen photographs."""
    lines = ["| Done | confidence | probability that people agree, from | right | of |", "|---|---|---|---|---|"]
    for level in fitted().confidence:
        share = f"{level.right / level.total:.0%}" if level.total else "–"
        threshold = f"{level.threshold:.2f}" if level.total else "–"
        lines.append(f"| {level.answer} | {level.level} | {threshold} | {share} | {level.total} |")
    return ["### Confidence of the verdict", "", *lines, ""]


def magicbrush_table(options: argparse.Namespace, rows: Sequence[Mapping[str, object]], run: Run) -> list[str]:
    """Return the rank correlation of every score with every scale of the second data set."""
    answers = list(published_ratings("magicbrush", options.magicbrush / "ratings.csv"))
    scales = list(dict.fromkeys(str(answer["question"]) for answer in answers))
    names = ("edit", "success", "kept", "quality", "overall")
    own = {key: values for name in names for key, values in own_scores(rows, "magicbrush", name).items()}
    scores = {**own, **run_scores(run)}
    people = {scale: {key[0]: value for key, value in mean_answers(answers, scale).items()} for scale in scales}
    outcomes = {edit for values in scores.values() for edit, _ in values} & set(people[scales[0]])
    body = []
    for name, values in scores.items():
        by_edit = {edit: value for (edit, _), value in values.items() if edit in outcomes}
        if len(by_edit) > MIN_ANSWERED * len(outcomes) and len(set(by_edit.values())) > 1:
            cells = [_correlation(by_edit, people[scale]) for scale in scales]
            body.append((name, len(by_edit) / len(outcomes), cells))
    body.sort(key=lambda row: -(row[2][-1].value or -1))
    lines = [f"| score | answers | {' | '.join(scales)} |", f"|---|---|{'---|' * len(scales)}"]
    lines += [f"| {name} | {share:.0%} | {' | '.join(shown(cell) for cell in cells)} |" for name, share, cells in body]
    return [f"### Second data set: {len(outcomes)} edits of one editor", "", *lines, ""]


def _correlation(scores: Mapping[str, float], people: Mapping[str, float]) -> Estimate:
    edits = sorted(edit for edit in scores if edit in people)
    x, y = (np.array([values[edit] for edit in edits]) for values in (scores, people))
    return correlate(SPEARMAN, x, y, np.array([edit.rpartition("-")[0] for edit in edits]))


def other_runs(options: argparse.Namespace, rows: Iterable[Mapping[str, object]]) -> tuple[Run, Run]:
    """Score both data sets with the other protocols; a second call continues."""
    methods = sorted({str(row["method"]) for row in rows if row["dataset"] == "text-guided"})
    outcomes = [f"{method}={options.museum / method}" for method in methods]
    runs = options.work / "run", options.work / "second-run"
    if not (runs[0] / "manifest.json").is_file():
        editgauge.run(
            "imagenhub", data=options.museum, outcomes=outcomes, protocol=PROTOCOLS, models="lite", out=runs[0]
        )
    if not (runs[1] / "manifest.json").is_file():
        folder = options.work / "magicbrush"
        outcome = [f"dalle2={folder / 'outcomes'}"]
        editgauge.run(folder, outcomes=outcome, protocol=PROTOCOLS, models="lite", out=runs[1])
    return Run.open(runs[0]), Run.open(runs[1])


def main() -> None:
    """Write the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--museum", required=True, type=Path, help="ImagenHub_Text-Guided_IE with its outcomes")
    parser.add_argument("--ratings", required=True, type=Path, help="ImagenHub's tables, one per rater")
    parser.add_argument("--judges", nargs="*", type=Path, default=[], help="VIEScore's answers")
    parser.add_argument("--masked", required=True, type=Path, help="mask-guided outcomes with ratings and judges")
    parser.add_argument("--magicbrush", required=True, type=Path, help="folder with edits.jsonl, images, ratings.csv")
    parser.add_argument("--work", required=True, type=Path, help="folder of `editgauge.audits.fit`")
    options = parser.parse_args()
    rows = read_unseen(options.work / "unseen.jsonl")
    run, second_run = other_runs(options, rows)
    lines = text_guided_tables(options, rows, run_scores(run))
    lines += [*mask_guided_tables(options, rows), *confidence_table(), *magicbrush_table(options, rows, second_run)]
    text = PAGE.read_text("utf-8")
    before, _, rest = text.partition(START)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{START}\n" + "\n".join(lines) + f"{END}{after}", "utf-8")
    sys.stdout.write(f"written: {PAGE}\n")


if __name__ == "__main__":
    main()
