"""Judges of one run side by side: means, coverage, how far they agree, and whether they repeat themselves."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from editgauge._stats.intervals import Mean, clustered_mean
from editgauge._stats.raters import krippendorff
from editgauge._stats.resampling import Estimate
from editgauge.audits.check import NUMERIC_KINDS, recorded_form
from editgauge.engine._judges import FOLDER
from editgauge.errors import BadInputError
from editgauge.judges._endpoint import parse_reply
from editgauge.judges._parsing import UnparsableReplyError
from editgauge.judges._transcripts import Call, Transcripts
from editgauge.reports.sections.judges import JudgedOutcome, Values, scores_by_judge, spreads, table_of, with_judge
from editgauge.results import Run


@dataclass(frozen=True, slots=True)
class JudgeRow:
    """One score by one judge, or by their panel."""

    judge: str
    mean: Mean | None
    coverage: Mean
    """The share of outcomes that have the score."""


@dataclass(frozen=True, slots=True)
class ScoreByJudge:
    """One score of one protocol, by all judges."""

    protocol: str
    score: str
    rows: tuple[JudgeRow, ...]
    agreement: Estimate
    """Krippendorff's alpha among the judges, panels apart."""
    most_apart: tuple[str, ...]
    """Outcomes (edit, method) on which they differ most: look at these in the report."""


@dataclass(frozen=True, slots=True)
class Retest:
    """What a judge answers when it is asked the same question again."""

    judge: str
    questions: int
    same: Mean
    """The share of pairs of answers that are the same."""
    variance: Mean
    """Of the answers to one question, averaged over questions."""


@dataclass(frozen=True, slots=True)
class JudgeComparison:
    """All of it."""

    scores: tuple[ScoreByJudge, ...]
    retests: tuple[Retest, ...]


MAX_SHOWN_DISAGREEMENTS = 5


def side_by_side(run: str | Path) -> JudgeComparison:
    """Compare the judges of a run: means, coverage, agreement, and whether they repeat themselves.

    Intervals are clustered by source image. The outcomes on which judges differ most are listed; the report shows them.

    Example:
        $ editgauge judges compare run
        >>> side_by_side("run")

    Args:
        run: run folder that several judges scored, or one whose judge was asked repeatedly.

    """
    opened = Run.open(Path(run))
    if not opened.manifest.judges:
        raise BadInputError(f"No judge was asked in the run '{run}'.")
    values = scores_by_judge(opened)
    scores = tuple(_compared(opened, *key, by_judge) for key, by_judge in sorted(values.items()) if len(by_judge) > 1)
    folder = Path(run) / FOLDER
    names = {str(entry["model"]): name for name, entry in opened.manifest.judges.items()}
    retests = _retests(Transcripts(folder), names, _photographs(opened)) if folder.is_dir() else ()
    return JudgeComparison(scores, retests)


def _compared(run: Run, protocol: str, score: str, by_judge: Mapping[str, Values]) -> ScoreByJudge:
    outcomes, table = table_of(by_judge)
    scale = run.spec(with_judge(protocol, next(iter(by_judge))), score).range
    sources = np.array([outcome.source for outcome in outcomes])
    rows = tuple(_row(judge, values, outcomes, sources, scale=scale) for judge, values in by_judge.items())
    return ScoreByJudge(protocol, score, rows, krippendorff(table, "interval", sources), _apart(table, outcomes))


def _row(
    judge: str, values: Values, outcomes: Sequence[JudgedOutcome], sources: Any, *, scale: tuple[float, float]
) -> JudgeRow:
    numbers = np.array([np.nan if (value := values.get(outcome)) is None else value for outcome in outcomes])
    is_valid = ~np.isnan(numbers)
    mean = clustered_mean(numbers[is_valid], sources[is_valid], scale=scale) if is_valid.any() else None
    return JudgeRow(judge, mean, clustered_mean(is_valid.astype(np.float64), sources))


def _apart(table: Any, outcomes: Sequence[JudgedOutcome]) -> tuple[str, ...]:
    spread = spreads(table)
    order = sorted(range(len(outcomes)), key=lambda index: -spread[index])[:MAX_SHOWN_DISAGREEMENTS]
    return tuple(
        f"{outcomes[index].edit}, {outcomes[index].method}: {spread[index]:g} apart" for index in order if spread[index]
    )


def _photographs(run: Run) -> dict[str, str]:
    """Map the hash of each image to its source photograph."""
    columns = ("source", "source_pixels", "edited_pixels")
    rows = zip(*(run.scores[column].to_pylist() for column in columns), strict=True)
    return {pixels: source for source, *both in rows for pixels in both if pixels is not None}


def _retests(calls: Transcripts, names: Mapping[str, str], photographs: Mapping[str, str]) -> tuple[Retest, ...]:
    groups: dict[str, dict[str, list[Mapping[str, float]]]] = defaultdict(lambda: defaultdict(list))
    clusters: dict[str, str] = {}
    for call in calls:
        answer = _answer(call)
        if answer is not None and "repairs" not in call.question:
            question = json.dumps(
                {key: value for key, value in call.question.items() if key != "repetition"}, sort_keys=True
            )
            groups[str(call.question["model"])][question].append(answer)
            sources = (photographs.get(pixels) for _, pixels in call.question["images"])
            clusters[question] = next((item for item in sources if item is not None), question)
    retests = []
    for model, questions in groups.items():
        repeated = [(clusters[element], answers) for element, answers in questions.items() if len(answers) > 1]
        if repeated:
            retests.append(_retest(names.get(model, model), repeated))
    return tuple(retests)


def _retest(judge: str, repeated: Sequence[tuple[str, Sequence[Mapping[str, float]]]]) -> Retest:
    """Measure how often a judge repeats its answers; questions come with their photograph."""
    same, variance, sources = [], [], []
    for photograph, answers in repeated:
        for name in answers[0]:
            values = [answer[name] for answer in answers]
            n = len(values)
            same.append(sum(a == b for a in values for b in values) / n / (n - 1) - 1 / (n - 1))
            variance.append(float(np.var(values, ddof=1)))
            sources.append(photograph)
    clusters = np.array(sources)
    return Retest(
        judge, len(repeated), clustered_mean(np.array(same), clusters), clustered_mean(np.array(variance), clusters)
    )


def _answer(call: Call) -> Mapping[str, float] | None:
    """Return the numbers in a recorded answer; yes is 1."""
    form: Mapping[str, Any] = call.question.get("form") or {}
    if call.body is None or call.fault is not None or form.get("kind") not in NUMERIC_KINDS:
        return None
    try:
        answer = recorded_form(form).read(parse_reply(call.body).text)
    except UnparsableReplyError:
        return None
    return answer if isinstance(answer, Mapping) else {"answer": float(answer)}
