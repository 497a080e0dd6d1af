"""`--sweep`: variants of a method in folders of their own, which a run reads by their names."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from editgauge._util.images import read_image
from editgauge.engine.edit import edit
from editgauge.engine.run import run
from editgauge.errors import BadInputError

pytestmark = pytest.mark.slow

Make = Callable[..., Path]


@pytest.fixture
def photos(tmp_path: Path, plugged_in: Path, make_benchmark: Make) -> Path:
    return make_benchmark(tmp_path / "photos", edits=2, size=48)


def test_a_variant_for_every_value_which_a_run_reads(tmp_path: Path, photos: Path) -> None:
    out = tmp_path / "out"
    made = edit(photos, method="brighter", out=out, sweep=["light=0,20,40"], seeds=2, quiet=True)
    names = ["brighter[light=0]", "brighter[light=20]", "brighter[light=40]"]
    assert list(made.variants) == names
    assert (made.made, made.kept) == (12, 0)
    means = [read_image(out / name / "edit-000.png").mean() for name in names]
    assert means == sorted(set(means))
    manifest = json.loads((out / names[1] / "method.json").read_text("utf-8"))
    assert manifest["method"] == names[1]
    assert manifest["settings"]["options"] == {"light": 20}
    scored = run(photos, protocol=["preservation"], outcomes=[f"{out}/*"], out=tmp_path / "run", quiet=True)
    assert list(scored.manifest.methods) == names


def test_several_options_give_every_combination_and_are_continued(tmp_path: Path, photos: Path) -> None:
    sweep: dict[str, list[float]] = {"shift": [1, 2], "wait": [0.0, 0.001]}
    edit(photos, method="mirrored", out=tmp_path / "out", sweep=sweep, form="instruction", limit=1, quiet=True)
    again = edit(photos, method="mirrored", out=tmp_path / "out", sweep=sweep, form="instruction", quiet=True)
    assert list(again.variants) == [f"mirrored[shift={a},wait={b}]" for a in (1, 2) for b in (0.0, 0.001)]
    assert (again.made, again.kept) == (4, 4)


def test_all_that_is_wrong_with_a_sweep_is_told_at_once(tmp_path: Path, photos: Path) -> None:
    with pytest.raises(BadInputError) as caught:
        edit(
            photos,
            method="mirrored",
            out=tmp_path / "out",
            option=["wait=0"],
            sweep=["shift=1,,1", "wait=1"],
            quiet=True,
        )
    assert caught.value.problems == (
        "shift has an empty value",
        "shift has the same value twice",
        "wait is also given by --option",
    )
    with pytest.raises(BadInputError, match="'mirrored' cannot be swept like that") as values:
        edit(photos, method="mirrored", out=tmp_path / "out", sweep=["shift=1,two,a/b,3[4]"], quiet=True)
    assert values.value.problems == (
        "mirrored[shift=two]: shift is a whole number, got 'two'",
        "id 'mirrored[shift=a/b]' holds a path separator, and is to name a folder",
        "a value holds a bracket, and is to name a folder",
    )
    with pytest.raises(BadInputError, match="--sweep takes NAME=VALUE,VALUE"):
        edit(photos, method="mirrored", out=tmp_path / "out", sweep=["shift"], quiet=True)
    with pytest.raises(BadInputError, match="'identity' has no options"):
        edit(photos, method="identity", out=tmp_path / "out", sweep=["a=1"], quiet=True)
    assert not (tmp_path / "out").exists()


def test_a_sweep_does_not_go_into_the_folder_of_one_method(tmp_path: Path, photos: Path) -> None:
    edit(photos, method="brighter", out=tmp_path / "one", quiet=True)
    with pytest.raises(BadInputError, match="holds outcomes of one method"):
        edit(photos, method="brighter", out=tmp_path / "one", sweep=["light=1,2"], quiet=True)
    edit(photos, method="brighter", out=tmp_path / "many", sweep=["light=1,2"], quiet=True)
    with pytest.raises(BadInputError, match="is not empty"):
        edit(photos, method="brighter", out=tmp_path / "many", quiet=True)
