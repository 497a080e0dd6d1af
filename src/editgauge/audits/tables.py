"""The verb `judges tables`: EditInspector's tables 3 and 4 for the judges of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from editgauge._stats.intervals import clustered_mean
from editgauge._stats.resampling import Estimate, as_estimate
from editgauge.analysis.binary_agreement import binary_agreement
from editgauge.errors import BadInputError
from editgauge.judges._panel import is_panel
from editgauge.protocols import parse_variant
from editgauge.results import Run

INSPECTOR, CAPTIONS = "editinspector", "difference-captions"
QUESTIONS = {
    "Accuracy": "edit",
    "Contextual Consistency": "consistent",
    "Technical Precision": "precise",
    "Artifacts": "artifacts",
    "Difference Caption Accuracy": "caption_right",
}
"""Rows of table 3, by the score that answers the question; the value is the balanced accuracy against people."""
DIFFERENCES = {
    "Main Difference": "main_matched",
    "MP": "mp",
    "MP soft": "soft_mp",
    "HR": "hr",
    "HR soft": "soft_hr",
    "Avg. Diff": "differences",
    "No Diffs": "differences",
}
WORDS = {
    "Main Difference": "main_matched",
    "MP": "mp",
    "HR": "hr",
    "METEOR": "meteor",
    "ROUGE-1": "rouge_1",
    "ROUGE-2": "rouge_2",
    "BLEU": "bleu",
}
"""Rows of table 4."""
NO_DIFFS = "No Diffs"
NOT_SCORED = Estimate(None, None, None, 0, 0, "the run has no such score of this judge")
NO_RATINGS = Estimate(None, None, None, 0, 0, "needs `ratings`, what people answered")


@dataclass(frozen=True, slots=True)
class InspectorTables:
    """Both tables: rows to judges to values, each with its interval and its number of outcomes."""

    judges: tuple[str, ...]
    table_3: Mapping[str, Mapping[str, Estimate]]
    table_4: Mapping[str, Mapping[str, Estimate]]


def tables(run: str | Path, *, ratings: str | Path | None = None) -> InspectorTables:
    """Print EditInspector's tables 3 and 4 for all judges of a run.

    Table 3: the balanced accuracy of the five questions against people, and difference captions. Table 4: the captions
    compared by their words too. Intervals are clustered by source image.

    Example:
        $ editgauge judges tables run --ratings ratings.csv
        >>> tables("run", ratings="ratings.csv")

    Args:
        run: run folder with the protocols `editinspector`, `difference-captions` or both.
        ratings: people's answers, as `editgauge data ratings editinspector` writes them; needed for the questions.

    """
    opened = Run.open(Path(run))
    columns = _columns(opened)
    if not columns:
        raise BadInputError(
            f"The run '{run}' holds neither {INSPECTOR} nor {CAPTIONS} by a judge: run these protocols with a `judge`."
        )
    judges = tuple(dict.fromkeys(judge for judge, _ in columns))
    accuracy = _accuracies(run, ratings, columns) if ratings is not None else {}
    values = _values(opened, columns)
    return InspectorTables(
        judges,
        {
            **{
                row: {item: accuracy.get((item, name), NOT_SCORED if ratings else NO_RATINGS) for item in judges}
                for row, name in QUESTIONS.items()
            },
            **_rows(DIFFERENCES, judges, values),
        },
        _rows(WORDS, judges, values),
    )


Columns = dict[tuple[str, str], str]
"""(judge, protocol without options) to the protocol's full name."""


def _columns(run: Run) -> Columns:
    """Return the columns; a judge that was asked in several ways has one for each."""
    columns: Columns = {}
    for protocol in run.manifest.protocols:
        base, options = parse_variant(protocol)
        judge = next((option for option in options if option in run.manifest.judges or is_panel(option)), None)
        if judge is None or base.partition("@")[0] not in (INSPECTOR, CAPTIONS):
            continue
        further = [f"{name}={value}" if value else name for name, value in options.items() if name != judge]
        further += ["@released"] if "@" in base else []
        name = " ".join([judge, *further]) if base.startswith(CAPTIONS) else judge
        columns[name, INSPECTOR if base == INSPECTOR else CAPTIONS] = protocol
    return columns


def _accuracies(run: str | Path, ratings: str | Path, columns: Columns) -> dict[tuple[str, str], Estimate]:
    judge_of = {protocol: judge for (judge, base), protocol in columns.items() if base == INSPECTOR}
    if not judge_of:
        return {}
    scores = binary_agreement(run, ratings, [f"{protocol}/*" for protocol in judge_of]).scores
    return {(judge_of[score.protocol], score.spec.name): score.rates.balanced_accuracy for score in scores}


class _Column(NamedTuple):
    """The values of one score by one judge."""

    numbers: list[float]
    sources: list[str]
    scale: tuple[float, float]


def _values(run: Run, columns: Columns) -> dict[tuple[str, str], _Column]:
    """Return the values and their source images by judge and score."""
    judge_of = {protocol: judge for (judge, base), protocol in columns.items() if base == CAPTIONS}
    values: dict[tuple[str, str], _Column] = {}
    names = ("protocol", "name", "source", "value")
    for protocol, name, source, value in zip(*(run.scores[item].to_pylist() for item in names), strict=True):
        if protocol in judge_of and value is not None:
            key = judge_of[protocol], name
            column = values.setdefault(key, _Column([], [], run.spec(protocol, name).range))
            column.numbers.append(value)
            column.sources.append(source)
    return values


def _rows(
    rows: Mapping[str, str],
    judges: tuple[str, ...],
    values: Mapping[tuple[str, str], _Column],
) -> dict[str, dict[str, Estimate]]:
    return {row: {judge: _mean(row, values.get((judge, name))) for judge in judges} for row, name in rows.items()}


def _mean(row: str, values: _Column | None) -> Estimate:
    if values is None:
        return NOT_SCORED
    numbers, sources = np.array(values.numbers), np.array(values.sources)
    counted = (numbers == 0).astype(np.float64) if row == NO_DIFFS else numbers
    return as_estimate(clustered_mean(counted, sources, scale=values.scale))
