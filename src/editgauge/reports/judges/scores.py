"""The scores of one run by judge: the same protocol asked of several judges, and of their panel."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from editgauge.judges.panel import is_panel
from editgauge.protocols import read_variant, variant_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from editgauge.core.run import Run


class JudgedOutcome(NamedTuple):
    """What was judged."""

    edit: str
    method: str
    seed: int
    source: str


Values = dict[JudgedOutcome, float | None]
"""None where there is no score."""


def scores_by_judge(run: Run) -> dict[tuple[str, str], dict[str, Values]]:
    """The values of every score: by the protocol's name without its judge and the score, then by judge or panel."""
    values: dict[tuple[str, str], dict[str, Values]] = defaultdict(lambda: defaultdict(dict))
    columns = ("protocol", "name", "edit", "method", "seed", "source", "value", "reason")
    for protocol, name, *outcome, value, reason in zip(
        *(run.scores[column].to_pylist() for column in columns), strict=True
    ):
        base, options = read_variant(protocol)
        judge = next((each for each in options if each in run.manifest.judges or is_panel(each)), None)
        if judge is None or reason in ("not_applicable", "missing_outcome"):
            continue
        family = variant_name(base, {each: value for each, value in options.items() if each != judge})
        values[family, name][judge][JudgedOutcome(*outcome)] = value
    return values


def with_judge(family: str, judge: str) -> str:
    """The name of the protocol by which a judge gave the scores of a family."""
    base, options = read_variant(family)
    return variant_name(base, {**options, judge: ""})


def table_of(
    by_judge: Mapping[str, Values],
) -> tuple[list[JudgedOutcome], NDArray[np.float64]]:
    """The outcomes, and a row for each with a column for every single judge; NaN where there is no score."""
    outcomes = sorted({each for values in by_judge.values() for each in values})
    single = [judge for judge in by_judge if not is_panel(judge)]
    rows = [[_number(by_judge[judge].get(outcome)) for judge in single] for outcome in outcomes]
    return outcomes, np.array(rows, dtype=np.float64).reshape(len(outcomes), len(single))


def spreads(table: NDArray[np.float64]) -> Sequence[float]:
    """How far the judges are apart on each outcome; 0 where fewer than two gave a score."""
    return [float(np.nanmax(row) - np.nanmin(row)) if (~np.isnan(row)).sum() > 1 else 0.0 for row in table]


def _number(value: float | None) -> float:
    return np.nan if value is None else float(value)
