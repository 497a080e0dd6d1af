"""`verify` finds whatever is no longer what was measured, and names it with its path."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import numpy as np
import pytest
from PIL import Image

from editgauge._util.images import Pixels, pixel_hash, read_image, write_png
from editgauge.engine.run import run as score_all
from editgauge.engine.verify import draw_sample, verify
from editgauge.errors import BadRunError
from editgauge.protocols import protocols
from editgauge.results import ImageStamp, JournalEntry, Run, RunWriter, ScoreKey, ScoreRecord
from editgauge.types import ScoreSpec

Make = Callable[..., JournalEntry]
MakeRun = Callable[..., Path]


@pytest.fixture
def images(tmp_path: Path, photo: Pixels) -> Path:
    """`cat.png`, the source, and its outcomes `a.png` and `b.png`."""
    for number, name in enumerate(("cat.png", "a.png", "b.png")):
        write_png(np.roll(photo, number, axis=1), tmp_path / "images" / name)
    return tmp_path / "images"


def stamp(path: Path, photo: Pixels, number: int) -> ImageStamp:
    return ImageStamp.of(path, pixel_hash(np.roll(photo, number, axis=1)))


@pytest.fixture
def records(images: Path, make_record: Make, photo: Pixels) -> list[JournalEntry]:
    note = ({"note": "seen"},)
    source = stamp(images / "cat.png", photo, 0)
    return [
        make_record("a", source_image=source, edited_image=stamp(images / "a.png", photo, 1), evidence=note),
        make_record("b", source_image=source, edited_image=stamp(images / "b.png", photo, 2), place=1, evidence=note),
        make_record("c", {"gain": "missing_outcome"}, source_image=source, place=2),
    ]


@pytest.fixture
def run(make_run: MakeRun, records: list[JournalEntry]) -> Path:
    return make_run(*records)


def problem(run: Path) -> str:
    """The one problem there is."""
    found = verify(run, quiet=True)
    assert not found.sound
    (only,) = found.problems
    return only


def test_a_sound_run(run: Path) -> None:
    found = verify(str(run), quiet=True)

    assert found.problems == ()
    assert found.sound
    assert (found.files, found.images, found.scores, found.unscored) == (4, 3, 2, 3)


def test_a_sound_run_copied_elsewhere_and_images_saved_anew(run: Path, images: Path, tmp_path: Path) -> None:
    """Neither the time of a file nor its format is what was measured."""
    run.rename(tmp_path / "elsewhere")
    Image.open(images / "a.png").save(images / "a.png", compress_level=0)

    assert verify(tmp_path / "elsewhere", quiet=True).sound


@pytest.mark.parametrize("name", ["cat.png", "a.png"])
def test_a_changed_image(name: str, run: Path, images: Path, photo: Pixels) -> None:
    changed = photo.copy()
    changed[5, 5, 0] ^= 1
    write_png(changed, images / name)

    assert problem(run) == f"changed image: {images / name} has other pixels than were scored"


def test_a_missing_image(run: Path, images: Path) -> None:
    (images / "b.png").unlink()

    assert problem(run) == f"missing image: {images / 'b.png'}"


def test_an_image_that_was_damaged(run: Path, images: Path) -> None:
    (images / "b.png").write_bytes((images / "b.png").read_bytes()[:500])

    assert problem(run) == f"changed image: {images / 'b.png'} can no longer be read"


def test_an_image_that_was_unreadable_then_and_is_still(make_run: MakeRun, make_record: Make, images: Path) -> None:
    (images / "a.png").write_text("no image")
    folder = make_run(make_record("a", {"gain": "unreadable_image"}, edited_image=ImageStamp.of(images / "a.png")))

    assert verify(folder, quiet=True).sound


def test_an_image_that_was_unreadable_then_and_is_no_longer(
    make_run: MakeRun, make_record: Make, images: Path, photo: Pixels
) -> None:
    (images / "a.png").write_text("no image")
    folder = make_run(make_record("a", {"gain": "unreadable_image"}, edited_image=ImageStamp.of(images / "a.png")))
    write_png(photo, images / "a.png")

    assert problem(folder).startswith(f"changed image: {images / 'a.png'}")


def test_a_source_that_changed_while_the_run_was_made(
    make_run: MakeRun, records: list[JournalEntry], make_record: Make, images: Path, photo: Pixels
) -> None:
    """Two outcomes were scored against two versions of one source: whichever is there now, one of them is wrong."""
    other = stamp(images / "cat.png", photo, 7)

    for place in (-1, 3):  # before the others in the tables, and after them
        folder = make_run(*records, make_record("d", source_image=other, place=place), name=f"run {place}")
        assert problem(folder).startswith(f"changed image: {images / 'cat.png'}")


@pytest.mark.parametrize("kind", ["scores", "evidence"])
def test_a_changed_byte_of_the_columns(kind: str, run: Path) -> None:
    path = run / kind / "000001.parquet"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(bytes(content))

    what = "changed score" if kind == "scores" else "changed file"
    assert problem(run).startswith(f"{what}: {path} has SHA-256")


@pytest.mark.parametrize("name", ["scores/000001.parquet", "evidence/000001.parquet", "edits.jsonl"])
def test_a_missing_file(name: str, run: Path) -> None:
    (run / name).unlink()

    assert problem(run) == f"missing file: {run / name}"


def test_altered_edits(run: Path) -> None:
    text = (run / "edits.jsonl").read_text()
    (run / "edits.jsonl").write_text(text.replace("cat", "dog"))

    assert problem(run).startswith(f"changed file: {run / 'edits.jsonl'} has SHA-256")


def test_altered_scores_of_whole_sets(run: Path) -> None:
    (run / "sets.json").write_text("[]")
    with RunWriter(run, Run.open(run).manifest, b"") as writer:
        writer.finish()
    files = verify(run, recompute=0, quiet=True).files
    (run / "sets.json").write_text("[ ]")
    changed = verify(run, recompute=0, quiet=True)
    (run / "sets.json").unlink()
    missing = verify(run, recompute=0, quiet=True)

    assert files == changed.files == 5
    assert [problem[:14] for problem in changed.problems] == ["changed score:"]
    assert missing.problems == (f"missing file: {run / 'sets.json'}",)


def test_an_altered_line_of_the_journal(make_run: MakeRun, records: list[JournalEntry]) -> None:
    folder = make_run(*records, finish=False)
    path = folder / "scores" / "000001.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + lines[1].replace(b"0.5", b"0.9") + lines[2])

    assert problem(folder).startswith(f"changed score: '{path}', line 2: ")


def test_a_draft_that_a_kill_left_behind_is_no_problem(make_run: MakeRun, records: list[JournalEntry]) -> None:
    folder = make_run(*records, finish=False)
    (folder / "scores" / ".writing-0123.jsonl").write_bytes(b"half a jour")

    assert verify(folder, quiet=True).sound


def test_an_unfinished_run(make_run: MakeRun, records: list[JournalEntry]) -> None:
    folder = make_run(*records, finish=False, planned={"mine": {"toy": 10}})

    assert problem(folder).startswith("not finished: 3 of 10 records; give the same `editgauge run` command")


def test_every_problem_is_told(run: Path, images: Path) -> None:
    (images / "a.png").unlink()
    (images / "cat.png").write_text("no image")

    assert len(verify(run, quiet=True).problems) == 2


def test_all_damaged_files_are_told(run: Path) -> None:
    (run / "edits.jsonl").unlink()
    (run / "scores" / "000001.parquet").write_bytes(b"")

    assert len(verify(run, quiet=True).problems) == 2


def test_what_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(BadRunError, match="is not a run folder"):
        verify(tmp_path / "nowhere")


def test_a_line_of_the_journal_that_stands_there_twice(make_run: MakeRun, records: list[JournalEntry]) -> None:
    run = make_run(*records, finish=False)
    (journal,) = (run / "scores").glob("*.jsonl")
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join([*lines, lines[0]]))

    told = problem(run)

    assert f"line {len(lines) + 1} repeats line 1" in told
    assert "Delete that line and give the same `editgauge run` command again" in told


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


@pytest.mark.slow
def test_an_honest_run_comes_out_the_same_and_knows_where_its_benchmark_is(honest: Path) -> None:
    found = verify(honest, quiet=True)

    assert found.sound
    assert (found.recomputed.outcomes, found.recomputed.scores) == (EDITS, EDITS * SCORES)
    assert found.recomputed.unchecked == {}


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_rounding_is_no_other_score(honest: Path, benchmark: Path, tmp_path: Path) -> None:
    def nudged(_: ScoreKey, row: ScoreRecord) -> ScoreRecord:
        return row if row.value is None else replace(row, value=row.value * (1 + 1e-6))

    assert verify(written_anew(honest, tmp_path / "nudged", nudged), benchmark=benchmark, quiet=True).sound


@pytest.mark.slow
def test_what_is_not_at_hand_is_told_and_not_counted_as_verified(honest: Path, tmp_path: Path) -> None:
    """The run came from another machine: the name of its folder alone says nothing."""
    assert verify(honest, quiet=True).recomputed.scores == EDITS * SCORES, "here its place is known"
    found = verify(written_anew(honest, tmp_path / "sent", locations={}), quiet=True).recomputed

    assert (found.outcomes, found.scores) == (0, 0)
    assert list(found.unchecked.values()) == [EDITS * SCORES]
    assert "There is no benchmark called 'benchmark'" in next(iter(found.unchecked))


@pytest.mark.slow
def test_other_rules_are_not_used_to_judge(honest: Path, benchmark: Path, tmp_path: Path) -> None:
    rules = replace(Run.open(honest).manifest.protocols["preservation"], version="0")
    older = written_anew(honest, tmp_path / "older", protocols={"preservation": rules})

    found = verify(older, benchmark=benchmark, quiet=True).recomputed
    assert found.scores == 0
    here = protocols.get("preservation").version
    assert list(found.unchecked) == [f"the protocol 'preservation' has version {here} here, the run was made with 0"]


@pytest.mark.slow
def test_an_absent_model_does_not_stop_what_needs_none(honest: Path, benchmark: Path, tmp_path: Path) -> None:
    models = {"image_embedder": {"name": "gone", "id": "gone", "revision": "1", "license": "none"}}
    with_model = written_anew(honest, tmp_path / "with model", models=models)

    assert verify(with_model, benchmark=benchmark, quiet=True).recomputed.scores == EDITS * SCORES


@pytest.mark.slow
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


@pytest.mark.slow
def test_another_benchmark_is_refused(honest: Path, make_benchmark: Callable[..., Path], tmp_path: Path) -> None:
    other = make_benchmark(tmp_path / "other", edits=EDITS - 1)

    found = verify(honest, benchmark=other, quiet=True).recomputed
    assert found.scores == 0
    assert list(found.unchecked) == ["the benchmark 'other' holds other edits here than the run was made with"]


@pytest.mark.slow
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


@pytest.mark.slow
def test_the_seed_draws_the_sample(honest: Path) -> None:
    run = Run.open(honest)
    drawn = [[each.edit for each in draw_sample(run, 2, seed)] for seed in (*range(8), 0)]

    assert drawn[0] == drawn[-1]
    assert len({tuple(edits) for edits in drawn}) > 1
    assert all(len(edits) == 2 for edits in drawn)
    assert draw_sample(run, 0, 0) == []


@pytest.mark.slow
def test_the_command_tells_both_numbers(
    honest: Path, benchmark: Path, tmp_path: Path, editgauge: Callable[..., CompletedProcess[str]]
) -> None:
    forged = written_anew(honest, tmp_path / "forged", flattered)

    told = editgauge("verify", forged, "--benchmark", benchmark, "--quiet", code=1).stdout
    assert "the run says 0.99, scored again it is" in told
    assert f"Scored again: {EDITS * SCORES - 1} of {EDITS * SCORES} scores of {EDITS} outcomes agree" in told
