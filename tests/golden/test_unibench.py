"""UniBench's table 1 from its own cells, and what its tasks on the sample show with `lite` models."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pytest

import editgauge
from editgauge.edit_types import vocabulary
from editgauge.errors import BadInputError
from editgauge.models.weights import available
from editgauge.protocols import SetPart
from editgauge.protocols.unibench import unibench
from editgauge.protocols.unibench._rules import CONSISTENCY, FIDELITY, KINDS, average, total
from editgauge.results.manifest import ProtocolEntry
from editgauge.types import Score
from tests.golden.published import unibench_table_1

WEIGHTS = ("efficientdet-lite2", "u2netp", "wordnet", "lpips-alex")
WITHIN = 0.001
PRINTED = 0.0016
"""Both tables are rounded to three digits."""
METHODS = ("identity", "classical", "overdone", "careless")
EDIT = {
    "object_replacement": (0.0, 0.8, 0.933, 0.0),
    "color": (0.128, 0.759, 0.763, 0.188),
    "positional_addition": (0.0, 0.872, 0.774, 0.3),
    "position_replacement": (0.523, 0.966, 0.810, 0.442),
}
"""Of docs/protocols/unibench.md: mean of `edit` of `unibench-detect` by edit type, for each of the methods."""


def _cells(row: list[float | None], columns: list[str]) -> dict[str, float]:
    return {
        name: value for name, value in zip(columns, row, strict=True) if value is not None and "average" not in name
    }


def test_every_row_and_both_totals_of_every_model_come_out_of_the_cells() -> None:
    table = unibench_table_1()
    assert len(table["models"]) == 5
    for rows in table["models"].values():
        means: dict[str, dict[str, float]] = {task: _cells(rows[task], table["columns"]) for task in KINDS}
        for task in KINDS:
            printed = dict(zip(table["columns"], rows[task], strict=True))
            assert average(means[task], FIDELITY[task]) == pytest.approx(printed["fidelity_average"], abs=WITHIN)
            assert average(means[task], CONSISTENCY[task]) == pytest.approx(printed["consistency_average"], abs=WITHIN)
        assert total(means, FIDELITY) == pytest.approx(rows["total"][0], abs=WITHIN)
        assert total(means, CONSISTENCY) == pytest.approx(rows["total"][1], abs=WITHIN)


def test_the_protocol_itself_totals_a_set_like_the_table() -> None:
    """Outcomes whose scores spread around the cells of the table have its totals."""
    table = unibench_table_1()
    rows = table["models"]["P2P_null_text"]
    parts: list[SetPart] = []
    for task in KINDS:
        cells = _cells(rows[task], table["columns"])
        for aside in (-0.02, 0.0, 0.02):
            values = np.array([value + aside for value in cells.values()])
            parts.append((np.array([KINDS.index(task)]), np.array(list(cells), np.str_), values))
    for name, printed in zip(("total_fidelity", "total_consistency"), rows["total"], strict=True):
        score = unibench.score_set(parts)[name]
        assert isinstance(score, Score)
        assert score.value == pytest.approx(printed, abs=WITHIN)


@pytest.mark.slow
@pytest.mark.timeout(1200)  # nothing is remembered in tests, so that scores of sets ask the models again
@pytest.mark.skipif(not all(map(available, WEIGHTS)), reason="NOT TESTED: run `editgauge models pull lite`")
def test_on_the_sample_the_right_edit_stands_apart_and_a_disturbed_background_shows(tmp_path: Path) -> None:
    places = {method: tmp_path / method for method in METHODS}
    for method, place in places.items():
        editgauge.edit("unibench-sample", method=method, out=place, quiet=True)
    protocols = ["unibench", "unibench-detect"]
    run = editgauge.run(
        "unibench-sample", outcomes=places, protocol=protocols, out=tmp_path / "run", models="lite", quiet=True
    )
    means: dict[tuple[str, str, str], list[float]] = {}
    for row in run.scores.select(["name", "method", "edit_type", "value"]).to_pylist():
        if row["value"] is not None:
            means.setdefault((row["name"], row["method"], row["edit_type"]), []).append(row["value"])
    found = {key: fmean(values) for key, values in means.items()}
    for kind, documented in EDIT.items():
        assert [found["edit", method, kind] for method in METHODS] == pytest.approx(documented, abs=0.01)
        assert found["edit", "classical", kind] > max(found["edit", m, kind] for m in ("identity", "careless")) + 0.2
        background = [found["background_consistency", m, kind] for m in ("identity", "classical", "overdone")]
        assert background == sorted(background, reverse=True)
        assert background[0] == 1.0
        assert background[2] < 0.6
    clip_only = {"fidelity", "target_fidelity", "position_fidelity"}
    assert not clip_only & {name for name, _, _ in found}


def test_one_command_prints_table_1_of_a_run(make_run: Any, make_record: Any, tmp_path: Path) -> None:
    """Outcomes with the cells of the paper's table as scores give its rows and totals."""
    table = unibench_table_1()
    tasks = vocabulary("unibench")
    records = [
        make_record(
            f"{task}-{model}",
            _cells(rows[task], table["columns"]),
            method=model,
            protocol="unibench",
            edit_type=tasks[task],
        )
        for model, rows in table["models"].items()
        for task in KINDS
    ]
    entry = ProtocolEntry("", "", "2", (), unibench.scores)
    run = make_run(*records, protocols={"unibench": entry})

    printed = editgauge.export(run, format="unibench").decode()

    for model, rows in table["models"].items():
        (total_row,) = [line for line in printed.splitlines() if model in line.replace("\\", "") and "total" in line]
        cells = [cell.strip() for cell in total_row.strip("|").split("|")]
        assert float(cells[4]) == pytest.approx(rows["total"][0], abs=PRINTED)
        assert float(cells[7]) == pytest.approx(rows["total"][1], abs=PRINTED)
    assert sum("generate" in line for line in printed.splitlines()) == len(table["models"])
    with pytest.raises(BadInputError, match="no scores of the protocol 'unibench'"):
        editgauge.export(make_run(make_record(), name="other"), format="unibench")
