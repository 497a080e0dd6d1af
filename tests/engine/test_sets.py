"""FID and KID of a run, from real Inception features."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import editgauge
from editgauge._util.images import write_png
from editgauge.engine import _scoring, _sets
from editgauge.models.weights import available
from editgauge.types import Edit, Item, Outcome

NEEDED = ("inception-fid", "efficientdet-lite2")
pytestmark = pytest.mark.slow


@pytest.mark.skipif(not all(map(available, NEEDED)), reason="NOT TESTED: run `editgauge models pull lite`")
def test_a_run_scores_its_sets_by_method_and_edit_type(
    make_benchmark: Callable[..., Path],
    make_outcomes: Callable[..., Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    benchmark = make_benchmark(tmp_path / "benchmark", edits=3, size=64)
    places = {"mine": make_outcomes(benchmark, tmp_path / "mine", 1)}
    models = ["fid_features=inception-fid"]
    decoded: list[Outcome] = []

    load_item = _scoring.load_item

    def load(edit: Edit, outcome: Outcome) -> Item:
        decoded.append(outcome)
        return load_item(edit, outcome)

    monkeypatch.setattr(_sets, "load_item", load)

    run = editgauge.run(
        benchmark, outcomes=places, protocol=["editval"], out=tmp_path / "run", model=models, processes=1, quiet=True
    )
    whole = {score.name: score for score in run.sets if score.edit_type == "all"}
    assert set(whole) == {"fid", "kid"}
    assert whole["fid"].value is not None
    assert whole["fid"].value > 0
    assert whole["fid"].n == 3
    assert "few for FID" in whole["fid"].detail
    assert {score.edit_type for score in run.sets} == {"all", "color", "object_removal", "style"}
    assert decoded == [], "what belongs to a set came with the records"

    again = editgauge.run(
        benchmark, outcomes=places, protocol=["editval"], out=tmp_path / "run", model=models, processes=1, quiet=True
    )
    assert len(decoded) == 3, "of outcomes that were scored before, no part is kept"
    for before, after in zip(run.sets, again.sets, strict=True):
        assert after == replace(before, value=after.value)
        if before.value is not None:
            assert after.value == pytest.approx(before.value, rel=1e-5)  # torch adds up otherwise with more threads

    shallow = editgauge.run(
        benchmark,
        outcomes=places,
        protocol=["editval"],
        out=tmp_path / "shallow",
        model=["fid_features=inception-fid-64"],
        processes=1,
        quiet=True,
    )
    assert {score.name for score in shallow.sets} == {"fid[inception-fid-64]", "kid[inception-fid-64]"}
    (whole_set,) = (score for score in shallow.sets if score.name.startswith("fid") and score.edit_type == "all")
    assert "features of 64 numbers" in whole_set.detail


@pytest.mark.skipif(not all(map(available, NEEDED)), reason="NOT TESTED: run `editgauge models pull lite`")
def test_a_lost_outcome_is_counted_and_a_run_begun_anew_keeps_no_old_number(
    make_benchmark: Callable[..., Path], make_outcomes: Callable[..., Path], tmp_path: Path
) -> None:
    benchmark = make_benchmark(tmp_path / "benchmark", edits=4, size=64)
    mine = make_outcomes(benchmark, tmp_path / "mine", 1)
    next(iter(sorted(mine.glob("*.png")))).write_bytes(b"no picture")
    models, out = ["fid_features=inception-fid"], tmp_path / "run"

    run = editgauge.run(
        benchmark, outcomes={"mine": mine}, protocol=["editval"], out=out, model=models, processes=1, quiet=True
    )
    (whole,) = (score for score in run.sets if score.edit_type == "all" and score.name == "fid")
    assert (whole.n, whole.missing) == (3, 1)
    assert whole.reasons == {"unreadable_image": 1}
    again = editgauge.run(benchmark, outcomes={"mine": mine}, protocol=["editval"], out=out, processes=1, quiet=True)
    assert again.sets == ()
    assert (out / "superseded" / "0001" / "sets.json").is_file()


@pytest.mark.skipif(not all(map(available, NEEDED)), reason="NOT TESTED: run `editgauge models pull lite`")
def test_a_mask_of_another_shape_costs_its_outcome_and_not_the_run(
    make_benchmark: Callable[..., Path], make_outcomes: Callable[..., Path], tmp_path: Path
) -> None:
    benchmark = make_benchmark(tmp_path / "benchmark", edits=3, size=64)
    places = {"mine": make_outcomes(benchmark, tmp_path / "mine", 1)}
    write_png(np.full((10, 40, 3), 255, np.uint8), benchmark / "odd.png")
    first, *others = (benchmark / "edits.jsonl").read_text("utf-8").splitlines()
    lines = [json.dumps({**json.loads(first), "mask": "odd.png"}), *others]
    (benchmark / "edits.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    models = ["fid_features=inception-fid"]

    run = editgauge.run(
        benchmark, outcomes=places, protocol=["editval"], out=tmp_path / "run", model=models, processes=1, quiet=True
    )

    (whole,) = (score for score in run.sets if score.edit_type == "all" and score.name == "fid")
    assert (whole.n, whole.reasons) == (2, {"unreadable_image": 1})
