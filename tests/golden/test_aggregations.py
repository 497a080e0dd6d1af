"""The averages that papers print, by the aggregation that `compare` marks as theirs."""

from __future__ import annotations

import numpy as np
import pytest

from editgauge.analysis.aggregation import aggregate_method, paper_aggregation
from tests.golden.published import PIXLENS_AVERAGES, PIXLENS_EDITS, PIXLENS_TABLE_1, editval_leaderboard


@pytest.mark.parametrize("board", ["automatic", "people"])
def test_editval_counts_every_edit_type_once(board: str) -> None:
    """The last column of both leaderboards."""
    aggregation = paper_aggregation("editval")
    assert aggregation == "by_type"
    table = editval_leaderboard(board)
    assert len(table) == 8
    for *types, printed in table.values():
        averages = aggregate_method(np.array(types), np.arange(6), np.arange(6))
        assert averages[aggregation].value == pytest.approx(printed, abs=1e-6)


@pytest.mark.parametrize("model", range(5))
def test_pixlens_counts_every_edit_once(model: int) -> None:
    """Row AVG of table 1, from its eight edit types and their counts; the mean over types is another number."""
    aggregation = paper_aggregation("pixlens")
    assert aggregation == "count_weighted"
    printed, sizes = PIXLENS_AVERAGES[model], list(PIXLENS_EDITS.values())
    edits = np.repeat([PIXLENS_TABLE_1[edit_type][model] for edit_type in PIXLENS_EDITS], sizes)
    averages = aggregate_method(edits, np.repeat(list(PIXLENS_EDITS), sizes), np.arange(edits.size))
    assert averages[aggregation].value == pytest.approx(printed, abs=0.0003)
    assert averages["by_type"].value != pytest.approx(printed, abs=0.0003)
