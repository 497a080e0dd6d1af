"""Outcomes in the layouts in use: every public shape is recognized, and what is wrong with a folder is said in rows."""

from __future__ import annotations

import io
import os
import tempfile
import time
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from editgauge._util.images import ImageFile, read_image
from editgauge.errors import BadInputError, UnknownNameError
from editgauge.methods.layouts import LAYOUTS, layouts
from editgauge.methods.outcomes import FoundOutcomes, discover, expand_folders, find_outcomes
from editgauge.types import Edit


def _png() -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", (2, 2), "teal").save(stream, "PNG")
    return stream.getvalue()


PNG = _png()


def make_edit(edit_id: str, kind: str = "color", follows: str | None = None, **extras: Any) -> Edit:
    source = ImageFile("source.png", Path("/nowhere/source.png"))
    return Edit(id=edit_id, source=source, type=kind, instruction="Make it so.", follows=follows, extras=extras)


def write(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(PNG)
    folder.mkdir(exist_ok=True)
    return folder


def files(found: FoundOutcomes, folder: Path) -> dict[str, str]:
    return {one.edit_id: one.image.relative_to(folder).as_posix() for one in found.outcomes if one.image}


def rows(found: FoundOutcomes) -> list[tuple[str, str]]:
    return [(fault.kind, fault.where) for fault in found.faults]


@dataclass(frozen=True)
class Case:
    layout: str
    told: str
    public: Mapping[str, tuple[Edit, str]]

    @property
    def edits(self) -> list[Edit]:
        return [edit for edit, _ in self.public.values()]

    @property
    def paths(self) -> dict[str, str]:
        return {name: path for name, (_, path) in self.public.items()}


def case(layout: str, told: str, *public: tuple[Edit, str]) -> Case:
    return Case(layout, told, {edit.id: (edit, path) for edit, path in public})


def ted(name: str, image: str, text: str, path: str) -> tuple[Edit, str]:
    return make_edit(name, image=image, target_text=text), path


HASH = "0f385bcff859231789a9c978cafecc2a"
ANIMAL = "1_change_object_80/1_artificial/1_animal/111000000000.jpg"
CASES = [
    case(
        "plain",
        "plain",
        *((make_edit(name), f"{name}.png") for name in ("cat-black", "bowl-left", "schwarze Kätzchen")),
    ),
    case(
        "editval",
        "EditVal",
        (make_edit("a", image_id=122105, to="blue"), "color/122105/blue.png"),
        (make_edit("b", "object_addition", image_id="153243", to="cup"), "object_addition/153243/cup.png"),
        (
            make_edit("c", "positional_addition", image_id=100166, to="bag on top"),
            "positional_addition/100166/bag on top.png",
        ),
    ),
    case(
        "pixlens",
        "PixLens",
        (make_edit("a", image_id="7", prompts=["Make it blue", "blue cat"]), "EditVal/000000000007/blue cat.png"),
        (make_edit("b", image_id="7", prompts=["Why?"]), "EditVal/000000000007/WhyQQ.png"),
        (make_edit("c", image_id="12", prompts=["Make it blue"]), "EditVal/000000000012/Make it blue.png"),
    ),
    case(
        "edit-compass",
        "Edit-Compass",
        (make_edit("a", part="Part1", task="ADD", save_id="1"), "Part1/ADD/1.png"),
        (make_edit("b", part="Part1", task="ADD", save_id="2"), "Part1/ADD/2.png"),
        (make_edit("c", part="Part5", task="Mix", save_id="1"), "Part5/Mix/1.png"),
    ),
    case(
        "rededit",
        "REDEdit-Bench",
        *(
            (
                make_edit(name, task=name, source=f"redbench/{name}/{name}-1.png", a_to_b_instructions="x"),
                f"{name}/{name}-1.png",
            )
            for name in ("add", "remove", "text")
        ),
    ),
    case(
        "uniredit",
        "UniREditBench",
        (make_edit("a", name="maze", idx=1), "maze/1.png"),
        (make_edit("b", name="maze", idx=2), "maze/2.png"),
        (make_edit("c", name="sudoku", idx=1), "sudoku/1.png"),
    ),
    case(
        "pie_bench",
        "PIE-Bench",
        (
            make_edit("a", key="000000000000", image_path="0_random_140/000000000000.jpg"),
            "0_random_140/000000000000.jpg",
        ),
        (make_edit("b", key="111000000000", image_path=ANIMAL), ANIMAL),
        (make_edit("c", key="2", image_path="2_add/2.jpg"), "2_add/2.jpg"),
    ),
    case(
        "magicbrush-inde",
        "MagicBrush single-turn (_inde_)",
        (make_edit("a", img_id="30", turn=1), "30/30_1.png"),
        (make_edit("b", img_id=139, turn=1), "139/139_1.png"),
        (make_edit("c", img_id=139, turn="2"), "139/139_inde_2.png"),
    ),
    case(
        "magicbrush-iter",
        "MagicBrush multi-turn (_iter_)",
        (make_edit("a", img_id="139", turn=1), "139/139_1.png"),
        (make_edit("b", img_id="139", turn=2, follows="a"), "139/139_iter_2.png"),
        (make_edit("c", img_id="139", turn=3, follows="b"), "139/139_iter_3.png"),
    ),
    case(
        "magicbrush-output",
        "MagicBrush -output",
        (make_edit("a", img_id="139306", turn=1), "139306/139306-output1.png"),
        (make_edit("b", img_id="139306", turn=2), "139306/139306-output2.png"),
        (make_edit("c", img_id="30", turn=1), "30/30-output1.png"),
    ),
    case(  # three of the hundred files in the authors' repository
        "tedbench",
        "TEdBench",
        ted("a", "cat.jpeg", "A photo of a cat wearing a hat.", "cat.jpeg-A_photo_of_a_cat_wearing_a_hat.png"),
        ted("b", "pizza1.png", "Pizza with pepperoni", "pizza1.png-Pizza_with_pepperoni.png"),
        ted(
            "c",
            "tree_1.jpeg",
            "A photo of a tree. Taken in autumn.",
            "tree_1.jpeg-A_photo_of_a_tree._Taken_in_autumn.png",
        ),
    ),
    case(
        "gedit",
        "GEdit",
        (make_edit("a", key=HASH, task="subject-add", language="en"), f"fullset/subject-add/en/{HASH}.png"),
        (make_edit("b", key=HASH, task="subject-add", language="cn"), f"fullset/subject-add/cn/{HASH}.png"),
        (make_edit("c", key="ff00", task="ps_human", language="en"), "fullset/ps_human/en/ff00.png"),
    ),
    case(
        "kris",
        "KRIS-Bench",
        *((make_edit(f"e{n}", category="anomaly", key=str(n)), f"anomaly/{n}.jpg") for n in (1, 2, 30)),
    ),
    case(
        "rise",
        "RISEBench",
        *((make_edit(f"e{n}", category="logic", index=f"l_{n}"), f"images/logic/l_{n}.png") for n in (1, 2, 30)),
    ),
    case(
        "omnicontext",
        "OmniContext",
        *((make_edit(f"e{n}", task_type="scene", key=f"k{n}"), f"fullset/scene/k{n}.png") for n in (1, 2, 30)),
    ),
    case(
        "compbench",
        "CompBench",
        *((make_edit(f"e{n}", task="add", image_path=f"0{n}.png"), f"add/0{n}.png") for n in (1, 2, 30)),
    ),
    case(
        "edival",
        "EdiVal",
        (make_edit("a", image_index="4", turn=1), "multipass/4_input_raw_turn_1.png"),
        (make_edit("b", image_index="4", turn=2, follows="a"), "multipass/4_input_raw_turn_2.png"),
        (make_edit("c", image_index="4", turn=3, follows="b"), "multipass/4_input_raw_turn_3.png"),
    ),
    case("imgedit", "ImgEdit", *((make_edit(f"e{n}", key=f"{n}"), f"{n}.png") for n in (1082, 1083, 7))),
    case(
        "imagenhub",
        "ImagenHub",
        *((make_edit(f"e{n}", uid=f"sample_{n}_1.jpg"), f"sample_{n}_1.jpg") for n in (100081, 102724, 7)),
    ),
]
EVERY_EXTRA = {key: f"no-{key}" for one in CASES for edit in one.edits for key in edit.extras}
each_case = pytest.mark.parametrize("one", CASES, ids=lambda one: one.layout)


OTHERS = {"hatie", "imagenworld", "texteditbench", "wiseedit"}
"""Their paths follow from folders or methods; they are tested with their benchmarks."""


def test_every_layout_has_a_case() -> None:
    assert {one.layout for one in CASES} | OTHERS == set(LAYOUTS)
    assert [name for name in LAYOUTS if layouts.get(name).name != name or not layouts.get(name).about] == []


@each_case
def test_the_public_shape_is_recognized(one: Case, tmp_path: Path) -> None:
    result = find_outcomes("mine", write(tmp_path, *one.paths.values()), one.edits)
    assert (result.layout, files(result, tmp_path), result.faults) == (one.layout, one.paths, ())
    assert result.sentence("mine") == f"mine: found 3 of 3 outcomes, {one.told} layout"
    assert all(outcome.image and read_image(outcome.image).shape == (2, 2, 3) for outcome in result.outcomes)


@each_case
def test_it_is_recognized_among_all(one: Case, tmp_path: Path) -> None:
    edits = [replace(edit, extras={**EVERY_EXTRA, **edit.extras}) for edit in one.edits]
    result = find_outcomes("mine", write(tmp_path, *one.paths.values()), edits)
    assert (result.layout, files(result, tmp_path)) == (one.layout, one.paths)


@each_case
def test_a_missing_outcome_is_an_absence_and_a_row(one: Case, tmp_path: Path) -> None:
    name, path = next(reversed(one.paths.items()))
    write(tmp_path, *one.paths.values())
    (tmp_path / path).unlink()
    result = find_outcomes("mine", tmp_path, one.edits)
    assert rows(result) == [("missing", name)]
    assert result.sentence("mine") == f"mine: found 2 of 3 outcomes, {one.told} layout, 1 missing"
    assert [outcome.absence for outcome in result.outcomes if not outcome.image] == [result.faults[0].detail]
    assert PurePosixPath(path).stem in result.faults[0].detail


@each_case
def test_two_files_for_one_edit_are_refused(one: Case, tmp_path: Path) -> None:
    path = PurePosixPath(next(iter(one.paths.values())))
    write(tmp_path, *one.paths.values(), str(path.with_suffix(".webp")))
    with pytest.raises(BadInputError, match="keep one of each") as refused:
        find_outcomes("mine", tmp_path, one.edits)
    assert str(path) in str(refused.value)
    assert str(path.with_suffix(".webp")) in str(refused.value)


@each_case
def test_a_misspelled_file_is_told_and_never_used(one: Case, tmp_path: Path) -> None:
    name, path = next(reversed(one.paths.items()))
    wrong = str(PurePosixPath(path).with_name(f"{PurePosixPath(path).stem}x.png"))
    write(tmp_path, *[other for other in one.paths.values() if other != path], wrong)
    result = find_outcomes("mine", tmp_path, one.edits)
    assert name not in files(result, tmp_path)
    assert result.unexpected == (wrong,)
    if len(str(PurePosixPath(path).with_suffix(""))) > 1:  # one letter resembles nothing
        assert rows(result) == [("missing", name), ("misspelled", wrong)]
        assert "did you mean" in result.sentence("mine")
    else:
        assert rows(result) == [("missing", name), ("unmatched", wrong)]


@each_case
def test_other_capitals_are_used_and_told(one: Case, tmp_path: Path) -> None:
    loud = {name: str(PurePosixPath(path).with_suffix("")).upper() + ".PNG" for name, path in one.paths.items()}
    result = find_outcomes("mine", write(tmp_path, *loud.values()), one.edits)
    changed = [("capitals", path) for name, path in loud.items() if path[:-4] != one.paths[name].rpartition(".")[0]]
    assert (result.layout, files(result, tmp_path)) == (one.layout, loud)
    assert sorted(rows(result)) == sorted(changed)


@each_case
@pytest.mark.parametrize("suffix", [".jpg", ".webp", ".JPEG", ".PNG"])
def test_other_suffixes_of_images_are_accepted_silently(one: Case, suffix: str, tmp_path: Path) -> None:
    other = {name: str(PurePosixPath(path).with_suffix(suffix)) for name, path in one.paths.items()}
    result = find_outcomes("mine", write(tmp_path, *other.values()), one.edits)
    assert (files(result, tmp_path), result.faults) == (other, ())


@each_case
def test_a_file_that_is_no_image_is_unmatched(one: Case, tmp_path: Path) -> None:
    name, path = next(reversed(one.paths.items()))
    array = str(PurePosixPath(path).with_suffix(".npy"))
    write(tmp_path, *[other for other in one.paths.values() if other != path], array)
    result = find_outcomes("mine", tmp_path, one.edits)
    assert (rows(result), result.unexpected) == ([("missing", name), ("unmatched", array)], (array,))
    assert f"outcome of '{name}', but not an image" in result.faults[1].detail


@each_case
@pytest.mark.parametrize(
    "mark", ["{folder}{stem}__seed{seed}.png", "{folder}{stem}_seed{seed}.png", "seed{seed}/{path}"]
)
def test_every_layout_has_seeds(one: Case, mark: str, tmp_path: Path) -> None:
    for path in one.paths.values():
        stem, folder = PurePosixPath(path).stem, path[: -len(PurePosixPath(path).name)]
        write(tmp_path, *(mark.format(folder=folder, stem=stem, seed=seed, path=path) for seed in (3, 12)))
    result = find_outcomes("mine", tmp_path, one.edits)
    assert [(outcome.edit_id, outcome.seed) for outcome in result.outcomes] == [
        (n, s) for n in one.paths for s in (3, 12)
    ]
    assert (result.layout, result.faults) == (one.layout, ())
    assert result.sentence("mine") == f"mine: found 6 of 6 outcomes, 2 seeds, {one.told} layout"


@given(data=st.data())
def test_whatever_is_there_is_found_exactly(data: st.DataObject) -> None:
    one = data.draw(st.sampled_from(CASES))
    wanted = {(name, seed) for name in one.paths for seed in (0, 1, 2)}
    there = data.draw(st.lists(st.sampled_from(sorted(wanted)), min_size=1, unique=True))
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for name, seed in there:
            write(folder, f"seed{seed}/{one.paths[name]}" if seed else one.paths[name])
        edits = data.draw(st.permutations(one.edits))
        result = find_outcomes("mine", folder, edits, one.layout)
        assert {(outcome.edit_id, outcome.seed) for outcome in result.outcomes if outcome.image} == set(there)
        absent = {edit.id for edit in edits} - {name for name, _ in there}
        assert {outcome.edit_id for outcome in result.outcomes if outcome.absence} == absent
        assert list(dict.fromkeys(outcome.edit_id for outcome in result.outcomes)) == [edit.id for edit in edits]
        assert {fault.kind for fault in result.faults} <= {"missing", "missing_seed"}


@pytest.mark.parametrize(
    ("layout", "edit", "path"),
    [
        ("editval", make_edit("e", "object_addition", image_id=9, to="wine glass"), "object-addition/9/wine_glass.png"),
        ("editval", make_edit("e", image_id=9, to="wine_glass"), "color/000000000009/wine glass.png"),
        ("editval", make_edit("e", image_id="000000000009", to="red"), "color/9/red.png"),
        ("editval", make_edit("e", "action", image_id=11635, to="stand"), "action/11635/11635_action_stand.png"),
        (
            "editval",
            make_edit("e", "action", image_id=11635, to="stand"),
            "action/11635/11635_action_stand_1.5_6.5.png",
        ),
        ("editval", make_edit("e", image_id=9, to="light blue"), "color/9/9_color_light blue_7.5.png"),
        ("pie_bench", make_edit("e", image_path=ANIMAL), f"annotation_images/{ANIMAL}"),
        ("pie_bench", make_edit("e", image_path=f"./annotation_images/{ANIMAL}"), f"annotation_images/{ANIMAL}"),
        ("magicbrush-inde", make_edit("e", img_id=9, turn=2), "9_inde_2.png"),
        ("magicbrush-inde", make_edit("e", img_id=9, turn=1), "9/9_inde_1.png"),
        ("magicbrush-iter", make_edit("e", img_id=9, turn=2), "9_iter_2.png"),
        ("magicbrush-output", make_edit("e", img_id=9, turn=2), "9-output2.png"),
        ("tedbench", make_edit("e", image="cat.jpeg", target_text="A hat."), "cat-A_hat.png"),
        ("tedbench", make_edit("e", image="cat.jpeg", target_text="A hat."), "cat.jpeg-A hat..png"),
        ("gedit", make_edit("e", key="k", task="ps_human", language="cn"), "ps_human/cn/k.png"),
        ("imagenhub", make_edit("e", uid="sample_1_1.jpg"), "sample_1_1.jpg.png"),
    ],
)
def test_other_spellings_of_a_layout(layout: str, edit: Edit, path: str, tmp_path: Path) -> None:
    result = find_outcomes("mine", write(tmp_path, path), [edit])
    assert (result.layout, files(result, tmp_path), result.faults) == (layout, {"e": path}, ())


def test_of_several_settings_the_variant_chooses_one(tmp_path: Path) -> None:
    """The folders of EditVal's human study: settings of the method behind the name, the source beside."""
    names = ["1.5_6.5", "1.5_9.5"]
    write(tmp_path, *(f"color/9/9_color_red_{name}.png" for name in names), "color/9/9_unedited.png")
    edit = make_edit("e", image_id=9, to="red")
    for name in names:
        result = find_outcomes(f"pix2pix[{name}]", tmp_path, [edit])
        assert (result.layout, files(result, tmp_path)) == ("editval", {"e": f"color/9/9_color_red_{name}.png"})
        assert result.faults == (), "other settings and the source are ignored"
    with pytest.raises(BadInputError, match=r"2 settings.*pix2pix\[1.5_6.5\]") as refused:
        find_outcomes("pix2pix", tmp_path, [edit])
    assert refused.value.problems == tuple(names)


def test_of_two_spellings_the_usual_one_is_used_and_the_other_told(tmp_path: Path) -> None:
    write(tmp_path, "color/9/light blue.png", "color/9/light_blue.png")
    result = find_outcomes("mine", tmp_path, [make_edit("e", image_id=9, to="light blue")])
    assert files(result, tmp_path) == {"e": "color/9/light blue.png"}
    assert rows(result) == [("duplicate", "color/9/light_blue.png")]


def test_copies_of_the_source_are_ignored(tmp_path: Path) -> None:
    write(tmp_path, "fullset/t/en/k.png", "fullset/t/en/k_SRCIMG.png")
    assert not find_outcomes("mine", tmp_path, [make_edit("e", key="k", task="t", language="en")]).faults
    write(tmp_path / "editval", "color/9/red.png", "color/9/9_unedited.png")
    assert not find_outcomes("mine", tmp_path / "editval", [make_edit("e", image_id=9, to="red")]).faults


@pytest.mark.parametrize(("follows", "taken", "rival"), [(None, "inde", "iter"), ("a", "iter", "inde")])
def test_a_tie_goes_to_the_setting_the_edits_ask_for(
    follows: str | None, taken: str, rival: str, tmp_path: Path
) -> None:
    edits = [make_edit("a", img_id=9, turn=1), make_edit("b", img_id=9, turn=2, follows=follows)]
    result = find_outcomes("mine", write(tmp_path, "9/9_1.png", "9/9_inde_2.png", "9/9_iter_2.png"), edits)
    assert (result.layout, result.faults) == (f"magicbrush-{taken}", ())
    assert f"`layout='magicbrush-{rival}'` finds as many, in other files" in result.sentence("mine")


def test_plain_wins_a_tie_and_keeps_quiet_when_nothing_differs(tmp_path: Path) -> None:
    edits = [make_edit("k", key="k"), make_edit("m", key="n")]
    assert find_outcomes("mine", write(tmp_path, "k.png"), edits[:1]).rivals == ()
    both = find_outcomes("mine", write(tmp_path, "m.png", "n.png"), edits)
    assert (both.layout, both.rivals, files(both, tmp_path)["m"]) == ("plain", ("imgedit",), "m.png")


def test_a_layout_can_be_asked_for(tmp_path: Path) -> None:
    edit = make_edit("e", image_id=9, to="red")
    write(tmp_path, "e.png", "color/9/red.png")
    (tmp_path / "outcomes.jsonl").write_text('{"id": "e", "absence": "refused"}\n')
    for name, path in (("plain", "e.png"), ("editval", "color/9/red.png")):
        assert files(find_outcomes("mine", tmp_path, [edit], name), tmp_path) == {"e": path}
    listed = find_outcomes("mine", tmp_path, [edit])
    assert (listed.layout, listed.sentence("mine")) == ("jsonl", "mine: found 0 of 1 outcomes, JSONL list, 1 missing")
    assert find_outcomes("mine", tmp_path / "outcomes.jsonl", [edit], "editval") == listed
    with pytest.raises(UnknownNameError, match="Did you mean 'editval'"):
        find_outcomes("mine", tmp_path, [edit], "editvall")
    with pytest.raises(BadInputError, match="The GEdit layout needs 'key', 'task', 'language'"):
        find_outcomes("mine", tmp_path, [edit], "gedit")


def test_nothing_found_shows_what_was_expected_and_what_is_there(tmp_path: Path) -> None:
    edits = [make_edit("e", image_id=9, to="red")]
    with pytest.raises(BadInputError, match="no files, other than hidden"):
        find_outcomes("mine", write(tmp_path), edits)
    write(tmp_path, *(f"run/{n}.png" for n in range(9)), ".hidden.png")
    with pytest.raises(BadInputError) as told:
        find_outcomes("mine", tmp_path, edits)
    for part in ("'e.png'", "'color/9/red.png'", "'run/0.png', 'run/1.png'", "(9 files)", "`layout`"):
        assert part in str(told.value)
    with pytest.raises(BadInputError, match="`layout='plain'` would find 1"):
        find_outcomes("mine", write(tmp_path, "e.png"), edits, "editval")


def test_seeds_that_are_missing_or_double(tmp_path: Path) -> None:
    edits = [make_edit("a"), make_edit("b")]
    result = find_outcomes("mine", write(tmp_path, "a.png", "a_seed1.png", "b.png"), edits)
    assert rows(result) == [("missing_seed", "b")]
    assert result.sentence("mine") == "mine: found 3 of 3 outcomes, 2 seeds, plain layout, 1 without every seed"
    with pytest.raises(BadInputError, match=r"a_seed0\.png"):
        find_outcomes("mine", write(tmp_path, "a_seed0.png"), edits)


def test_names_that_only_look_like_marks(tmp_path: Path) -> None:
    edits = [make_edit("plant"), make_edit("plant_seed2"), make_edit("v1.5"), make_edit("Cat"), make_edit("cat")]
    write(
        tmp_path, "plant.png", "plant_seed2.png", "plant_seed2_seed7.png", "v1.5.png", "Cat.png", "seed1/v1.5_seed2.png"
    )
    result = find_outcomes("mine", tmp_path, edits)
    assert [(one.edit_id, one.seed) for one in result.outcomes if one.image] == [
        ("plant", 0), ("plant_seed2", 0), ("plant_seed2", 7), ("v1.5", 0), ("Cat", 0),
    ]  # fmt: skip
    assert result.unexpected == ("seed1/v1.5_seed2.png",)


def test_a_file_never_serves_two_edits(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match=r"k\.png is expected by 2 edits: 'a', 'b'"):
        find_outcomes("mine", write(tmp_path, "k.png"), [make_edit("a", key="k"), make_edit("b", key="k")], "imgedit")
    ambiguous = find_outcomes("mine", write(tmp_path, "Ab.png"), [make_edit("AB"), make_edit("ab"), make_edit("k")])
    assert (files(ambiguous, tmp_path), ambiguous.unexpected) == ({"k": "k.png"}, ("Ab.png",))


def test_hostile_names_stay_in_the_folder_and_off_the_terminal(tmp_path: Path) -> None:
    folder = write(tmp_path / "mine", "e.png", "red\x1b[2J.png", ".git/e.png", "._e.png", "1/2/3/4/5/6/deep.png")
    write(tmp_path, "secret.png", "elsewhere/e.png")
    (folder / "out.png").symlink_to(tmp_path / "secret.png")
    (folder / "broken.png").symlink_to(folder / "gone.png")
    (folder / "loop").symlink_to(folder, target_is_directory=True)
    (folder / "in.png").symlink_to("e.png")
    Path(os.fsdecode(os.fsencode(folder) + b"/\xff.png")).write_bytes(PNG)
    names = ("e", "in", "out", "broken", "deep")
    edits = [make_edit(name, key=f"../{name}", image_path=f"{tmp_path}/secret.png") for name in names]
    result = find_outcomes("mine", folder, edits)
    assert files(result, folder) == {"e": "e.png", "in": "in.png"}
    assert {fault.where for fault in result.faults if fault.kind == "link"} == {"out.png", "broken.png", "loop"}
    assert ("unlisted", "1/2/3/4/5/6") in rows(result)
    assert "red\\x1b[2J.png" in result.unexpected
    assert result.sentence("mine").encode("utf-8").isascii()
    for layout in ("imgedit", "pie_bench"):
        with pytest.raises(BadInputError, match="holds no images"):
            find_outcomes("mine", folder, edits, layout)


@pytest.mark.parametrize("asked", [unicodedata.normalize("NFC", "café"), unicodedata.normalize("NFD", "café")])
@pytest.mark.parametrize("stored", [unicodedata.normalize("NFC", "café"), unicodedata.normalize("NFD", "café")])
def test_letters_in_one_or_two_characters(asked: str, stored: str, tmp_path: Path) -> None:
    edit = make_edit("e", key=f"{asked}-key", task=asked, language="en")
    result = find_outcomes("mine", write(tmp_path, f"fullset/{stored}/en/{stored}-key.png"), [edit])
    assert (result.present, result.faults) == (1, ())


def test_edits_that_lack_what_a_layout_needs_are_told(tmp_path: Path) -> None:
    edits = [make_edit("a", image_id=9, to="red"), make_edit("b", image_id=9, to="blue"), make_edit("c")]
    result = find_outcomes("mine", write(tmp_path, "color/9/red.png", "color/9/blue.png"), edits)
    assert [outcome.absence for outcome in result.outcomes if outcome.absence] == [
        "the edit has no image_id and to, which the EditVal layout needs"
    ]
    assert find_outcomes("mine", write(tmp_path), []).outcomes == ()


def test_a_folder_of_methods(tmp_path: Path) -> None:
    write(tmp_path, "imagic[eta=0.8]/e.png", "sdedit/e.png", ".cache/e.png", "input/e.png", "notes.txt")
    places = {name: tmp_path / name for name in ("imagic[eta=0.8]", "sdedit")}
    assert discover(tmp_path) == places
    written = expand_folders([f"{tmp_path}/*", "mine[a=1]=x=y"])
    assert written == [*(f"{name}={place}" for name, place in places.items()), "mine[a=1]=x=y"]
    assert expand_folders("mine=x") == ["mine=x"]
    assert all(find_outcomes(name, place, [make_edit("e")]).present for name, place in places.items())


def test_variants_stand_by_the_size_of_their_numbers(tmp_path: Path) -> None:
    values = ("-1", "0", "1e-05", "0.5", "2", "10", "10,s=9", "10,s=30", "many")
    in_order = ["a", *(f"a[t={value}]" for value in values), "a-b"]
    write(tmp_path, *(f"{name}/e.png" for name in reversed(in_order)))
    assert list(discover(tmp_path)) == in_order


def test_stars_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="takes no name"):
        expand_folders([f"mine={tmp_path}/*"])
    with pytest.raises(BadInputError, match="cannot be listed"):
        expand_folders([f"{tmp_path}/nowhere/*"])
    write(tmp_path, "a=b/sdedit/e.png")
    assert expand_folders([f"{tmp_path}/a=b/*"]) == [f"sdedit={tmp_path}/a=b/sdedit"]


def test_folders_that_cannot_be_methods(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="holds no sub-folders"):
        discover(write(tmp_path, ".hidden/e.png", "e.png"))
    write(tmp_path, "fine/e.png", "ends with blank /e.png", "eta=0.8/e.png", "imagic[0.8/e.png")
    (tmp_path / "linked").symlink_to(tmp_path / "fine", target_is_directory=True)
    with pytest.raises(BadInputError) as told:
        discover(tmp_path)
    assert "linked: a link" in str(told.value)
    assert "ends with a blank" in str(told.value)
    assert str(told.value).count("is called NAME or NAME[VARIANT]") == 2


def test_many_files_take_seconds(tmp_path: Path) -> None:
    edits = [make_edit(f"e{n}", image_id=n, to="light blue", key=f"k{n}") for n in range(5_000)]
    write(tmp_path, *(f"color/{n}/light_blue.png" for n in range(4_000)))
    begun = time.process_time()
    result = find_outcomes("mine", tmp_path, edits)
    assert (result.present, len(result.faults)) == (4_000, 1_000)
    assert time.process_time() - begun < 5  # 100,000 files: 5 seconds when this was written


def test_hatie_s_outcomes_begin_with_any_prefix(tmp_path: Path) -> None:
    edits = [make_edit(f"e{number}", id=number, target="cup") for number in (1, 23847, 30)]
    result = find_outcomes("mine", write(tmp_path, "out_A_1.jpg", "out_A_23847.jpg", "out_B_1.jpg", "30.jpg"), edits)
    assert result.layout == "hatie"
    assert files(result, tmp_path) == {"e1": "out_A_1.jpg", "e23847": "out_A_23847.jpg"}
    assert {fault.where: fault.kind for fault in result.faults} == {
        "e30": "missing",
        "30.jpg": "unmatched",
        "out_B_1.jpg": "unmatched",
    }
    assert "no file 'out_A_30.png'" in next(item.absence for item in result.outcomes if item.absence)
