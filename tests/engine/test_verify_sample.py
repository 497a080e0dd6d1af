"""`verify` scores a sample again: it finds a run whose hashes are all right and whose numbers are not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from editgauge._util.images import read_image, write_png
from editgauge.engine.run import run as score_all
from editgauge.engine.verify import draw_sample, verify
from editgauge.protocols import protocols
from editgauge.results import JournalEntry, Run, RunWriter, ScoreKey, ScoreRecord
from editgauge.results._records import ImageStamp
from editgauge.types import ScoreSpec

pytestmark = pytest.mark.slow

EDITS, SCORES = 4, 12


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def benchmark(home: Path, make_benchmark: Callable[..., Path]) -> Path:
    return make_benchmark(home / "benchmark", edits=EDITS)


@pytest.fixture(scope="module")
def honest(home: Path, benchmark: Path, make_outcomes: Callable[..., Path]) -> Path:
    outcomes = make_outcomes(benchmark, home / "outcomes", 1)
    protocol = "preservation"
    score_all(benchmark, outcomes={"mine": outcomes}, out=home / "honest", protocol=protocol, processes=1, quiet=True)
    return home / "honest"


def written_anew(
    honest: Path,
    folder: Path,
    change: Callable[[ScoreKey, ScoreRecord], ScoreRecord] = lambda _, record: record,
    **manifest: Any,
) -> Path:
    """The same run with some rows or settings changed, every hash as it should be."""
    run = Run.open(honest)
    records: dict[ScoreKey, JournalEntry] = {}
    for row in run.scores.to_pylist():
        key = ScoreKey(row["edit"], row["method"], row["seed"], row["protocol"])
        source, edited = (
            ImageStamp(*(row[f"{side}_{part}"] for part in ("path", "size", "changed_ns", "pixels")))
            for side in ("source", "edited")
        )
        empty = JournalEntry(row["index"], key.edit, row["edit_type"], row["source"], *key[1:], source, edited, ())
        known = records.get(key, empty)
        changed = change(key, record(row["name"], row["value"], row["reason"], row["detail"]))
        records[key] = replace(known, scores=(*known.scores, changed))
    settings = replace(run.manifest, **{"segments": {}, "finished": None, **manifest})
    with RunWriter(folder, settings, (honest / "edits.jsonl").read_bytes()) as writer:
        for entry in records.values():
            writer.append(entry)
        writer.finish()
    return folder


def record(name: str, value: float | None = None, reason: Any = None, detail: str = "") -> ScoreRecord:
    spec = ScoreSpec(name, True, (0.0, 1.0))
    return ScoreRecord(
        edit="", method="", seed=0, protocol="", spec=spec, value=value, reason=reason, detail=detail
    )  # fmt: skip


def flattered(key: ScoreKey, score: ScoreRecord) -> ScoreRecord:
    """One score of one outcome is better than it was."""
    return replace(score, value=0.99) if (key.edit, score.name) == ("edit-002", "ssim") else score


def test_an_honest_run_comes_out_the_same_and_knows_where_its_benchmark_is(honest: Path) -> None:
    found = verify(honest, quiet=True)

    assert found.sound
    assert (found.recomputed.outcomes, found.recomputed.scores) == (EDITS, EDITS * SCORES)
    assert found.recomputed.unchecked == {}


def test_a_wrong_value_with_right_hashes_is_named_with_both_numbers(
    honest: Path, benchmark: Path, tmp_path: Path
) -> None:
    forged = written_anew(honest, tmp_path / "forged", flattered)
    (true,) = [
        row["value"]
        for row in Run.open(honest).scores.to_pylist()
        if (row["edit"], row["name"]) == ("edit-002", "ssim")
    ]

    assert verify(forged, recompute=0, quiet=True).sound
    found = verify(forged, benchmark=benchmark, quiet=True)
    (problem,) = found.problems
    assert problem.startswith("other score: preservation/ssim of 'edit-002' by 'mine', seed 0: the run says 0.99, ")
    assert problem.endswith(f"scored again it is {true:.9g}")
    assert not found.sound
    assert found.recomputed.scores == EDITS * SCORES - 1


@pytest.mark.parametrize(
    ("edit", "name", "forged", "told"),
    [
        ("edit-001", "ssim", record("ssim", None, "not_applicable"), "the run says unscored (not_applicable), "),
        ("edit-002", "ssim_outside", record("ssim_outside", 0.5), "scored again it is unscored (not_applicable)"),
    ],
)
def test_a_score_that_was_hidden_and_one_that_was_made_up(
    edit: str, name: str, forged: ScoreRecord, told: str, honest: Path, benchmark: Path, tmp_path: Path
) -> None:
    """Edit 2 has no mask: there is no score outside of it."""

    def change(key: ScoreKey, row: ScoreRecord) -> ScoreRecord:
        return forged if (key.edit, row.name) == (edit, name) else row

    (problem,) = verify(written_anew(honest, tmp_path / "forged", change), benchmark=benchmark, quiet=True).problems
    assert told in problem


def test_rounding_is_no_other_score(honest: Path, benchmark: Path, tmp_path: Path) -> None:
    def nudged(_: ScoreKey, row: ScoreRecord) -> ScoreRecord:
        return row if row.value is None else replace(row, value=row.value * (1 + 1e-6))

    assert verify(written_anew(honest, tmp_path / "nudged", nudged), benchmark=benchmark, quiet=True).sound


def test_what_is_not_at_hand_is_told_and_not_counted_as_verified(honest: Path, tmp_path: Path) -> None:
    """The run came from another machine: the name of its folder alone says nothing."""
    assert verify(honest, quiet=True).recomputed.scores == EDITS * SCORES, "here its place is known"
    found = verify(written_anew(honest, tmp_path / "sent", places={}), quiet=True).recomputed

    assert (found.outcomes, found.scores) == (0, 0)
    assert list(found.unchecked.values()) == [EDITS * SCORES]
    assert "There is no benchmark called 'benchmark'" in next(iter(found.unchecked))


def test_other_rules_are_not_used_to_judge(honest: Path, benchmark: Path, tmp_path: Path) -> None:
    rules = replace(Run.open(honest).manifest.protocols["preservation"], version="0")
    older = written_anew(honest, tmp_path / "older", protocols={"preservation": rules})

    found = verify(older, benchmark=benchmark, quiet=True).recomputed
    assert found.scores == 0
    here = protocols.get("preservation").version
    assert list(found.unchecked) == [f"the protocol 'preservation' has version {here} here, the run was made with 0"]


def test_an_absent_model_does_not_stop_what_needs_none(honest: Path, benchmark: Path, tmp_path: Path) -> None:
    models = {"image_embedder": {"name": "gone", "id": "gone", "revision": "1", "license": "none"}}
    with_model = written_anew(honest, tmp_path / "with model", models=models)

    assert verify(with_model, benchmark=benchmark, quiet=True).recomputed.scores == EDITS * SCORES


def test_a_model_of_another_revision_is_not_used_to_judge(
    plugged_in: Path, benchmark: Path, home: Path, honest: Path, tmp_path: Path
) -> None:
    """`honest` has made the outcomes. With the model as it was, everything comes out the same."""
    models = {"image_embedder": "mean-color"}
    options: dict[str, Any] = {"protocol": ["plugin-protocol"], "model": models, "processes": 1, "quiet": True}
    score_all(benchmark, outcomes={"mine": home / "outcomes"}, out=tmp_path / "seen", **options)
    same = verify(tmp_path / "seen", benchmark=benchmark, quiet=True)
    assert (same.recomputed.scores, same.recomputed.unchecked) == (EDITS * 2, {})
    told = Run.open(tmp_path / "seen").manifest.models["image_embedder"]
    older = written_anew(tmp_path / "seen", tmp_path / "older", models={"image_embedder": {**told, "revision": "0"}})
    found = verify(older, benchmark=benchmark, quiet=True)
    assert found.sound
    assert found.recomputed.scores == 0
    why = "the model 'mean-color' has revision 1 here, the run was made with 0"
    assert found.recomputed.unchecked == {why: EDITS * 2}


def test_another_benchmark_is_refused(honest: Path, make_benchmark: Callable[..., Path], tmp_path: Path) -> None:
    other = make_benchmark(tmp_path / "other", edits=EDITS - 1)

    found = verify(honest, benchmark=other, quiet=True).recomputed
    assert found.scores == 0
    assert list(found.unchecked) == ["the benchmark 'other' holds other edits here than the run was made with"]


def test_a_changed_picture_is_a_problem_and_its_scores_are_not_verified(
    home: Path, honest: Path, benchmark: Path
) -> None:
    image = home / "outcomes" / "edit-001.png"
    pixels = read_image(image)
    write_png(255 - pixels, image)
    try:
        found = verify(honest, benchmark=benchmark, quiet=True)
    finally:
        write_png(pixels, image)

    assert [problem.partition(":")[0] for problem in found.problems] == ["changed image"]
    assert found.recomputed.scores == (EDITS - 1) * SCORES
    assert list(found.recomputed.unchecked) == [f"'{image}' has other pixels than were scored"]


def test_the_seed_draws_the_sample(honest: Path) -> None:
    run = Run.open(honest)
    drawn = [[each.edit for each in draw_sample(run, 2, seed)] for seed in (*range(8), 0)]

    assert drawn[0] == drawn[-1]
    assert len({tuple(edits) for edits in drawn}) > 1
    assert all(len(edits) == 2 for edits in drawn)
    assert draw_sample(run, 0, 0) == []


def test_the_command_tells_both_numbers(
    honest: Path, benchmark: Path, tmp_path: Path, editgauge: Callable[..., CompletedProcess[str]]
) -> None:
    forged = written_anew(honest, tmp_path / "forged", flattered)

    told = editgauge("verify", forged, "--benchmark", benchmark, "--quiet", code=1).stdout
    assert "the run says 0.99, scored again it is" in told
    assert f"Scored again: {EDITS * SCORES - 1} of {EDITS * SCORES} scores of {EDITS} outcomes agree" in told
