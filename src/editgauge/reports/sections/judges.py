"""The outcomes on which the judges of a run differ most, with images and all answers."""

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
    from editgauge.reports.context import Context
    from editgauge.results import Run
    from editgauge.types import ScoreSpec

MAX_DISPUTES = 6
MAX_NOTES = 2


class JudgedOutcome(NamedTuple):
    """Identity of a judged outcome."""

    edit: str
    method: str
    seed: int
    source: str


Values = dict[JudgedOutcome, float | None]
"""None where there is no score."""


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
    """That at least two judges scored."""
    equal: int
    """Of these, how many got the same score of all."""
    agreement: str
    examples: list[JudgeDispute]


def judge_disputes(context: Context) -> list[JudgeDisputes]:
    """Return the disputes on the primary scores of each protocol that several judges answered."""
    values = scores_by_judge(context.run)
    families: dict[str, dict[str, dict[str, Values]]] = defaultdict(dict)
    for (family, name), by_judge in values.items():
        if sum(not is_panel(judge) for judge in by_judge) > 1:
            families[family][name] = by_judge
    return [
        disputes
        for family, scores in sorted(families.items())
        for name in _primary(family, scores, context)
        if (disputes := _of_score(family, name, scores[name], context)).outcomes
    ]


def _primary(family: str, scores: Mapping[str, Mapping[str, Values]], context: Context) -> list[str]:
    """Return the scores that answer a question about the edit; without any, the most disputed one."""
    specs = {name: _spec(family, by_judge, name, context) for name, by_judge in scores.items()}
    answering = [name for name, spec in specs.items() if spec.question]
    return answering or [max(scores, key=lambda name: float(np.mean(spreads(table_of(scores[name])[1]))))]


def _spec(family: str, by_judge: Mapping[str, Values], name: str, context: Context) -> ScoreSpec:
    return context.run.spec(with_judge(family, next(iter(by_judge))), name)


def _of_score(family: str, name: str, by_judge: Mapping[str, Values], context: Context) -> JudgeDisputes:
    outcomes, table = table_of(by_judge)
    spread = spreads(table)
    counted = (~np.isnan(table)).sum(axis=1) > 1
    order = sorted(np.flatnonzero(counted).tolist(), key=lambda index: -spread[index])
    by_edit: dict[str, int] = {}  # one outcome per edit
    for index in order:
        if spread[index] and (context.sample is None or outcomes[index].edit in context.sample):
            by_edit.setdefault(outcomes[index].edit, index)
    disputed = list(by_edit.values())[:MAX_DISPUTES]
    reasons = _reasons(
        family, name, judges=list(by_judge), outcomes=[outcomes[index] for index in disputed], context=context
    )
    alpha = krippendorff(table, "interval", np.array([outcome.source for outcome in outcomes]))
    interval = "" if alpha.low is None or alpha.high is None else f" [{alpha.low:.2f}, {alpha.high:.2f}]"
    return JudgeDisputes(
        protocol=family,
        spec=_spec(family, by_judge, name, context),
        judges=[judge for judge in by_judge if not is_panel(judge)],
        outcomes=int(counted.sum()),
        equal=sum(not spread[index] for index in order),
        agreement=f"none ({alpha.reason})" if alpha.value is None else f"{alpha.value:.2f}{interval}",
        examples=[
            JudgeDispute(
                outcomes[index],
                str(context.run.edits.get(outcomes[index].edit, {}).get("instruction") or ""),
                text.plain(round(spread[index], 2)),
                [
                    JudgeAnswer(
                        judge, _value_text(values, outcomes[index]), reasons[outcomes[index], judge][:MAX_NOTES]
                    )
                    for judge, values in by_judge.items()
                ],
            )
            for index in disputed
        ],
    )


def _value_text(values: Values, outcome: JudgedOutcome) -> str:
    value = values.get(outcome)
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
    for target, notes in reasons.items():
        reasons[target] = [note for note in notes if score in note] or notes
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
        family = format_variant(base, {option: value for option, value in options.items() if option != judge})
        values[family, name][judge][JudgedOutcome(*outcome)] = value
    return values


def with_judge(family: str, judge: str) -> str:
    """Return the name of the protocol variant of a judge."""
    base, options = parse_variant(family)
    return format_variant(base, {**options, judge: ""})


def table_of(by_judge: Mapping[str, Values]) -> tuple[list[JudgedOutcome], Numbers]:
    """Return the outcomes, and an array of one row per outcome and one column per judge; NaN for missing scores."""
    outcomes = sorted({outcome for values in by_judge.values() for outcome in values})
    single = [judge for judge in by_judge if not is_panel(judge)]
    rows = [[_number(by_judge[judge].get(outcome)) for judge in single] for outcome in outcomes]
    return outcomes, np.array(rows, dtype=np.float64).reshape(len(outcomes), len(single))


def spreads(table: Numbers) -> list[float]:
    """Return the range of the judges' scores on each outcome; 0 with fewer than two scores."""
    return [float(np.nanmax(row) - np.nanmin(row)) if (~np.isnan(row)).sum() > 1 else 0.0 for row in table]


def _number(value: float | None) -> float:
    return np.nan if value is None else float(value)


def _content(context: Context) -> dict[str, Any] | None:
    disputes = judge_disputes(context) if context.run.manifest.judges else []
    return {"judge_disputes": disputes} if disputes else None


section = TemplateSection("judges", "Judges", 56, _content)
