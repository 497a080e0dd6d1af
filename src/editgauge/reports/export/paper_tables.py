"""Tables in the form in which a paper prints them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from editgauge._render.tables import Column, EmptyCell, Label, ResultTable, TableCell, as_markdown
from editgauge.analysis.summary import ALL, summarize
from editgauge.edit_types import vocabulary
from editgauge.errors import BadInputError
from editgauge.protocols.unibench._totals import CONSISTENCY, FIDELITY, average, total

if TYPE_CHECKING:
    from collections.abc import Mapping

    from editgauge.protocols.unibench._totals import Means
    from editgauge.results import Run

UNIBENCH = "unibench"
UNIBENCH_COLUMNS = (
    Column("model", align="left"),
    Column("task", align="left"),
    Column("target fidelity"),
    Column("position fidelity"),
    Column("fidelity, average"),
    Column("target consistency"),
    Column("background consistency"),
    Column("consistency, average"),
)
LEGEND = "Averages are means of the scores that a task has; totals are means over tasks, taken before rounding."


def unibench_table(run: Run) -> str:
    """Table 1 of UniBench for every reading of the protocol in the run: methods by tasks, with averages and totals."""
    readings = [name for name in run.manifest.protocols if name.partition("[")[0] == UNIBENCH]
    if not readings:
        raise BadInputError(
            f"The run '{run.folder}' has no scores of the protocol 'unibench', which table 1 is made of; "
            f"its protocols are {', '.join(run.manifest.protocols)}."
        )
    return "\n".join(as_markdown(_unibench_reading(run, reading)) for reading in readings)


def _unibench_reading(run: Run, reading: str) -> ResultTable:
    means = _unibench_means(run, reading)
    rows = [row for method in run.manifest.methods for row in _unibench_rows(method, means.get(method, {}))]
    return ResultTable(UNIBENCH_COLUMNS, rows, f"{reading}: table 1 of UniBench", LEGEND)


def _unibench_means(run: Run, reading: str) -> Mapping[str, Means]:
    """Method to task to kind of score to its mean."""
    tasks = {edit_type: task for task, edit_type in vocabulary(UNIBENCH).items()}
    means: dict[str, dict[str, dict[str, float]]] = {}
    for cell in summarize(run):
        if cell.protocol == reading and cell.edit_type != ALL and cell.edit_type in tasks and cell.mean:
            of_task = means.setdefault(cell.method, {}).setdefault(tasks[cell.edit_type], {})
            of_task[cell.spec.name] = cell.mean.value
    return means


def _unibench_rows(method: str, means: Means) -> list[list[TableCell]]:
    rows: list[list[TableCell]] = []
    for task in FIDELITY:
        scores = means.get(task)
        if scores is None:
            continue
        numbers = [
            *map(scores.get, ("target_fidelity", "position_fidelity")),
            average(scores, FIDELITY[task]),
            *map(scores.get, ("target_consistency", "background_consistency")),
            average(scores, CONSISTENCY[task]),
        ]
        rows.append([method, task.replace("_", " "), *map(_number, numbers)])
    empty = EmptyCell(text="")
    head = Label(method, style="strong"), Label("total", style="strong")
    fidelity, consistency = _number(total(means, FIDELITY)), _number(total(means, CONSISTENCY))
    return [*rows, [*head, empty, empty, fidelity, empty, empty, consistency]]


def _number(value: float | None) -> TableCell:
    return EmptyCell(text="-") if value is None else value
