"""The averages that papers print, by the aggregation that `compare` marks as theirs.

The data is not ours to ship: `EDITGAUGE_SHARED_DATA` names the folder with `editval` and `pixlens`.
"""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path

import numpy as np
import pytest

from editgauge.findings.aggregations import aggregate_method, chosen_by_paper

PLACE = os.environ.get("EDITGAUGE_SHARED_DATA")
pytestmark = pytest.mark.skipif(
    PLACE is None, reason="NOT TESTED: EDITGAUGE_SHARED_DATA does not name the folder with the published data"
)


@pytest.mark.parametrize("board", ["aut_eval_table.csv", "human_study_table.csv"])
def test_editval_counts_every_edit_type_once(board: str) -> None:
    """The last column of both leaderboards."""
    chosen = chosen_by_paper("editval")
    assert chosen == "by_type"
    with Path(PLACE or "", "editval", board).open(encoding="utf-8", newline="") as file:
        table = [[float(cell) for cell in row[1:]] for row in csv.reader(file)]
    assert len(table) == 8
    for *types, printed in table:
        found = aggregate_method(np.array(types), np.arange(6), np.arange(6))
        assert found[chosen].value == pytest.approx(printed, abs=1e-6)


@pytest.mark.parametrize("place", range(5))
def test_pixlens_counts_every_edit_once(place: int) -> None:
    """Row AVG of table 1, from its eight edit types and their counts; the mean over types is another number."""
    chosen = chosen_by_paper("pixlens")
    assert chosen == "count_weighted"
    told = json.loads(Path(PLACE or "", "pixlens", "published_tables.json").read_text("utf-8"))
    rows, counts = told["table1_edit_specific"]["rows"], told["edit_counts_for_weighting"]
    printed = rows["AVG"][place]
    sizes = [counts[name] for name in counts]
    edits = np.repeat([rows[name][place] for name in counts], sizes)
    found = aggregate_method(edits, np.repeat(list(counts), sizes), np.arange(edits.size))
    assert found[chosen].value == pytest.approx(printed, abs=0.0003)
    assert found["by_type"].value != pytest.approx(printed, abs=0.0003)
