"""`editgauge edit`: the outcomes of a method, and what became of those it could not make."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import pytest

from editgauge._util.files import DRAFT_PREFIX
from editgauge._util.images import read_image
from editgauge.benchmarks import open_benchmark
from editgauge.engine.edit import edit
from editgauge.engine.run import run
from editgauge.errors import BadInputError, EditGaugeError
from editgauge.methods.outcomes import find_outcomes

Make = Callable[..., Path]
FAULTS = {
    "raises": "crashed: RuntimeError: no such luck",
    "raises-surrogates": "crashed: RuntimeError: a name that is not text: \\udce9",
    "cannot": "there is no cat",
    "refuses": "refused: the filter says no",
    "floats": "crashed: the method gave float64 (48, 48, 3) instead of uint8 (height, width, 3)",
    "gray": "crashed: the method gave uint8 (48, 48) instead of uint8 (height, width, 3)",
    "empty": "crashed: the method gave uint8 (0, 48, 3) instead of uint8 (height, width, 3)",
    "none": "crashed: the method gave NoneType instead of uint8 (height, width, 3)",
}


@pytest.fixture
def photos(tmp_path: Path, plugged_in: Path, make_benchmark: Make) -> Path:
    return make_benchmark(tmp_path / "photos", size=48)


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "outcomes.jsonl").read_text("utf-8").splitlines()]


def manifest(folder: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((folder / "method.json").read_text("utf-8"))
    return read


def test_an_edit_that_fails_costs_no_other(tmp_path: Path, plugged_in: Path, make_benchmark: Make) -> None:
    subjects = [*FAULTS, "fine"]
    make_benchmark(tmp_path / "photos", edits=len(subjects), size=48, id=subjects, subject=subjects)
    made = edit(tmp_path / "photos", method="clumsy", out=tmp_path / "out", quiet=True)
    assert made.absences == FAULTS
    assert (made.made, made.reused) == (1, 0)
    assert {line["id"]: line.get("absence") for line in lines(tmp_path / "out")} == {**FAULTS, "fine": None}
    assert made.card is not None
    assert made.card.failures == {"crashed": 6, "cannot": 1, "refused": 1}
    assert manifest(tmp_path / "out")["card"] == made.card.as_json()


def test_a_refusal_stays_and_other_absences_are_tried_again(
    tmp_path: Path, plugged_in: Path, make_benchmark: Make
) -> None:
    subjects = ["refuses", "raises", "fine"]
    make_benchmark(tmp_path / "photos", edits=3, size=48, id=subjects, subject=subjects)
    edit(tmp_path / "photos", method="clumsy", out=tmp_path / "out", quiet=True)
    again = edit(tmp_path / "photos", method="clumsy", out=tmp_path / "out", quiet=True)
    assert (again.made, again.reused) == (0, 2), "the one that raised was tried once more"
    assert set(again.absences) == {"refuses", "raises"}


def test_given_again_it_keeps_what_is_there(tmp_path: Path, photos: Path) -> None:
    edit(photos, method="negative", out=tmp_path / "out", limit=3, quiet=True)
    again = edit(photos, method="negative", out=tmp_path / "out", quiet=True)
    assert (again.made, again.reused, again.absences) == (1, 3, {})
    before, after = read_image(photos / "0.png"), read_image(tmp_path / "out" / "edit-000.png")
    assert (before == 255 - after).all()


def test_fewer_edits_forget_none_that_are_there(tmp_path: Path, photos: Path) -> None:
    edit(photos, method="negative", out=tmp_path / "out", quiet=True)
    edit(photos, method="negative", out=tmp_path / "out", limit=1, quiet=True)
    assert len(lines(tmp_path / "out")) == 4


def test_seeds_have_files_that_are_found_again_and_can_be_added(tmp_path: Path, photos: Path) -> None:
    out = tmp_path / "out"
    edit(photos, method="brighter", out=out, quiet=True)
    more = edit(photos, method="brighter", out=out, seeds=3, quiet=True)
    assert (more.made, more.reused) == (8, 4)
    assert manifest(out)["seeds"] == [0, 1, 2]
    edits = open_benchmark(photos).edits
    listed = {(o.edit_id, o.seed): o.image for o in find_outcomes("brighter", out, edits).outcomes}
    (out / "outcomes.jsonl").unlink()
    by_name = {(o.edit_id, o.seed): o.image for o in find_outcomes("brighter", out, edits).outcomes}
    assert listed == by_name
    assert len(listed) == 12
    pictures = [read_image(out / name) for name in ("edit-000.png", "edit-000__seed1.png", "edit-000__seed2.png")]
    assert (pictures[0] != pictures[1]).any()
    assert (pictures[1] != pictures[2]).any()


def test_the_same_seed_gives_the_same_picture(tmp_path: Path, photos: Path) -> None:
    edit(photos, method="brighter", out=tmp_path / "some", seeds=3, quiet=True)
    edit(photos, method="brighter", out=tmp_path / "one", seed=2, quiet=True)
    name = "edit-001__seed2.png"
    assert (tmp_path / "some" / name).read_bytes() == (tmp_path / "one" / name).read_bytes()


@pytest.mark.parametrize("wrong", [{"seeds": 0}, {"seed": -1}, {"seed": 10**18}])
def test_odd_seeds_are_refused(tmp_path: Path, photos: Path, wrong: dict[str, int]) -> None:
    with pytest.raises(BadInputError, match="at least one seed"):
        edit(photos, method="negative", out=tmp_path / "out", **wrong, quiet=True)  # type: ignore[arg-type]


def test_two_outcomes_of_one_file_are_refused_before_anything_is_made(
    tmp_path: Path, plugged_in: Path, make_benchmark: Make
) -> None:
    make_benchmark(tmp_path / "photos", edits=2, size=48, id=["cat", "cat__seed1"])
    with pytest.raises(BadInputError, match=r"'cat' with seed 1 and 'cat__seed1' with seed 0 .* 'cat__seed1\.png'"):
        edit(tmp_path / "photos", method="negative", out=tmp_path / "out", seeds=2, quiet=True)
    assert not (tmp_path / "out").exists()


def test_each_turn_follows_the_outcome_of_its_own_seed(tmp_path: Path, plugged_in: Path, make_benchmark: Make) -> None:
    make_benchmark(tmp_path / "turns", edits=2, size=48, follows=[None, "edit-000"], turn=[1, 2])
    edit(tmp_path / "turns", method="mirrored", out=tmp_path / "out", seeds=2, form="instruction", quiet=True)
    source = read_image(tmp_path / "turns" / "0.png")
    second = read_image(tmp_path / "out" / "edit-001__seed1.png")
    assert (second == source).all(), "mirrored and rolled by one, twice: back where it was"


def test_a_turn_after_a_failed_one_says_so(tmp_path: Path, plugged_in: Path, make_benchmark: Make) -> None:
    make_benchmark(
        tmp_path / "turns", edits=2, size=48, follows=[None, "edit-000"], turn=[1, 2], subject=["cannot", "x"]
    )
    made = edit(tmp_path / "turns", method="clumsy", out=tmp_path / "out", quiet=True)
    assert made.absences["edit-001"] == "the outcome of the turn before, 'edit-000', is missing"


def test_outcomes_of_two_settings_are_never_mixed(tmp_path: Path, photos: Path) -> None:
    edit(photos, method="mirrored", out=tmp_path / "out", option={"shift": "3"}, form="instruction", quiet=True)
    with pytest.raises(BadInputError, match="made with other settings") as caught:
        edit(photos, method="mirrored", out=tmp_path / "out", quiet=True)
    assert [problem.partition(":")[0] for problem in caught.value.problems] == ["settings.shift", "prompt.form"]


def test_options_are_read_by_the_method_and_recorded(tmp_path: Path, photos: Path) -> None:
    edit(photos, method="mirrored", out=tmp_path / "out", option=["shift=3"], quiet=True)
    told = manifest(tmp_path / "out")
    assert told["settings"] == {"model": "mirror", "revision": "1", "shift": 3}
    assert told["method"] == "mirrored"
    with pytest.raises(BadInputError, match="did you mean 'shift'") as caught:
        edit(photos, method="mirrored", out=tmp_path / "other", option=["shfit=3", "wait=long"], quiet=True)
    assert len(caught.value.problems) == 2
    with pytest.raises(BadInputError, match="'identity' has no options"):
        edit(photos, method="identity", out=tmp_path / "other", option=["a=1"], quiet=True)


def test_a_folder_with_other_things_is_refused(tmp_path: Path, photos: Path) -> None:
    with pytest.raises(BadInputError, match="is not empty and was not made by `editgauge edit`"):
        edit(photos, method="negative", out=photos, quiet=True)


def test_opencv_is_left_as_it_was(tmp_path: Path, photos: Path) -> None:
    threads = cv2.getNumThreads()
    edit(photos, method="negative", out=tmp_path / "out", quiet=True)
    assert cv2.getNumThreads() == threads


def test_the_prompt_in_the_methods_own_form_is_recorded(tmp_path: Path, plugged_in: Path, make_benchmark: Make) -> None:
    make_benchmark(tmp_path / "photos", edits=1, size=48, subject=["cat"], to=["black"])
    edit(tmp_path / "photos", method="mirrored", out=tmp_path / "out", quiet=True)
    assert lines(tmp_path / "out")[0]["prompt"] == "a black cat"
    assert manifest(tmp_path / "out")["templates"] == ["plain/caption/color.v1.txt"]


def test_another_form_and_templates_of_ones_own_override_it(
    tmp_path: Path, plugged_in: Path, make_benchmark: Make
) -> None:
    make_benchmark(tmp_path / "photos", edits=1, size=48, subject=["cat"], to=["black"], **{"from": ["white"]})
    (tmp_path / "mine" / "caption").mkdir(parents=True)
    (tmp_path / "mine" / "caption" / "color.v1.txt").write_text("one {to} {subject}")
    photos, mine = tmp_path / "photos", tmp_path / "mine"
    edit(photos, method="mirrored", out=tmp_path / "a", prompts=mine, quiet=True)
    edit(photos, method="mirrored", out=tmp_path / "b", form="instruction", quiet=True)
    edit(photos, method="brighter", out=tmp_path / "c", form="captions", prompts=mine, quiet=True)
    assert [lines(tmp_path / name)[0]["prompt"] for name in "abc"] == [
        "one black cat",
        "Make it black.",
        "one black cat",
    ]
    assert manifest(tmp_path / "a")["templates"] == ["mine/caption/color.v1.txt"]
    (mine / "caption" / "color.v1.txt").write_text("this {to} {subject}")
    with pytest.raises(BadInputError, match="prompts_sha256"):
        edit(photos, method="mirrored", out=tmp_path / "a", prompts=mine, quiet=True)


def test_an_edit_that_cannot_be_put_into_words_is_an_absence(
    tmp_path: Path, plugged_in: Path, make_benchmark: Make
) -> None:
    make_benchmark(tmp_path / "photos", edits=1, size=48)
    made = edit(tmp_path / "photos", method="mirrored", out=tmp_path / "out", quiet=True)
    assert "lacks parts for 'plain/caption/color.v1.txt'" in made.absences["edit-000"]


@pytest.mark.parametrize(
    "wrong", [{"form": "poem"}, {"template": "fancy"}, {"prompts": "nowhere"}, {"method": "negativ"}]
)
def test_what_does_not_exist_is_told_before_anything_is_made(
    tmp_path: Path, photos: Path, wrong: dict[str, str]
) -> None:
    with pytest.raises(EditGaugeError, match=next(iter(wrong.values()))):
        edit(photos, out=tmp_path / "out", **{"method": "negative", **wrong}, quiet=True)  # type: ignore[arg-type]
    assert not (tmp_path / "out").exists()


def test_after_a_kill_a_picture_gets_its_line_and_half_a_line_is_made_again(tmp_path: Path, photos: Path) -> None:
    out = tmp_path / "out"
    edit(photos, method="negative", out=out, quiet=True)
    whole = (out / "outcomes.jsonl").read_text("utf-8").splitlines(keepends=True)
    (out / "outcomes.jsonl").write_text(whole[0] + whole[2][:30])
    (out / "edit-003.png").unlink()
    (out / f"{DRAFT_PREFIX}abc.png").write_bytes(b"half a picture")
    again = edit(photos, method="negative", out=out, quiet=True)
    assert (again.made, again.reused) == (1, 3)
    assert [line["id"] for line in lines(out)] == [f"edit-00{number}" for number in range(4)]
    assert not list(out.glob(f"{DRAFT_PREFIX}*"))


def test_a_full_disk_is_a_clear_error_and_leaves_no_half_picture(
    photos: Path, small_disk: Callable[[str], Path]
) -> None:
    out = small_disk("36k") / "out"
    with pytest.raises(BadInputError, match=r"No space left on device|the disk is full"):
        edit(photos, method="negative", out=out, quiet=True)
    for file in out.glob("*.png"):
        assert read_image(file).shape == (48, 48, 3)


def test_two_at_once_in_one_folder_are_refused(tmp_path: Path, photos: Path) -> None:
    from filelock import FileLock

    edit(photos, method="negative", out=tmp_path / "out", limit=1, quiet=True)
    with (
        FileLock(tmp_path / "out" / ".lock"),
        pytest.raises(BadInputError, match="Another process is making outcomes"),
    ):
        edit(photos, method="negative", out=tmp_path / "out", quiet=True)


def test_a_missing_key_ends_the_work_instead_of_failing_edit_by_edit(
    tmp_path: Path, photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lacking(edit: object, source: object, seed: int) -> None:
        raise EditGaugeError("pip install what it needs")

    monkeypatch.setattr("editgauge_plugin_for_tests.method.brighter", lacking)
    with pytest.raises(EditGaugeError, match="pip install what it needs"):
        edit(photos, method="python:editgauge_plugin_for_tests.method:brighter", out=tmp_path / "out", quiet=True)


def test_the_card_knows_what_outcomes_cost_also_of_those_made_before(tmp_path: Path, photos: Path) -> None:
    from editgauge.engine._outcomes import OutcomeList, card_of

    edit(photos, method="negative", out=tmp_path / "out", quiet=True)
    card = card_of(OutcomeList(tmp_path / "out"), 0.04, {"peak_memory": 10**15})
    assert (card.outcomes, card.cost, card.peak_memory) == (4, 0.16, 10**15)
    assert card.seconds_mean is not None
    assert card.seconds_mean >= 0
    assert "cost 0.16" in card.summary()


@pytest.fixture
def sweep_photos(tmp_path: Path, plugged_in: Path, make_benchmark: Make) -> Path:
    return make_benchmark(tmp_path / "photos", edits=2, size=48)


@pytest.mark.slow
def test_a_variant_for_every_value_which_a_run_reads(tmp_path: Path, sweep_photos: Path) -> None:
    out = tmp_path / "out"
    made = edit(sweep_photos, method="brighter", out=out, sweep=["light=0,20,40"], seeds=2, quiet=True)
    names = ["brighter[light=0]", "brighter[light=20]", "brighter[light=40]"]
    assert list(made.variants) == names
    assert (made.made, made.reused) == (12, 0)
    means = [read_image(out / name / "edit-000.png").mean() for name in names]
    assert means == sorted(set(means))
    manifest = json.loads((out / names[1] / "method.json").read_text("utf-8"))
    assert manifest["method"] == names[1]
    assert manifest["settings"]["options"] == {"light": 20}
    scored = run(sweep_photos, protocol=["preservation"], outcomes=[f"{out}/*"], out=tmp_path / "run", quiet=True)
    assert list(scored.manifest.methods) == names


@pytest.mark.slow
def test_several_options_give_every_combination_and_are_continued(tmp_path: Path, sweep_photos: Path) -> None:
    sweep: dict[str, list[float]] = {"shift": [1, 2], "wait": [0.0, 0.001]}
    edit(sweep_photos, method="mirrored", out=tmp_path / "out", sweep=sweep, form="instruction", limit=1, quiet=True)
    again = edit(sweep_photos, method="mirrored", out=tmp_path / "out", sweep=sweep, form="instruction", quiet=True)
    assert list(again.variants) == [f"mirrored[shift={a},wait={b}]" for a in (1, 2) for b in (0.0, 0.001)]
    assert (again.made, again.reused) == (4, 4)


@pytest.mark.slow
def test_all_that_is_wrong_with_a_sweep_is_told_at_once(tmp_path: Path, sweep_photos: Path) -> None:
    with pytest.raises(BadInputError) as caught:
        edit(
            sweep_photos,
            method="mirrored",
            out=tmp_path / "out",
            option=["wait=0"],
            sweep=["shift=1,,1", "wait=1"],
            quiet=True,
        )
    assert caught.value.problems == (
        "shift has an empty value",
        "shift has the same value twice",
        "wait is also set by `option`",
    )
    with pytest.raises(BadInputError, match="'mirrored' cannot be swept") as values:
        edit(sweep_photos, method="mirrored", out=tmp_path / "out", sweep=["shift=1,two,a/b,3[4]"], quiet=True)
    assert values.value.problems == (
        "mirrored[shift=two]: shift is a whole number, got 'two'",
        "id 'mirrored[shift=a/b]' holds a path separator, and is to name a folder",
        "a value holds a bracket, and is to name a folder",
    )
    with pytest.raises(BadInputError, match="`sweep` takes NAME=VALUE,VALUE"):
        edit(sweep_photos, method="mirrored", out=tmp_path / "out", sweep=["shift"], quiet=True)
    with pytest.raises(BadInputError, match="'identity' has no options"):
        edit(sweep_photos, method="identity", out=tmp_path / "out", sweep=["a=1"], quiet=True)
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_sweep_does_not_go_into_the_folder_of_one_method(tmp_path: Path, sweep_photos: Path) -> None:
    edit(sweep_photos, method="brighter", out=tmp_path / "one", quiet=True)
    with pytest.raises(BadInputError, match="holds outcomes of one method"):
        edit(sweep_photos, method="brighter", out=tmp_path / "one", sweep=["light=1,2"], quiet=True)
    edit(sweep_photos, method="brighter", out=tmp_path / "many", sweep=["light=1,2"], quiet=True)
    with pytest.raises(BadInputError, match="is not empty"):
        edit(sweep_photos, method="brighter", out=tmp_path / "many", quiet=True)


SCRIPT = str(Path(sys.executable).with_name("editgauge"))
SEED, KILLS, EDITS, SEEDS = 20260314, 3, 8, 2
PATIENCE = 600
"""Seconds after which a test gives up waiting; none depends on how fast anything is."""


@pytest.fixture
def words(tmp_path: Path, make_benchmark: Callable[..., Path]) -> Callable[[str], list[str]]:
    make_benchmark(tmp_path / "photos", edits=EDITS, size=96)
    told = ["--option", "wait=0.05", "--form", "instruction", "--seeds", str(SEEDS), "--quiet"]
    return lambda out: [SCRIPT, "edit", "photos", "--method", "mirrored", "--out", out, *told]


def listed(folder: Path) -> list[dict[str, object]]:
    """The list without its times."""
    lines = map(json.loads, (folder / "outcomes.jsonl").read_text("utf-8").splitlines())
    return [{key: value for key, value in line.items() if key != "seconds"} for line in lines]


@pytest.mark.slow
def test_killed_and_continued_it_ends_as_if_nothing_had_happened(
    tmp_path: Path, plugin: Path, words: Callable[[str], list[str]]
) -> None:
    environment, chance = {**os.environ, "PYTHONPATH": str(plugin)}, random.Random(SEED)
    out = tmp_path / "disturbed"
    for moment in sorted(chance.sample(range(1, EDITS * SEEDS - 3), KILLS)):
        with subprocess.Popen(words("disturbed"), cwd=tmp_path, env=environment) as process:
            deadline = time.monotonic() + PATIENCE
            while process.poll() is None and len(list(out.glob("*.png"))) < moment:
                assert time.monotonic() < deadline, "nothing happens"
                time.sleep(0.002)
            time.sleep(chance.uniform(0, 0.03))
            process.send_signal(signal.SIGKILL)
        assert process.returncode == -signal.SIGKILL, f"it ended before it was killed; seed {SEED}"
        assert all(read_image(file).size for file in out.glob("*.png")), "no half pictures"
        pictures = {file.name for file in out.glob("*.png")}
        assert {str(line["image_path"]) for line in listed(out)} <= pictures
    for name in ("disturbed", "whole"):
        subprocess.run(words(name), cwd=tmp_path, env=environment, check=True, timeout=PATIENCE)
    whole = tmp_path / "whole"
    assert listed(out) == listed(whole)
    assert len(listed(out)) == EDITS * SEEDS
    assert {file.name: file.read_bytes() for file in out.glob("*.png")} == {
        file.name: file.read_bytes() for file in whole.glob("*.png")
    }
    assert sorted(file.name for file in out.iterdir()) == sorted(file.name for file in whole.iterdir())


@pytest.mark.slow
def test_stopped_by_hand_it_says_how_to_continue(
    tmp_path: Path, plugin: Path, words: Callable[[str], list[str]]
) -> None:
    environment = {**os.environ, "PYTHONPATH": str(plugin)}
    with subprocess.Popen(
        words("stopped"), cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True
    ) as process:
        deadline = time.monotonic() + PATIENCE
        while process.poll() is None and not list((tmp_path / "stopped").glob("*.png")):
            assert time.monotonic() < deadline, "nothing happens"
            time.sleep(0.002)
        process.send_signal(signal.SIGINT)
        told = process.communicate(timeout=PATIENCE)[1]
    assert process.returncode == 130
    assert told == "\nStopped. What is done is in stopped. Run the same command again to continue.\n"
    assert len(list((tmp_path / "stopped").glob("*.png"))) < EDITS * SEEDS
