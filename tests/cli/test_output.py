"""Results as JSON that every program can read."""

from __future__ import annotations

import json
import math

from editgauge._cli._output import as_json
from editgauge._stats.intervals import Mean
from editgauge.analysis.outcomes import Matched
from editgauge.analysis.ratings import Rating
from editgauge.types import ScoreSpec


def test_fields_come_by_name() -> None:
    assert json.loads(as_json([Mean(0.5, None, 0.7, 3, 2, "t")])) == [
        {"value": 0.5, "low": None, "high": 0.7, "n": 3, "clusters": 2, "method": "t"}
    ]


def test_an_endless_range_has_no_end_in_json_either() -> None:
    assert json.loads(as_json(ScoreSpec("fid", False, (0.0, math.inf))))["range"] == [0.0, None]


def test_single_answers_are_only_counted() -> None:
    output: Matched[Rating] = Matched((), 2, "edit 'x'", 0)
    assert json.loads(as_json({"ratings": output})) == {
        "ratings": {"matched": 0, "unmatched": 2, "first_unmatched": "edit 'x'", "ambiguous": 0}
    }
