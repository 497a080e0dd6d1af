"""One number for many scores can be had in several ways; each by its name, and the one that the paper chose.

Of one method: `count_weighted`, `by_type`, `by_source`. Of all methods of a run: `pooled`, `per_method`, `system`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from editgauge._stats.intervals import Labels, Numbers, clustered_mean
from editgauge._stats.levels import mean_of_clusters, nested_mean
from editgauge._stats.prediction_powered import mean_by_clusters
from editgauge._stats.resampling import Estimate, as_estimate
from editgauge.analysis.columns import Columns
from editgauge.analysis.groups.figures import ANY, EDIT_TYPE, declared_figures

if TYPE_CHECKING:
    from editgauge.results import Run

OF_A_METHOD = {
    "count_weighted": "every scored outcome counts once, so an edit type counts as often as it has edits",
    "by_type": "every edit type counts once",
    "by_source": "every source image counts once",
}
OF_ALL_METHODS = {
    "pooled": "every scored outcome of every method counts once",
    "per_method": "every method counts once; the interval draws source images and keeps these methods",
    "system": "every method counts once; the interval takes them as a sample of methods (Student's t)",
}


def chosen_by_paper(protocol: str) -> str | None:
    """The aggregation in the paper of a protocol, whichever its rule set or variant; None when it chose another.

    >>> chosen_by_paper("pixlens@released")
    'count_weighted'
    """
    base = protocol.partition("[")[0].partition("@")[0]
    over = next((each.over[:1] for each in declared_figures() if each.protocol == base and each.benchmark == ANY), None)
    return None if over is None else {(): "count_weighted", (EDIT_TYPE,): "by_type"}.get(over)


def aggregate_method(
    values: Numbers, edit_types: Labels, sources: Labels, scale: tuple[float, float] | None = None
) -> dict[str, Estimate]:
    """The scores of one method as one number, in every way; empty without scores.

    >>> estimates = aggregate_method(np.array([1.0, 1.0, 0.0]), np.array(["size", "size", "color"]), np.arange(3))
    >>> {name: round(each.value, 2) for name, each in estimates.items()}
    {'count_weighted': 0.67, 'by_type': 0.5, 'by_source': 0.67}
    """
    if not values.size:
        return {}
    return {
        "count_weighted": as_estimate(clustered_mean(values, sources, scale=scale)),
        "by_type": nested_mean(values, [edit_types], sources, scale),
        "by_source": mean_of_clusters(values, sources, scale),
    }


def aggregate_columns(
    columns: Columns, protocol: str, name: str, method: str, scale: tuple[float, float] | None = None
) -> dict[str, Estimate]:
    """The same for one score of one method of a run."""
    rows = columns.scored(protocol, name)
    own = columns.only(rows[columns.method.are(method)[rows]])
    return aggregate_method(own.value, own.edit_type.codes, own.source.codes, scale)


def aggregate_methods(values: Numbers, methods: Labels, sources: Labels) -> dict[str, Estimate]:
    """The scores of all methods as one number, in every way; empty without scores."""
    if not values.size:
        return {}
    names, index = np.unique(methods, return_inverse=True)
    means = np.bincount(index, weights=values) / np.bincount(index)
    return {
        "pooled": as_estimate(clustered_mean(values, sources)),
        "per_method": nested_mean(values, [methods], sources),
        "system": as_estimate(mean_by_clusters(means, names)),
    }


def aggregations(run: Run, protocol: str, name: str) -> dict[str, dict[str, Estimate]]:
    """One score of a run in every way: method to aggregation to number, and `all` for those over all methods."""
    columns = Columns.of(run)
    rows = columns.scored(protocol, name)
    estimates = {method: aggregate_columns(columns, protocol, name, method) for method in run.manifest.methods}
    over_all = aggregate_methods(columns.value[rows], columns.method.codes[rows], columns.source.codes[rows])
    return {**estimates, "all": over_all}


def apart(estimates: Mapping[str, Estimate]) -> bool:
    """Whether a way of aggregating moves the number further than the doubt of the plain mean reaches."""
    plain = estimates.get("count_weighted") or estimates.get("pooled")
    if plain is None or plain.value is None or plain.low is None or plain.high is None:
        return False
    half_width = (plain.high - plain.low) / 2
    return any(each.value is not None and abs(each.value - plain.value) > half_width for each in estimates.values())
