"""Do the protocols tell a right edit from nothing done and from a wrong one? On `sample` the truth is known."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import editgauge
from editgauge.models.weights import available

WEIGHTS = ("efficientdet-lite2", "u2netp", "wordnet")
PASSED = {
    "editval": {"identity": (0, 22), "classical": (19, 22), "overdone": (17, 22), "careless": (4, 22)},
    "editval@released": {"identity": (0, 22), "classical": (15, 22), "overdone": (13, 22), "careless": (2, 22)},
    "pixlens": {"identity": (0, 38), "classical": (32, 38), "overdone": (29, 37), "careless": (3, 38)},
    "pixlens@released": {"identity": (0, 37), "classical": (33, 37), "overdone": (29, 36), "careless": (5, 37)},
}
"""Of docs/parity.md: outcomes with `edit` of at least a half, and outcomes with a score."""


@pytest.mark.slow
@pytest.mark.skipif(not all(map(available, WEIGHTS)), reason="NOT TESTED: run `editgauge models pull lite`")
def test_the_documented_rates_come_out_again(tmp_path: Path) -> None:
    places = {method: tmp_path / method for method in PASSED["editval"]}
    for method, place in places.items():
        editgauge.edit("sample", method=method, out=place, quiet=True)
    run = editgauge.run("sample", outcomes=places, protocol=list(PASSED), out=tmp_path / "run", quiet=True)

    passed: Counter[tuple[str, str]] = Counter()
    scored: Counter[tuple[str, str]] = Counter()
    for row in run.scores.select(["protocol", "name", "method", "value"]).to_pylist():
        if row["name"] == "edit" and row["value"] is not None:
            scored[row["protocol"], row["method"]] += 1
            passed[row["protocol"], row["method"]] += row["value"] >= 0.5
    found = {
        protocol: {method: (passed[protocol, method], scored[protocol, method]) for method in methods}
        for protocol, methods in PASSED.items()
    }
    assert found == PASSED
