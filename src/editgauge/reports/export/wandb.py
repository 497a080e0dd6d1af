"""The means of a run in Weights & Biases, for those who keep their experiments there."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from editgauge.core.errors import BadInput
from editgauge.findings.summary import ALL

if TYPE_CHECKING:
    from editgauge.reports.context import Context

COLUMNS = ("protocol", "score", "method", "edit_type", "mean", "low", "high", "n", "unscored")


def log_means(context: Context, project: str) -> None:
    """Logs every mean as a table, and those over all edits by name, in a run of its own."""
    try:
        wandb: Any = import_module("wandb")
    except ImportError as error:
        raise BadInput(
            "Logging to Weights & Biases needs its library: pip install 'editgauge[wandb]'. "
            "The report itself is written; leave --wandb away to do without."
        ) from error
    manifest = context.run.manifest
    settings = {"benchmark": manifest.benchmark, "edits_sha256": manifest.edits_sha256, "seed": manifest.seed}
    settings |= {"protocols": {name: entry.version for name, entry in manifest.protocols.items()}}
    with wandb.init(project=project, config={**settings, "models": manifest.models}, job_type="editgauge") as logged:
        logged.log({"means": wandb.Table(columns=list(COLUMNS), data=rows(context))})
        for cell in context.cells:
            if cell.edit_type == ALL and cell.mean:
                logged.summary[f"{cell.protocol}/{cell.spec.name}/{cell.method}"] = cell.mean.value


def rows(context: Context) -> list[list[str | float | int | None]]:
    """A row for every mean, in the order of `COLUMNS`; what has no score has no mean."""
    return [
        [
            *(cell.protocol, cell.spec.name, cell.method, cell.edit_type),
            *((cell.mean.value, cell.mean.low, cell.mean.high) if cell.mean else (None, None, None)),
            *(cell.scored, sum(cell.unscored.values())),
        ]
        for cell in context.cells
    ]
