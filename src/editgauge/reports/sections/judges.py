"""Report the outcomes on which the judges of a run differ most, with images and all answers."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from editgauge._render import text
from editgauge._stats.raters import krippendorff
from editgauge.judges._panel import is_panel
from editgauge.protocols import format_variant, parse_variant
from editgauge.reports.sections import TemplateSection
from editgauge.reports.sections.agreement import notes_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from editgauge._stats.intervals import Numbers
    from editgauge._stats.resampling import Estimate
    from editgauge.reports.context import Context
    from editgauge.results import Run
    from editgauge.types import ScoreSpec

MAX_DISPUTES = 6
MAX_NOTES = 2


class JudgedOutcome(NamedTuple):
    """Identity and source image of a judged outcome."""

    edit: str
    method: str
    seed: int
    source: str


Values = dict[JudgedOutcome, float | None]
"""Scores by outcome; None for missing scores."""


@dataclass(frozen=True, slots=True)
class JudgeAnswer:
    """The answer of one judge or panel."""

    judge: str
    value: str
    reasons: list[str]


@dataclass(frozen=True, slots=True)
class JudgeDispute:
    """One outcome on which judges differ."""

    outcome: JudgedOutcome
    instruction: str
    spread: str
    answers: list[JudgeAnswer]


@dataclass(frozen=True, slots=True)
class JudgeDisputes:
    """The outcomes on which judges differ most in one score."""

    protocol: str
    spec: ScoreSpec
    judges: list[str]
    outcomes: int
    """Number of outcomes that at least two judges scored."""
    equal: int
    """Number of these outcomes with the same score from all judges."""
    agreement: str
    examples: list[JudgeDispute]


def judge_disputes(context: Context) -> list[JudgeDisputes]:
    """Return the disputes on the primary scores of each protocol that several judges answered."""
    families: dict[str, dict[str, dict[str, Values]]] = defaultdict(dict)
    for (family, name), by_judge in scores_by_judge(context.run).items():
        if sum(not is_panel(judge) for judge in by_judge) > 1:
            families[family][name] = by_judge
    return [
        disputes
        for family, scores in sorted(families.items())
        for name in _select_scores(family, scores, context)
        if (disputes := _find_disputes(family, name, scores[name], context)).outcomes
    ]


def _select_scores(family: str, scores: Mapping[str, Mapping[str, Values]], context: Context) -> list[str]:
    """Return the scores that answer a question about the edit; without any, the most disputed one."""
    names = [name for name, by_judge in scores.items() if _spec(family, name, by_judge, context).question]
    return names or [max(scores, key=lambda name: float(np.mean(spreads(table_of(scores[name])[1]))))]


def _spec(family: str, name: str, by_judge: Mapping[str, Values], context: Context) -> ScoreSpec:
    return context.run.spec(with_judge(family, next(iter(by_judge))), name)


def _find_disputes(family: str, name: str, by_judge: Mapping[str, Values], context: Context) -> JudgeDisputes:
    """Return the outcomes on which judges differ most in one score, and the agreement on all outcomes."""
    outcomes, table = table_of(by_judge)
    score_counts = (~np.isnan(table)).sum(axis=1)
    spread_by_outcome = {
        outcome: spread
        for outcome, spread, count in zip(outcomes, spreads(table), score_counts, strict=True)
        if count > 1
    }
    return JudgeDisputes(
        protocol=family,
        spec=_spec(family, name, by_judge, context),
        judges=[judge for judge in by_judge if not is_panel(judge)],
        outcomes=len(spread_by_outcome),
        equal=sum(spread == 0 for spread in spread_by_outcome.values()),
        agreement=_format_estimate(krippendorff(table, "interval", np.array([outcome.source for outcome in outcomes]))),
        examples=_make_examples(family, name, by_judge, _most_disputed(spread_by_outcome, context), context),
    )


def _most_disputed(spread_by_outcome: Mapping[JudgedOutcome, float], context: Context) -> dict[JudgedOutcome, float]:
    """Return the outcomes with the largest spreads in descending order, at most one per edit."""
    by_edit: dict[str, JudgedOutcome] = {}
    for outcome in sorted(spread_by_outcome, key=spread_by_outcome.__getitem__, reverse=True):
        if spread_by_outcome[outcome] and (context.sample is None or outcome.edit in context.sample):
            by_edit.setdefault(outcome.edit, outcome)
    return {outcome: spread_by_outcome[outcome] for outcome in list(by_edit.values())[:MAX_DISPUTES]}


def _make_examples(
    family: str,
    name: str,
    by_judge: Mapping[str, Values],
    disputed: Mapping[JudgedOutcome, float],
    context: Context,
) -> list[JudgeDispute]:
    """Return the disputed outcomes with all answers, given the spread of each."""
    reasons = _reasons(family, name, judges=list(by_judge), outcomes=list(disputed), context=context)
    return [
        JudgeDispute(
            outcome,
            instruction=str(context.run.edits.get(outcome.edit, {}).get("instruction") or ""),
            spread=text.plain(round(spread, 2)),
            answers=[
                JudgeAnswer(judge, _format_value(values.get(outcome)), reasons[outcome, judge][:MAX_NOTES])
                for judge, values in by_judge.items()
            ],
        )
        for outcome, spread in disputed.items()
    ]


def _format_estimate(estimate: Estimate) -> str:
    if estimate.value is None:
        return f"none ({estimate.reason})"
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:.2f}"
    return f"{estimate.value:.2f} [{estimate.low:.2f}, {estimate.high:.2f}]"


def _format_value(value: float | None) -> str:
    return "no score" if value is None else text.plain(round(value, 2))


def _reasons(
    family: str, score: str, judges: Sequence[str], outcomes: Sequence[JudgedOutcome], context: Context
) -> dict[tuple[JudgedOutcome, str], list[str]]:
    """Return the notes by outcome and judge; those that name the score if there are any."""
    by_protocol = {with_judge(family, judge): judge for judge in judges}
    by_key = {(outcome.edit, outcome.method, outcome.seed): outcome for outcome in outcomes}
    reasons: dict[tuple[JudgedOutcome, str], list[str]] = defaultdict(list)
    for key, _, note in notes_of(context.run, {outcome.edit for outcome in outcomes}):
        outcome, judge = by_key.get((key.edit, key.method, key.seed)), by_protocol.get(key.protocol)
        if outcome is not None and judge is not None and note not in reasons[outcome, judge]:
            reasons[outcome, judge].append(note)
    for outcome_and_judge, notes in reasons.items():
        reasons[outcome_and_judge] = [note for note in notes if score in note] or notes
    return reasons


def scores_by_judge(run: Run) -> dict[tuple[str, str], dict[str, Values]]:
    """Return the values of every score, by protocol without judge and score, then by judge or panel."""
    values: dict[tuple[str, str], dict[str, Values]] = defaultdict(lambda: defaultdict(dict))
    columns = ("protocol", "name", "edit", "method", "seed", "source", "value", "reason")
    for protocol, name, *outcome, value, reason in zip(
        *(run.scores[column].to_pylist() for column in columns), strict=True
    ):
        base, options = parse_variant(protocol)
        judge = next((option for option in options if option in run.manifest.judges or is_panel(option)), None)
        if judge is None or reason in ("not_applicable", "missing_outcome"):
            continue
        family = format_variant(base, {option: setting for option, setting in options.items() if option != judge})
        values[family, name][judge][JudgedOutcome(*outcome)] = value
    return values


def with_judge(family: str, judge: str) -> str:
    """Return the name of the protocol variant of a judge."""
    base, options = parse_variant(family)
    return format_variant(base, {**options, judge: ""})


def table_of(by_judge: Mapping[str, Values]) -> tuple[list[JudgedOutcome], Numbers]:
    """Return the outcomes, and an array of one row per outcome and one column per judge; NaN for missing scores."""
    outcomes = sorted({outcome for values in by_judge.values() for outcome in values})
    judges = [judge for judge in by_judge if not is_panel(judge)]
    rows = [[by_judge[judge].get(outcome) for judge in judges] for outcome in outcomes]
    return outcomes, np.array(rows, dtype=np.float64).reshape(len(outcomes), len(judges))  # None becomes NaN


def spreads(table: Numbers) -> list[float]:
    """Return the range of the judges' scores on each outcome; 0 with fewer than two scores."""
    return [float(np.nanmax(row) - np.nanmin(row)) if (~np.isnan(row)).sum() > 1 else 0.0 for row in table]


def _content(context: Context) -> dict[str, Any] | None:
    disputes = judge_disputes(context) if context.run.manifest.judges else []
    return {"judge_disputes": disputes} if disputes else None


section = TemplateSection("judges", "Judges", 56, _content)
