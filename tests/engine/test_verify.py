"""`verify` finds whatever is no longer what was measured, and names it with its path."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from editgauge._util.images import Pixels, pixel_hash, write_png
from editgauge.engine.verify import verify
from editgauge.errors import BadRunError
from editgauge.results import ImageStamp, JournalEntry, Run, RunWriter

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
