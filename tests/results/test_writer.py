"""The writer: continue where it stopped, never lose or double a record, whenever it is killed."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from editgauge.errors import BadRunError, EditGaugeError
from editgauge.results import ImageStamp, JournalEntry, Run, RunWriter, ScoreKey, writer
from editgauge.results.manifest import FILE, Manifest

Make = Callable[..., JournalEntry]
Open = Callable[..., RunWriter]
Kill = Callable[[int], AbstractContextManager[Any]]
MANY = 40
"""More steps than any of these scenarios takes."""


def edits(folder: Path) -> list[str]:
    """The edit of every record in the run, doubled ones included."""
    return sorted(row["edit"] for row in Run.open(folder).scores.to_pylist() if row["name"] == "gain")


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def fill(open_writer: Open, make_record: Make, folder: Path, names: str, finish: bool = False) -> None:
    with open_writer(folder) as run:
        for name in names:
            run.append(make_record(name, evidence=({"note": f"of {name}"},)))
        if finish:
            run.finish()


# --- sealing -----------------------------------------------------------------------------------------------------


def test_a_finished_run_holds_columns_and_no_journal(open_writer: Open, make_record: Make, tmp_path: Path) -> None:
    fill(open_writer, make_record, tmp_path, "abc", finish=True)

    assert files(tmp_path) == [
        ".lock",
        "edits.jsonl",
        "evidence/000001.parquet",
        FILE,
        "scores/000001.parquet",
    ]
    assert edits(tmp_path) == ["a", "b", "c"]
    assert Run.open(tmp_path).manifest.finished is not None


def test_sealing_changes_nothing_that_is_read(open_writer: Open, make_record: Make, tmp_path: Path) -> None:
    keys = [make_record(name).key for name in "abc"]
    fill(open_writer, make_record, tmp_path, "abc")
    before = Run.open(tmp_path)
    scores, evidence = before.scores.to_pylist(), [before.evidence(key) for key in keys]

    fill(open_writer, make_record, tmp_path, "", finish=True)

    after = Run.open(tmp_path)
    assert after.scores.to_pylist() == scores
    assert [after.evidence(key) for key in keys] == evidence
    assert len(evidence[0]["gain"]) == 1


def test_a_full_journal_is_sealed_and_the_next_begun(
    open_writer: Open, make_record: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "ENTRIES_PER_JOURNAL", 2)
    fill(open_writer, make_record, tmp_path, "abcde")

    assert files(tmp_path / "scores") == ["000001.parquet", "000002.parquet", "000003.jsonl"]
    assert edits(tmp_path) == list("abcde")


def test_a_kill_at_any_step_of_sealing_loses_and_doubles_nothing(
    open_writer: Open, make_record: Make, tmp_path: Path, killed_before: Kill, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "ENTRIES_PER_JOURNAL", 2)
    deaths = 0
    for step in range(1, MANY):
        folder = tmp_path / str(step)
        fill(open_writer, make_record, folder, "a")
        with killed_before(step) as death:
            fill(open_writer, make_record, folder, "bcd", finish=True)
        deaths += death.came
        if not death.came:
            break
        held = edits(folder)  # also a reader that comes before the next writer sees each record once
        assert held == list("abcd")[: len(held)]

        fill(open_writer, make_record, folder, "".join(name for name in "abcd" if name not in held), finish=True)

        assert edits(folder) == list("abcd")
        assert sorted(path.stem for path in (folder / "scores").iterdir()) == sorted(Run.open(folder).manifest.segments)
        assert not list(folder.rglob(".writing-*"))
    assert deaths >= 8


def test_a_kill_at_any_step_of_starting_leaves_a_folder_that_can_be_started_in(
    open_writer: Open, make_record: Make, tmp_path: Path, killed_before: Kill
) -> None:
    for step in range(1, MANY):
        folder = tmp_path / str(step)
        with killed_before(step) as death:
            fill(open_writer, make_record, folder, "a", finish=True)
        with open_writer(folder) as run:
            assert run.notes == []
        if not death.came:
            break
    assert step > 3


def test_a_disk_that_fills_up_while_sealing_loses_nothing(
    open_writer: Open, make_record: Make, tiny_disk: Path
) -> None:
    folder = tiny_disk / "run"
    fill(open_writer, make_record, folder, "abc")
    with (tiny_disk / "ballast").open("wb", buffering=0) as ballast, suppress(OSError):
        while True:
            ballast.write(bytes(512))

    with pytest.raises(EditGaugeError, match="No space left on device"):
        fill(open_writer, make_record, folder, "", finish=True)
    assert edits(folder) == list("abc")

    (tiny_disk / "ballast").unlink()
    fill(open_writer, make_record, folder, "d", finish=True)
    assert edits(folder) == list("abcd")


# --- what is done ------------------------------------------------------------------------------------------------

OLD = ImageStamp("/cat.png", 10, 111)
NEW = ImageStamp("/cat.png", 10, 222)


def test_done_and_stale_follow_the_files_a_record_was_made_from(
    open_writer: Open, make_record: Make, tmp_path: Path
) -> None:
    def check(run: RunWriter) -> None:
        assert run.state(scored.key, (OLD, OLD, OLD)) == "done"
        for images in ((NEW, OLD, OLD), (OLD, NEW, OLD), (OLD, OLD, NEW), (OLD, None, OLD), (OLD, OLD, None)):
            assert run.state(scored.key, images) == "stale"
        assert run.state(absent.key, (OLD, None, None)) == "done"
        assert run.state(ScoreKey("c", "mine", 0, "toy"), (OLD, OLD, OLD)) == "new"

    scored = replace(make_record("a", source_image=OLD, edited_image=OLD), reference_image=OLD)
    absent = make_record("b", source_image=OLD, edited_image=None)
    with open_writer(tmp_path) as run:
        run.append(scored)
        run.append(absent)
        check(run)  # at once
    with open_writer(tmp_path) as run:
        check(run)  # from the journal
        run.finish()
    with open_writer(tmp_path) as run:
        check(run)  # from the columns


def test_a_retired_record_is_neither_done_nor_stale(open_writer: Open, make_record: Make, tmp_path: Path) -> None:
    record = make_record("a", source_image=OLD)
    with open_writer(tmp_path) as run:
        run.append(record)
        run.retire({record.key})

        assert run.state(record.key, (OLD, None, None)) == "new"


# --- retiring ----------------------------------------------------------------------------------------------------


def prepared(open_writer: Open, make_record: Make, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two sealed segments, (a b) and (c d), and a journal with e and f."""
    with monkeypatch.context() as patch:
        patch.setattr(writer, "ENTRIES_PER_JOURNAL", 2)
        fill(open_writer, make_record, folder, "abcde")
    fill(open_writer, make_record, folder, "f")
    assert files(folder / "scores") == ["000001.parquet", "000002.parquet", "000003.jsonl"]


@pytest.mark.parametrize("gone", ["a", "e", "ae", "ab", "abcdef", "bdf", ""])
def test_retiring_removes_these_records_and_no_others(
    gone: str, open_writer: Open, make_record: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared(open_writer, make_record, tmp_path, monkeypatch)
    rest = [name for name in "abcdef" if name not in gone]
    before = {row["edit"]: row for row in Run.open(tmp_path).scores.to_pylist()}

    with open_writer(tmp_path) as run:
        run.retire({make_record(name).key for name in gone})
        assert edits(tmp_path) == rest
        for name in gone:
            run.append(make_record(name, {"gain": 0.75}, evidence=({"note": "again"},)))
        run.finish()

    assert edits(tmp_path) == list("abcdef")
    after = Run.open(tmp_path)
    rows = {row["edit"]: row for row in after.scores.to_pylist() if row["name"] == "loss"}
    assert rows == {name: before[name] for name in rest}
    for name in "abcdef":
        notes = [piece.text for piece in after.evidence(make_record(name).key)["gain"]]  # type: ignore[union-attr]
        assert notes == (["again"] if name in gone else [f"of {name}"])


def test_records_without_evidence_can_be_retired(open_writer: Open, make_record: Make, tmp_path: Path) -> None:
    with open_writer(tmp_path) as run:
        for name in "ab":
            run.append(make_record(name))
        run.finish()
        run.retire({make_record("a").key})

    assert edits(tmp_path) == ["b"]


def test_a_journal_of_which_nothing_is_left_leaves_no_file(
    open_writer: Open, make_record: Make, tmp_path: Path
) -> None:
    with open_writer(tmp_path) as run:
        run.append(make_record("a"))
        run.retire({make_record("a").key})
        run.finish()

    assert files(tmp_path / "scores") == []


def test_only_segments_that_hold_stale_records_are_rewritten(
    open_writer: Open, make_record: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared(open_writer, make_record, tmp_path, monkeypatch)
    untouched = (tmp_path / "scores" / "000001.parquet").stat()

    with open_writer(tmp_path) as run:
        run.retire({make_record("c").key})

    assert (tmp_path / "scores" / "000001.parquet").stat() == untouched
    assert not (tmp_path / "scores" / "000002.parquet").exists()


@pytest.mark.slow
def test_a_kill_at_any_step_of_retiring_loses_nothing_else(
    open_writer: Open, make_record: Make, tmp_path: Path, killed_before: Kill, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was to be retired is gone or still there (then it is still known to be stale); the rest is untouched."""
    stale = {make_record(name).key for name in "ace"}
    deaths = 0
    for step in range(1, MANY):
        folder = tmp_path / str(step)
        prepared(open_writer, make_record, folder, monkeypatch)
        with killed_before(step) as death, open_writer(folder) as run:
            run.retire(stale)
        deaths += death.came
        if not death.came:
            break
        held = edits(folder)
        assert [name for name in held if name in "bdf"] == list("bdf")
        assert len(set(held)) == len(held)

        with open_writer(folder) as run:
            left = {key for key in stale if run.state(key, (NEW, None, None)) == "stale"}
            assert {key.edit for key in left} == set(held) - set("bdf")
            run.retire(left)
            run.finish()
        assert edits(folder) == list("bdf")
    assert deaths >= 10


# --- continuing and starting over --------------------------------------------------------------------------------


def test_the_same_options_continue(open_writer: Open, make_record: Make, tmp_path: Path) -> None:
    fill(open_writer, make_record, tmp_path, "ab")
    started = Run.open(tmp_path).manifest.started

    with open_writer(tmp_path) as run:
        assert run.notes == []
        run.append(make_record("c"))
        run.finish()

    assert edits(tmp_path) == ["a", "b", "c"]
    assert Run.open(tmp_path).manifest.started == started
    assert not (tmp_path / "superseded").exists()


CHANGES: dict[str, tuple[dict[str, Any], str]] = {
    "benchmark": ({"benchmark": "others"}, "the benchmark changed from 'toys' to 'others'"),
    "edits": ({"edits_sha256": "f0" * 32}, "the edits of benchmark 'toys' changed"),
    "seed": ({"seed": 7}, "the seed changed from 0 to 7"),
    "roles": (
        {"models": {"detector": {"name": "owl", "revision": "1"}}, "roles": {"toy": ["detector"]}},
        "protocol 'toy' asks other models: detector instead of none",
    ),
    "version": ({"editgauge": "0.2.0"}, "the version of editgauge changed from '0.1.0' to '0.2.0'"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_another_option_starts_anew_says_why_and_keeps_the_earlier_scores(
    change: str, open_writer: Open, make_record: Make, tmp_path: Path
) -> None:
    changes, why = CHANGES[change]
    fill(open_writer, make_record, tmp_path, "ab", finish=True)
    fill(open_writer, make_record, tmp_path, "c")

    with open_writer(tmp_path, **changes) as run:
        assert run.notes == [
            f"Starting over, because {why}.",
            f"The earlier scores are kept in {tmp_path / 'superseded' / '0001'}.",
        ]
        run.append(make_record("z"))
    with open_writer(tmp_path) as run:  # and back again
        assert run.notes[-1] == f"The earlier scores are kept in {tmp_path / 'superseded' / '0002'}."

    assert edits(tmp_path) == []
    assert edits(tmp_path / "superseded" / "0001") == ["a", "b", "c"]
    assert edits(tmp_path / "superseded" / "0002") == ["z"]


def test_a_reworded_description_continues_the_run(
    open_writer: Open, make_record: Make, make_manifest: Callable[..., Manifest], tmp_path: Path
) -> None:
    """Rules are known by their version, scores by name, direction and range: words about them change no number."""
    entry = make_manifest().protocols["toy"]
    fill(open_writer, make_record, tmp_path, "ab")
    scores = tuple(replace(spec, about="In other words.") for spec in entry.scores)

    reworded = replace(entry, about="In other words.", deviations=("Said differently.",), scores=scores)
    with open_writer(tmp_path, protocols={"toy": reworded}) as run:
        assert not any("Starting over" in note for note in run.notes)

    assert edits(tmp_path) == ["a", "b"]


def test_other_rules_of_a_protocol_start_anew(
    open_writer: Open, make_manifest: Callable[..., Manifest], tmp_path: Path
) -> None:
    entry = make_manifest().protocols["toy"]
    open_writer(tmp_path).__exit__()

    with open_writer(tmp_path, protocols={"toy": replace(entry, version="2")}) as run:
        assert run.notes[0] == "Starting over, because the rules of protocol 'toy' changed."


def owl(revision: str) -> dict[str, dict[str, str]]:
    return {"detector": {"name": "owl", "revision": revision}}


def test_another_model_in_a_role_starts_anew(open_writer: Open, tmp_path: Path) -> None:
    open_writer(tmp_path, models=owl("1"), roles={"toy": ["detector"]}).__exit__()

    with open_writer(tmp_path, models=owl("2"), roles={"toy": ["detector"]}) as run:
        assert run.notes[0] == "Starting over, because the models changed from detector owl 1 to detector owl 2."


def test_only_the_models_that_changed_are_told(open_writer: Open, tmp_path: Path) -> None:
    sam, roles = {"segmenter": {"name": "sam", "revision": "1"}}, {"toy": ["detector", "segmenter"]}
    open_writer(tmp_path, models={**owl("1"), **sam}, roles=roles).__exit__()

    with open_writer(tmp_path, models={**owl("2"), **sam}, roles=roles) as run:
        assert run.notes[0] == "Starting over, because the models changed from detector owl 1 to detector owl 2."


def test_a_model_that_only_a_further_protocol_asks_starts_nothing_anew(
    open_writer: Open, make_record: Make, make_manifest: Callable[..., Manifest], tmp_path: Path
) -> None:
    """And neither does leaving that protocol out again."""
    toy = make_manifest().protocols["toy"]
    sam = {"segmenter": {"name": "sam", "revision": "1"}}
    both: dict[str, Any] = {
        "protocols": {"toy": toy, "other": toy},
        "models": owl("1") | sam,
        "roles": {"toy": ["detector"], "other": ["detector", "segmenter"]},
    }
    with open_writer(tmp_path, models=owl("1"), roles={"toy": ["detector"]}) as run:
        run.append(make_record("a"))
    for changes in (both, {"models": owl("1"), "roles": {"toy": ["detector"]}}):
        with open_writer(tmp_path, **changes) as run:
            assert run.notes == []

    assert edits(tmp_path) == ["a"]
    assert Run.open(tmp_path).manifest.models == owl("1") | sam
    with open_writer(tmp_path, models=sam, roles={"toy": ["segmenter"]}) as run:
        assert "protocol 'toy' asks other models: segmenter instead of detector" in run.notes[0]


def test_a_run_that_does_not_say_who_was_asked_may_have_asked_all(open_writer: Open, tmp_path: Path) -> None:
    """As runs of before roles were kept."""
    open_writer(tmp_path).__exit__()

    with open_writer(tmp_path, models=owl("1"), roles={"toy": ["detector"]}) as run:
        assert "protocol 'toy' asks other models: detector instead of none" in run.notes[0]


def test_several_changes_are_all_told(open_writer: Open, tmp_path: Path) -> None:
    open_writer(tmp_path).__exit__()

    with open_writer(tmp_path, seed=1, editgauge="9") as run:
        assert len(run.notes) == 3


def test_further_methods_and_protocols_extend_a_run(
    open_writer: Open, make_record: Make, make_manifest: Callable[..., Manifest], tmp_path: Path
) -> None:
    toy = make_manifest().protocols["toy"]
    fill(open_writer, make_record, tmp_path, "ab", finish=True)

    with open_writer(
        tmp_path, methods={"alien": "/x"}, protocols={"other": toy}, planned={"alien": {"other": 2}}
    ) as run:
        assert run.notes == []
        run.append(make_record("a", method="alien", protocol="other"))

    manifest = Run.open(tmp_path).manifest
    assert list(manifest.methods) == ["mine", "alien"]
    assert list(manifest.protocols) == ["toy", "other"]
    assert manifest.planned == {"mine": {"toy": 1}, "alien": {"other": 2}}
    assert manifest.finished is None
    assert Run.open(tmp_path).planned == 3
    assert edits(tmp_path) == ["a", "a", "b"]


def test_a_kill_at_any_step_of_starting_anew_keeps_the_earlier_run_whole(
    open_writer: Open, make_record: Make, tmp_path: Path, killed_before: Kill
) -> None:
    """Whether the next command has the new options or the old ones again."""
    deaths = 0
    for step in range(1, MANY):
        for seed in (0, 1):
            folder = tmp_path / f"{step}-{seed}"
            fill(open_writer, make_record, folder, "ab", finish=True)
            fill(open_writer, make_record, folder, "c")
            with killed_before(step) as death, open_writer(folder, seed=1) as run:
                run.append(make_record("z"))
            deaths += death.came
            with open_writer(folder, seed=seed):
                pass
            kept = [folder, *(folder / "superseded").glob("*")]
            found = [edits(place) for place in kept]
            assert found.count(["a", "b", "c"]) == 1, (step, seed, found)
            assert all(place.name.isdigit() for place in kept[1:])
            assert Run.open(folder).manifest.seed == seed
        if not death.came:
            break
    assert deaths >= 12


def test_a_superseded_run_that_was_deleted_or_joined_by_other_files_does_no_harm(
    open_writer: Open, make_record: Make, tmp_path: Path
) -> None:
    import shutil

    for seed in range(3):
        open_writer(tmp_path, seed=seed).__exit__()
    shutil.rmtree(tmp_path / "superseded" / "0001")
    (tmp_path / "superseded" / "notes.txt").write_text("mine")

    with open_writer(tmp_path, seed=9) as run:
        assert run.notes[-1].endswith("0003.")


def test_scores_without_a_manifest_are_neither_mixed_in_nor_deleted(
    open_writer: Open, make_record: Make, tmp_path: Path
) -> None:
    """Someone deleted the manifest: nothing says any more how these scores came about."""
    fill(open_writer, make_record, tmp_path, "ab", finish=True)
    fill(open_writer, make_record, tmp_path, "c")
    kept = {path.name: path.read_bytes() for path in (tmp_path / "scores").iterdir()}
    (tmp_path / FILE).unlink()

    with open_writer(tmp_path) as run:
        assert run.notes == [
            "Starting over, because the earlier scores have no manifest.json.",
            f"The earlier scores are kept in {tmp_path / 'superseded' / '0001'}.",
        ]
    with open_writer(tmp_path, seed=5):
        pass

    assert edits(tmp_path) == []
    assert {path.name: path.read_bytes() for path in (tmp_path / "superseded/0001/scores").iterdir()} == kept


# --- what stands in the way --------------------------------------------------------------------------------------


def test_a_second_writer_is_refused_and_harms_nothing(open_writer: Open, make_record: Make, tmp_path: Path) -> None:
    with open_writer(tmp_path) as first:
        first.append(make_record("a"))
        with pytest.raises(BadRunError, match=f"Another process is writing to '{tmp_path}'"):
            open_writer(tmp_path)
        first.append(make_record("b"))

    with open_writer(tmp_path):
        pass
    assert edits(tmp_path) == ["a", "b"]


def test_a_writer_that_could_not_start_leaves_the_folder_free(open_writer: Open, tmp_path: Path) -> None:
    open_writer(tmp_path).__exit__()
    content = (tmp_path / FILE).read_bytes()
    (tmp_path / FILE).write_text("{")
    with pytest.raises(BadRunError, match="cannot be read"):
        open_writer(tmp_path)

    (tmp_path / FILE).write_bytes(content)
    open_writer(tmp_path).__exit__()


def test_leaving_frees_the_folder_even_if_the_disk_fails(
    open_writer: Open, make_record: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: int) -> None:
        raise OSError(5, "Input/output error")

    run = open_writer(tmp_path)
    run.append(make_record("a"))
    with monkeypatch.context() as patch:
        patch.setattr("editgauge.results._journal.os.fsync", fail)
        with pytest.raises(BadRunError, match="Input/output error"):
            run.__exit__()

    open_writer(tmp_path).__exit__()


def test_a_run_of_another_schema_is_left_alone(open_writer: Open, tmp_path: Path) -> None:
    open_writer(tmp_path).__exit__()
    stored = json.loads((tmp_path / FILE).read_text())
    (tmp_path / FILE).write_text(json.dumps({**stored, "schema": 99}))
    before = files(tmp_path)

    with pytest.raises(BadRunError, match="schema 99"):
        open_writer(tmp_path)
    assert files(tmp_path) == before


def test_a_file_where_the_run_should_be(open_writer: Open, tmp_path: Path) -> None:
    (tmp_path / "run").write_text("mine")

    with pytest.raises(BadRunError, match=r"run' cannot be written: .* Choose another folder"):
        open_writer(tmp_path / "run")


def test_a_damaged_segment_stops_a_run_from_being_continued(
    open_writer: Open, make_record: Make, tmp_path: Path
) -> None:
    fill(open_writer, make_record, tmp_path, "ab", finish=True)
    (tmp_path / "scores" / "000001.parquet").write_bytes(b"PAR1")

    with pytest.raises(BadRunError, match=r"000001\.parquet' was changed"):
        open_writer(tmp_path)


def test_a_read_only_disk_is_told_in_one_sentence(open_writer: Open, tiny_disk: Path) -> None:
    import subprocess

    folder = tiny_disk / "run"
    open_writer(folder).__exit__()
    subprocess.run(["mount", "-o", "remount,ro", str(tiny_disk)], check=True)

    with pytest.raises(BadRunError, match="cannot be written: Read-only file system"):
        open_writer(folder)
