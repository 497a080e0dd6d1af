"""What a run records, whatever images, outcomes and protocols do."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import editgauge
from editgauge._util import disk_list as shelf
from editgauge._util.disk_list import DiskList
from editgauge._util.images import Pixels, read_image, write_png
from editgauge._util.profiling import FOLDER, TIMELINE, read_profile
from editgauge.analysis.diff import SignatureDifference
from editgauge.benchmarks.folder import load
from editgauge.engine.run import run
from editgauge.engine.verify import verify
from editgauge.errors import BadInputError, BadRunError, EditGaugeError
from editgauge.methods.outcomes import find_outcomes
from editgauge.reports.export import export
from editgauge.reports.report import report
from editgauge.results import Run
from editgauge.results._records import ScoreKey

Make = Callable[..., Path]
Rows = dict[tuple[str, str], Any]


@pytest.fixture
def home(tmp_path: Path, make_benchmark: Make, make_outcomes: Make) -> Path:
    """A benchmark of four edits of two photographs, and the outcomes of `mine`."""
    make_benchmark(tmp_path / "photos", edits=4, size=64)
    make_outcomes(tmp_path / "photos", tmp_path / "mine")
    return tmp_path


def score(home: Path, outcomes: str = "mine", **options: Any) -> Run:
    settings = {"processes": 1, "quiet": True, "protocol": ["preservation"], **options}
    return run(home / "photos", outcomes={"mine": home / outcomes}, out=home / "run", **settings)


def rows(scored: Run, name: str) -> dict[str, tuple[float | None, str | None, str]]:
    """Edit to (value, reason, detail) of one score."""
    columns = (scored.scores[column].to_pylist() for column in ("edit", "name", "value", "reason", "detail"))
    return {edit: tuple(rest) for edit, this, *rest in zip(*columns, strict=True) if this == name}


def scored_at(scored: Run) -> dict[str, Path]:
    """Edit to the file its edited image came from."""
    columns = (scored.scores[column].to_pylist() for column in ("edit", "edited_path"))
    return dict(zip(*columns, strict=True))


@pytest.fixture
def worked_on(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The edits that were really scored, in any of the runs of a test."""
    from editgauge.engine import run as execute

    scored, seen = execute.scored, list[str]()

    def watched(tasks: list[Any], *rest: Any, **options: Any) -> Iterator[Any]:
        seen.extend(task.edit.id for task in tasks)
        return scored(tasks, *rest, **options)

    monkeypatch.setattr(execute, "scored", watched)
    return seen


def test_what_cannot_be_scored_is_unscored_with_its_reason(home: Path) -> None:
    (home / "mine" / "edit-000.png").unlink()
    picture = home / "mine" / "edit-001.png"
    picture.write_bytes(picture.read_bytes()[:500])
    (home / "photos" / "1.png").write_text("no picture")
    found = rows(score(home), "psnr")
    assert found["edit-000"] == (None, "missing_outcome", "no file 'edit-000.png' in the folder")
    assert found["edit-001"][:2] == (None, "unreadable_image")
    assert "edit-001.png' cannot be decoded" in found["edit-001"][2]
    assert {found[edit][1] for edit in ("edit-002", "edit-003")} == {"unreadable_image"}
    assert "1.png' is not an image" in found["edit-002"][2]


def test_a_recorded_absence_is_the_reason(home: Path) -> None:
    lines: list[dict[str, str]] = [{"id": "edit-000", "absence": "refused by a filter"}]
    lines += [{"id": "edit-001", "image_path": "mine/gone.png"}, {"id": "edit-002", "image_path": "mine/edit-002.png"}]
    (home / "list.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    found = rows(score(home, "list.jsonl"), "psnr")
    assert found["edit-000"] == (None, "missing_outcome", "refused by a filter")
    assert found["edit-001"][:2] == (None, "missing_outcome")
    assert "There is no image at" in found["edit-001"][2]
    assert found["edit-002"][0] is not None
    assert found["edit-003"] == (None, "missing_outcome", "no line in list.jsonl")


def test_a_mask_that_cannot_be_read_makes_its_edit_unscored(home: Path) -> None:
    lines = [json.loads(line) for line in (home / "photos" / "edits.jsonl").read_text().splitlines()]
    lines[0]["mask"] = "mask.png"
    (home / "photos" / "mask.png").write_text("no picture")
    (home / "photos" / "edits.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    found = rows(score(home), "psnr")
    assert found["edit-000"][1] == "unreadable_image"
    assert found["edit-002"][1] is None


def test_a_mask_drawn_anew_makes_another_benchmark(home: Path, photo: Pixels, caplog: pytest.LogCaptureFixture) -> None:
    edits = home / "photos" / "edits.jsonl"
    lines = [json.loads(line) | {"mask": "mask.png"} for line in edits.read_text("utf-8").splitlines()]
    edits.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    shutil.copy(home / "photos" / "0.png", home / "photos" / "mask.png")
    score(home)
    write_png(photo, home / "photos" / "mask.png")
    score(home, quiet=False)
    assert "Starting over, because the edits" in caplog.text


def test_an_outcome_of_another_size_is_resized_and_noted(home: Path, photo: Pixels) -> None:
    write_png(photo[:100], home / "mine" / "edit-000.png")
    scored = score(home)
    assert rows(scored, "psnr")["edit-000"][0] is not None
    notes = scored.evidence(ScoreKey("edit-000", "mine", 0, "preservation"))["l1"]
    assert "The edited image was 128 x 100 and was resized to the source's 64 x 64." in str(notes)


def test_only_a_changed_image_is_scored_again(home: Path, photo: Pixels, worked_on: list[str]) -> None:
    before = rows(score(home), "psnr")
    worked_on.clear()
    write_png(photo, home / "mine" / "edit-001.png")
    after = rows(score(home), "psnr")
    assert worked_on == ["edit-001"]
    assert {edit for edit in before if before[edit] != after[edit]} == {"edit-001"}
    assert verify(home / "run", quiet=True).sound


def test_edits_of_a_changed_source_are_scored_again(home: Path, photo: Pixels, worked_on: list[str]) -> None:
    score(home)
    worked_on.clear()
    write_png(photo[:64, :64], home / "photos" / "0.png")
    score(home)
    assert worked_on == ["edit-000", "edit-001"]


def test_an_outcome_that_appears_later_is_scored_later(home: Path, worked_on: list[str]) -> None:
    (home / "mine" / "edit-002.png").rename(home / "aside.png")
    assert rows(score(home), "psnr")["edit-002"][1] == "missing_outcome"
    worked_on.clear()
    (home / "aside.png").rename(home / "mine" / "edit-002.png")
    found = rows(score(home), "psnr")
    assert worked_on == ["edit-002"]
    assert found["edit-002"][1] is None
    assert len(found) == 4


def test_outcomes_that_are_listed_no_longer_leave_the_run(home: Path) -> None:
    """Otherwise old and new outcomes of a method would be averaged."""

    def listed(seed: int) -> None:
        lines = [{"id": f"edit-00{n}", "image_path": f"mine/edit-00{n}.png", "seed": seed} for n in range(4)]
        (home / "list.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))

    listed(seed=1)
    score(home, "list.jsonl")
    listed(seed=2)
    scored = score(home, "list.jsonl")
    assert set(scored.scores["seed"].to_pylist()) == {2}
    assert scored.scores.num_rows == 4 * 12
    assert verify(home / "run", quiet=True).sound


def test_other_methods_and_protocols_stay_in_the_run(home: Path, plugged_in: Path, make_outcomes: Make) -> None:
    score(home, protocol=["preservation", "faulty"])
    make_outcomes(home / "photos", home / "theirs", 3)
    scored = run(
        home / "photos", protocol=["preservation"], outcomes={"theirs": home / "theirs"}, out=home / "run", quiet=True
    )
    counts = [(entry["values"], entry["counts"]) for entry in scored.scores["method"].value_counts().to_pylist()]
    assert sorted(counts) == [("mine", 4 * 14), ("theirs", 4 * 12)]


@pytest.mark.slow
def test_a_run_goes_on_without_a_plug_in_it_used_before(
    home: Path, make_outcomes: Make, plugin: Path, request: pytest.FixtureRequest
) -> None:
    """The protocol of the plug-in is not asked for, so nobody may miss it."""
    words = ["run", "photos", "--outcomes", "mine=mine", "--out", "run", "--quiet", "--processes", "1"]
    command = request.getfixturevalue("editgauge")
    command(*words, "--protocol", "faulty", cwd=home, plugin=plugin)
    make_outcomes(home / "photos", home / "theirs", 3)
    scored = run(
        home / "photos",
        protocol=["preservation"],
        outcomes=["theirs=" + str(home / "theirs")],
        out=home / "run",
        processes=1,
        quiet=True,
    )
    columns = (scored.scores[column].to_pylist() for column in ("method", "protocol", "reason"))
    assert {row for row in zip(*columns, strict=True) if row[0] == "theirs"} == {
        ("theirs", "preservation", None),
        ("theirs", "preservation", "not_applicable"),
    }


FAULTS = {
    "raises": ("crashed", "RuntimeError: no such luck (faulty.py:"),
    "raises-surrogates": ("crashed", r"a name that is not text: \udce9"),
    "cannot-tell": ("not_detected", "no cat was seen"),
    "asks-a-model": ("no_model", "pass `model=image_embedder=NAME`"),
    "nan": ("crashed", "a score must be a finite number, got nan"),
    "forgets": ("crashed", "the protocol gave no score named 'first'"),
    "out-of-range": ("crashed", "the protocol gave 1.5, outside its own range 0.0 to 1.0"),
    "gives-none": ("crashed", "the protocol gave NoneType instead of scores by name"),
    "gives-a-number": ("crashed", "the protocol gave float instead of a score named 'first'"),
    "evidence-no-json": ("crashed", "TypeError"),
    "writes-on-the-picture": ("crashed", "read-only"),
}
ONLY_THE_FIRST = {"forgets", "out-of-range", "gives-a-number"}


@pytest.fixture(scope="module")
def faulty_run(
    tmp_path_factory: pytest.TempPathFactory,
    make_benchmark: Make,
    make_outcomes: Make,
    plugin: Path,
    request: pytest.FixtureRequest,
) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """One run in which every edit meets another fault of the protocol."""
    home = tmp_path_factory.mktemp("faulty")
    subjects = [*FAULTS, "numpy", "prints", "fine"]
    make_benchmark(home / "photos", edits=len(subjects), size=32, id=subjects, subject=subjects)
    make_outcomes(home / "photos", home / "mine")
    words = ["run", "photos", "--outcomes", "mine=mine", "--protocol", "faulty", "--protocol", "preservation"]
    return home, request.getfixturevalue("editgauge")(*words, cwd=home, plugin=plugin)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_a_protocol_is_recorded(
    faulty_run: tuple[Path, subprocess.CompletedProcess[str]], fault: str
) -> None:
    scored = Run.open(faulty_run[0] / "run")
    value, reason, detail = rows(scored, "first")[fault]
    assert (value, reason) == (None, FAULTS[fault][0])
    assert FAULTS[fault][1] in detail
    second = rows(scored, "second")[fault]
    assert second == ((1.0, None, "") if fault in ONLY_THE_FIRST else (None, reason, detail))


def test_a_fault_costs_no_other_score(faulty_run: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    scored = Run.open(faulty_run[0] / "run")
    assert rows(scored, "first")["fine"] == (1.0, None, "")
    assert {reason for _, reason, _ in rows(scored, "psnr").values()} == {None}
    assert verify(faulty_run[0] / "run", quiet=True).sound


def test_numbers_of_numpy_are_numbers(faulty_run: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    scored = Run.open(faulty_run[0] / "run")
    assert rows(scored, "first")["numpy"] == (0.5, None, "")
    (box,) = scored.evidence(ScoreKey("numpy", "mine", 0, "faulty"))["first"]
    assert "confidence=0.5" in str(box)


def test_what_a_plug_in_prints_does_not_disturb(faulty_run: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    home, ended = faulty_run
    assert rows(Run.open(home / "run"), "first")["prints"] == (1.0, None, "")
    assert "printed by a plug-in" in ended.stderr
    assert "written to descriptor 1 by a plug-in" in ended.stderr
    assert "by a plug-in" not in ended.stdout


def test_what_crashed_is_tried_again(home: Path, plugged_in: Path, make_benchmark: Make, worked_on: list[str]) -> None:
    """Perhaps memory was short, or the plug-in was corrected since."""
    shutil.rmtree(home / "photos")
    make_benchmark(home / "photos", edits=4, size=64, subject=["raises-once", None, None, None])
    assert rows(score(home, protocol=["faulty"]), "first")["edit-000"][1] == "crashed"
    worked_on.clear()
    again = rows(score(home, protocol=["faulty"]), "first")
    assert worked_on == ["edit-000"]
    assert set(again.values()) == {(1.0, None, "")}
    assert len(again) == 4


def test_one_process_and_two_give_the_same_bytes(home: Path) -> None:
    exports = []
    for processes in (1, 2):
        run(
            home / "photos",
            protocol=["preservation"],
            outcomes={"mine": home / "mine"},
            out=home / f"run{processes}",
            processes=processes,
            quiet=True,
        )
        exports.append([export(home / f"run{processes}", format=kind) for kind in ("jsonl", "csv", "parquet", "latex")])
    assert exports[0] == exports[1]


def test_a_model_is_never_asked_by_two_threads_at_once(home: Path, plugged_in: Path) -> None:
    scored = score(home, protocol=["plugin-protocol"], model=["image_embedder=careless-embedder"])
    assert {reason for _, reason, _ in rows(scored, "likeness").values()} == {None}


def test_without_a_model_the_scores_that_need_one_say_so(home: Path, plugged_in: Path) -> None:
    found = rows(score(home, protocol=["plugin-protocol"]), "likeness")
    assert {reason for _, reason, _ in found.values()} == {"no_model"}


def test_another_model_starts_anew(home: Path, plugged_in: Path, caplog: pytest.LogCaptureFixture) -> None:
    score(home, protocol=["plugin-protocol"])
    score(home, protocol=["plugin-protocol"], model={"image_embedder": "mean-color"}, quiet=False)
    why = "protocol 'plugin-protocol' asks other models: image embedder instead of none"
    assert f"Starting over, because {why}." in caplog.text


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"protocol": ["misnamed"]}, "'misnamed' from editgauge-plugin-for-tests calls itself 'another-name'"),
        ({"protocol": ["not-there"]}, "'not-there' from editgauge-plugin-for-tests could not be imported"),
        ({"model": ["image_embedder=not-an-embedder"]}, "cannot play the role 'image_embedder'; it is made for 'capt"),
        ({"model": ["image_embedder=without-weights"]}, "cannot be used: the weights are not here"),
        ({"model": ["image_embedder=unfetched"]}, "not on this machine: run `editgauge models pull unfetched`"),
    ],
)
def test_what_cannot_be_used_is_refused_at_once(
    home: Path, plugged_in: Path, options: dict[str, Any], told: str
) -> None:
    with pytest.raises(EditGaugeError, match=told):
        score(home, **options)
    assert not (home / "run").exists()


def test_a_run_of_no_method_is_refused(home: Path) -> None:
    with pytest.raises(BadInputError, match="`outcomes` is needed at least once"):
        run(home / "photos", protocol=["preservation"], outcomes={}, out=home / "run")


def test_one_protocol_and_one_method_need_not_be_put_into_lists(home: Path) -> None:
    scored = run(
        home / "photos", outcomes=f"mine={home / 'mine'}", protocol="preservation", out=home / "run", quiet=True
    )
    assert scored.scores.num_rows == 4 * 12


def test_a_path_that_is_no_text_is_refused(home: Path) -> None:
    odd = os.fsdecode(bytes(home / "mine") + b"\xe9")
    (home / "mine").rename(odd)
    with pytest.raises(BadInputError, match="holds bytes that are not UTF-8"):
        run(home / "photos", protocol=["preservation"], outcomes={"mine": odd}, out=home / "run", quiet=True)


def test_a_file_in_the_users_folder_does_not_take_the_place_of_a_module(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(home)
    (home / "queue.py").write_text("raise SystemExit('the wrong queue')")
    assert {reason for _, reason, _ in rows(score(home), "psnr").values()} == {None}


def test_workers_that_cannot_start_end_the_run_with_a_message(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "site").mkdir()
    (home / "site" / "sitecustomize.py").write_text("raise SystemExit(3)")
    monkeypatch.syspath_prepend(home / "site")
    with pytest.raises(EditGaugeError, match="ended while they started"):
        score(home)
    monkeypatch.undo()
    assert {reason for _, reason, _ in rows(score(home), "psnr").values()} == {None}


@pytest.mark.parametrize("place", ["bench", "mine"])
def test_a_benchmark_s_or_a_method_s_folder_is_not_taken_for_a_run(
    place: str, tmp_path: Path, make_benchmark: Callable[..., Path], make_outcomes: Callable[..., Path]
) -> None:
    benchmark = make_benchmark(tmp_path / "bench", edits=2)
    outcomes = make_outcomes(benchmark, tmp_path / "mine")
    before = {path: path.read_bytes() for path in (tmp_path / place).iterdir()}
    with pytest.raises(BadRunError, match="is not empty and is no run"):
        run(benchmark, protocol=["preservation"], outcomes={"mine": outcomes}, out=tmp_path / place, quiet=True)
    assert {path: path.read_bytes() for path in (tmp_path / place).iterdir()} == before


def test_an_empty_folder_is_taken(
    tmp_path: Path, make_benchmark: Callable[..., Path], make_outcomes: Callable[..., Path]
) -> None:
    benchmark = make_benchmark(tmp_path / "bench", edits=2)
    (tmp_path / "run").mkdir()
    run(
        benchmark,
        protocol=["preservation"],
        outcomes={"mine": make_outcomes(benchmark, tmp_path / "mine")},
        out=tmp_path / "run",
        quiet=True,
    )
    assert (tmp_path / "run" / "manifest.json").is_file()


MODEL = {"perceptual_distance": "lpips-alex"}
LPIPS = "LPIPS 0.1 (AlexNet)"
EDITS = 3


def sources(out: Path) -> int:
    """How many source images a run has."""
    return len(set(Run.open(out).scores["source"].to_pylist()))


@pytest.mark.slow
def test_a_run_with_a_profile_is_the_same_run_and_tells_where_its_time_went(
    tmp_path: Path, make_benchmark: Make, make_outcomes: Make
) -> None:
    photos = make_benchmark(tmp_path / "photos", edits=EDITS, size=64)
    mine = {"mine": make_outcomes(photos, tmp_path / "mine")}
    run(photos, protocol=["preservation"], outcomes=mine, out=tmp_path / "plain", model=MODEL, processes=1, quiet=True)
    run(
        photos,
        protocol=["preservation"],
        outcomes=mine,
        out=tmp_path / "timed",
        model=MODEL,
        processes=1,
        timings=True,
        quiet=True,
    )
    assert export(tmp_path / "timed", format="jsonl") == export(tmp_path / "plain", format="jsonl")
    assert read_profile(tmp_path / "plain") is None

    profile = read_profile(tmp_path / "timed")
    assert profile is not None
    spent = {(each.of, each.stage): each for each in profile.spent}
    asked = spent[LPIPS, "queue"].times
    assert EDITS <= asked <= spent[LPIPS, "forward"].times, "source, outcome and comparison are passes of their own"
    assert asked <= spent[LPIPS, "unknown"].times, "two items may wait for one answer"
    assert spent["pictures", "decode"].times == EDITS + sources(tmp_path / "timed"), "each picture once"
    assert spent["preservation", "score"].times > EDITS, "each waits for its model at least once"
    work = (LPIPS, "load"), (LPIPS, "forward"), ("pictures", "decode"), ("preservation", "score")
    assert all(0 < spent[each].seconds < profile.seconds for each in work)
    assert 'class="spent-forward"' in report(tmp_path / "timed", out=tmp_path / "report", quiet=True).read_text()


def test_a_profile_tells_of_the_last_command_that_scored_something(
    tmp_path: Path, make_benchmark: Make, make_outcomes: Make
) -> None:
    photos = make_benchmark(tmp_path / "photos", edits=EDITS, size=16)
    mine = {"mine": make_outcomes(photos, tmp_path / "mine")}
    out = tmp_path / "run"
    run(photos, protocol=["preservation"], outcomes=mine, out=out, timings=True, processes=1, quiet=True)
    before = (out / FOLDER / TIMELINE).read_bytes()
    run(photos, protocol=["preservation"], outcomes=mine, out=out, timings=True, processes=1, quiet=True)
    assert (out / FOLDER / TIMELINE).read_bytes() == before, "nothing was left to do"
    more = mine | {"other": make_outcomes(photos, tmp_path / "other", 1)}
    run(photos, protocol=["preservation"], outcomes=more, out=out, timings=True, processes=1, quiet=True)
    events = json.loads((out / FOLDER / TIMELINE).read_text())["traceEvents"]
    assert len({event["pid"] for event in events}) == 1
    profile = read_profile(out)
    assert profile is not None
    decoded = [each.times for each in profile.spent if each.stage == "decode"]
    assert decoded == [EDITS + sources(out)]


@pytest.fixture
def listed_home(tmp_path: Path, make_benchmark: Make, make_outcomes: Make) -> Path:
    """Eight edits of four photographs; `mine` as a folder, `listed` as a list in another order, with a gap."""
    make_benchmark(tmp_path / "photos", edits=8, size=32)
    make_outcomes(tmp_path / "photos", tmp_path / "mine")
    lines = [{"id": f"edit-{n:03d}", "image_path": f"mine/edit-{n:03d}.png", "seed": n % 2} for n in (5, 0, 7, 2, 1, 4)]
    (tmp_path / "listed.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return tmp_path


def scores(listed_home: Path, out: str) -> bytes:
    outcomes = {"listed": listed_home / "listed.jsonl", "mine": listed_home / "mine"}
    return export(
        run(
            listed_home / "photos",
            protocol=["preservation"],
            outcomes=outcomes,
            out=listed_home / out,
            processes=1,
            quiet=True,
        ).folder,
        format="csv",
    )


def test_on_disk_and_in_memory_are_the_same(listed_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_memory = scores(listed_home, "in-memory")
    monkeypatch.setattr(shelf, "MAX_IN_MEMORY", 2)
    edits = load(listed_home / "photos").edits
    assert isinstance(edits, DiskList)
    assert isinstance(find_outcomes("listed", listed_home / "listed.jsonl", edits).outcomes, DiskList)
    assert scores(listed_home, "on-disk") == in_memory
    assert (listed_home / "in-memory" / "edits.jsonl").read_bytes() == (
        listed_home / "on-disk" / "edits.jsonl"
    ).read_bytes()
    assert scores(listed_home, "on-disk") == in_memory  # nothing is left to do


def test_what_is_wrong_with_a_list_is_told_all_at_once(listed_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shelf, "MAX_IN_MEMORY", 2)
    with (listed_home / "listed.jsonl").open("a") as lines:
        lines.write('{"id": "edit-007", "image_path": "x.png", "seed": 1}\n{"id": 3}\n')
    with pytest.raises(BadInputError) as told:
        find_outcomes("listed", listed_home / "listed.jsonl", load(listed_home / "photos").edits)
    assert [problem.split(":")[0] for problem in told.value.problems] == [
        "listed.jsonl",
        "edit 'edit-007', seed 1 is listed 2 times",
    ]


TRUTH_EDITS = 3


@pytest.fixture
def truth_home(tmp_path: Path, make_benchmark: Make, make_outcomes: Make) -> Path:
    """Three edits of photographs; what two of them should become is in `truth`."""
    truth = [f"truth/{number}.png" if number else None for number in range(TRUTH_EDITS)]
    make_benchmark(tmp_path / "photos", edits=TRUTH_EDITS, size=32, reference=truth)
    make_outcomes(tmp_path / "photos", tmp_path / "mine")
    (tmp_path / "photos" / "truth").mkdir()
    for number in range(1, TRUTH_EDITS):
        write_png(read_image(tmp_path / "mine" / f"edit-{number:03d}.png"), tmp_path / "photos" / f"truth/{number}.png")
    return tmp_path


def score_with_truth(truth_home: Path) -> dict[str, float | None]:
    """The distance of each outcome to its ground truth."""
    made = run(
        truth_home / "photos",
        outcomes={"mine": truth_home / "mine"},
        protocol=["reference"],
        out=truth_home / "run",
        quiet=True,
        processes=1,
    )
    columns = (made.scores[column].to_pylist() for column in ("edit", "name", "value"))
    return {edit: value for edit, name, value in zip(*columns, strict=True) if name == "l1"}


def test_another_ground_truth_makes_another_score(truth_home: Path) -> None:
    assert score_with_truth(truth_home) == {"edit-000": None, "edit-001": 0.0, "edit-002": 0.0}
    truth = truth_home / "photos" / "truth" / "2.png"
    write_png(np.zeros_like(read_image(truth)), truth)
    os.utime(truth, (1, 1))

    assert [
        problem for problem in verify(truth_home / "run", recompute=0, quiet=True).problems if str(truth) in problem
    ]
    again = score_with_truth(truth_home)
    assert (again["edit-000"], again["edit-001"]) == (None, 0.0)
    assert again["edit-002"] is not None
    assert again["edit-002"] > 0
    assert verify(truth_home / "run", recompute=0, quiet=True).sound


def test_ground_truth_that_is_the_same_is_not_scored_again(truth_home: Path, caplog: pytest.LogCaptureFixture) -> None:
    score_with_truth(truth_home)
    run(
        truth_home / "photos",
        outcomes={"mine": truth_home / "mine"},
        protocol=["reference"],
        out=truth_home / "run",
        processes=1,
    )

    assert f"{EDITS} of {EDITS} outcomes were scored before; nothing is left to do." in caplog.text
    assert Run.open(truth_home / "run").scores["reference_path"].null_count > 0


def test_runs_with_equal_signatures_have_equal_numbers(
    tmp_path: Path, make_benchmark: Make, make_outcomes: Make
) -> None:
    make_benchmark(tmp_path / "photos", edits=4, size=48)
    make_outcomes(tmp_path / "photos", tmp_path / "mine")
    options: list[dict[str, Any]] = [
        {},
        {},
        {"seed": 1},
        {"limit": 2},
        {"protocol": ["preservation", "artifacts@released"]},
        {"protocol": ["artifacts"]},
    ]
    signed: dict[str, list[float | None]] = {}
    for number, changes in enumerate(options):
        settings = {"protocol": ["preservation"], "out": tmp_path / f"run{number}", "quiet": True, **changes}
        scored = run(tmp_path / "photos", outcomes={"mine": tmp_path / "mine"}, **settings)
        for protocol in scored.manifest.protocols:
            rows = [row for row in scored.table.to_pylist() if row["protocol"] == protocol]
            values = [row["value"] for row in rows]
            assert signed.setdefault(str(scored.signature(protocol)), values) == values
    assert len(signed) == 5

    same = editgauge.diff(tmp_path / "run0", tmp_path / "run1", signature=True)
    other = editgauge.diff(tmp_path / "run0", tmp_path / "run3", signature=True)
    assert isinstance(same, SignatureDifference)
    assert isinstance(other, SignatureDifference)
    assert same.is_equal
    assert not other.is_equal
    assert [line.partition(":")[0] for line in other.protocols["preservation"]] == [
        "the benchmark or its edits",
        "the number of edits",
    ]
    lines = [str(Run.open(tmp_path / name).signature("preservation")) for name in ("run0", "run2")]
    seeds = editgauge.diff(*lines, signature=True)
    assert isinstance(seeds, SignatureDifference)
    assert seeds.protocols == {"preservation": ("the random seed: '0' and '1'",)}
