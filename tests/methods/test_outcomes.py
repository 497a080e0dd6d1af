"""Outcomes by files named like the edits, and by JSON lines. Other layouts of folders: `test_layouts.py`."""

from __future__ import annotations

import json
import unicodedata
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from editgauge._util.images import ImageFile
from editgauge.errors import BadInputError
from editgauge.methods.outcomes import OUTCOMES_FILE, FoundOutcomes, find_outcomes
from editgauge.types import Edit, Outcome


def edits(*names: str) -> list[Edit]:
    source = ImageFile("source.png", Path("/nowhere/source.png"))
    return [Edit(id=name, source=source, type="color", instruction="Make it black.") for name in names]


def touched(folder: Path, *names: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name in names:
        (folder / name).write_bytes(b"an image")
    return folder


def found(folder: Path, *names: str) -> FoundOutcomes:
    return find_outcomes("mine", folder, edits(*names))


def images(result: FoundOutcomes) -> dict[str, str | None]:
    return {outcome.edit_id: outcome.image.name if outcome.image else None for outcome in result.outcomes}


# --- by files ----------------------------------------------------------------------------------------------------


def test_a_file_is_the_outcome_of_the_edit_it_is_named_after(tmp_path: Path) -> None:
    folder = touched(tmp_path, "b.png", "a.jpg", "c.webp", "v1.5.PNG", "猫-black.jpeg")
    result = found(folder, "a", "b", "c", "v1.5", "猫-black")

    assert images(result) == {
        "a": "a.jpg",
        "b": "b.png",
        "c": "c.webp",
        "v1.5": "v1.5.PNG",
        "猫-black": "猫-black.jpeg",
    }
    assert result.present == 5
    assert result.unexpected == ()
    assert {outcome.seed for outcome in result.outcomes} == {0}


@pytest.mark.parametrize("asked", ["NFC", "NFD"])
@pytest.mark.parametrize("stored", ["NFC", "NFD"])
def test_a_letter_may_be_one_character_or_two(asked: Any, stored: Any, tmp_path: Path) -> None:
    name = unicodedata.normalize(asked, "café")
    touched(tmp_path, unicodedata.normalize(stored, "café") + ".png")

    assert found(tmp_path, name).outcomes[0].edit_id == name
    assert found(tmp_path, name).present == 1


def test_a_missing_file_is_a_recorded_absence(tmp_path: Path) -> None:
    result = found(touched(tmp_path, "a.png"), "a", "b")

    assert images(result) == {"a": "a.png", "b": None}
    assert result.outcomes[1].absence
    assert "b.png" in result.outcomes[1].absence
    assert result.present == 1


def test_files_that_match_no_edit_are_counted_and_do_no_harm(tmp_path: Path) -> None:
    """Two of one name are a problem only where they are outcomes."""
    result = found(touched(tmp_path, "a.png", "contact-sheet.png", "contact-sheet.jpg"), "a")

    assert result.present == 1
    assert sorted(result.unexpected) == ["contact-sheet.jpg", "contact-sheet.png"]


def test_two_files_for_one_edit_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInputError) as caught:
        found(touched(tmp_path, "a.png", "a.jpg", "b.png"), "a", "b")

    assert "a.png" in str(caught.value)
    assert "a.jpg" in str(caught.value)


def test_an_empty_folder_is_refused_with_an_example(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match=r"cat-black\.png"):
        found(tmp_path, "cat-black")


def test_nothing_at_that_place(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match=r"no outcomes of 'mine' at '.*nowhere': no such folder or JSONL file"):
        found(tmp_path / "nowhere", "a")


def test_a_method_s_name_must_be_usable(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match=r"name cannot be used: .*path separator"):
        find_outcomes("../mine", tmp_path, edits("a"))


# --- by lines ----------------------------------------------------------------------------------------------------


def listed(folder: Path, *lines: dict[str, Any] | str, name: str = OUTCOMES_FILE) -> Path:
    texts = (line if isinstance(line, str) else json.dumps(line, ensure_ascii=False) for line in lines)
    (folder / name).write_bytes("\n".join(texts).encode("utf-8", "surrogatepass"))
    return folder / name


def problems(folder: Path, *lines: dict[str, Any] | str) -> list[str]:
    with pytest.raises(BadInputError) as caught:
        find_outcomes("mine", listed(folder, *lines), edits("a", "b"))
    assert str(folder / OUTCOMES_FILE) in str(caught.value)
    return list(caught.value.problems)


def test_a_line_names_an_image_or_an_absence(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere" / "b.png"
    listed(
        tmp_path,
        {"id": "a", "image_path": "images/a.png", "seed": 7, "prompt": "a black cat"},
        "",
        {"id": "b", "image_path": str(elsewhere)},
        {"id": "c", "absence": "refused by the filter"},
    )
    result = found(tmp_path, "a", "b", "c", "d")

    assert result.outcomes == (
        Outcome(edit_id="a", method="mine", seed=7, image=tmp_path / "images" / "a.png", prompt="a black cat"),
        Outcome(edit_id="b", method="mine", image=elsewhere),
        Outcome(edit_id="c", method="mine", absence="refused by the filter"),
        Outcome(edit_id="d", method="mine", absence="no line in outcomes.jsonl"),
    )
    assert result.present == 2


@pytest.mark.parametrize("kind", ["absolute", "above", "link", "linked folder"])
def test_a_list_cannot_name_images_outside_its_folder_unless_allowed(kind: str, tmp_path: Path) -> None:
    private, folder = tmp_path / "private", tmp_path / "mine"
    private.mkdir()
    folder.mkdir()
    (private / "passport.png").touch()
    (folder / "link.png").symlink_to(private / "passport.png")
    (folder / "linked").symlink_to(private)
    image = {
        "absolute": str(private / "passport.png"),
        "above": "../private/passport.png",
        "link": "link.png",
        "linked folder": "linked/passport.png",
    }[kind]
    listed(folder, {"id": "a", "image_path": image})

    with pytest.raises(BadInputError) as refused:
        found(folder, "a")
    assert "is outside the list's folder" in str(refused.value)
    assert "`allow_outside=True`" in str(refused.value)
    assert find_outcomes("mine", folder, edits("a"), allow_outside=True).present == 1


def test_the_list_in_a_folder_goes_before_its_files(tmp_path: Path) -> None:
    touched(tmp_path, "a.png", "b.png")
    listed(tmp_path, {"id": "a", "absence": "withdrawn"})

    assert found(tmp_path, "a", "b").present == 0


def test_a_list_may_have_any_name_and_its_paths_are_relative_to_it(tmp_path: Path) -> None:
    path = listed(tmp_path, {"id": "a", "image_path": "a.png"}, name="mine.jsonl")

    assert find_outcomes("mine", path, edits("a")).outcomes[0].image == tmp_path / "a.png"


def test_a_list_may_name_edits_by_the_benchmark_s_own_keys_as_evalscope_s_does(tmp_path: Path) -> None:
    keys = {"add-en-k1": "k1", "add-en-k2": "k2", "add-cn-k2": "k2", "k3": "k4"}
    some = [replace(edit, extras={"key": keys[edit.id]}) for edit in edits(*keys)]
    path = listed(tmp_path, *({"id": name, "image_path": f"{name}.png"} for name in ("k1", "k2", "k3", "k4")))
    with pytest.raises(BadInputError, match="edit 'k3', seed 0 is listed 2 times"):
        find_outcomes("mine", path, some)

    path = listed(tmp_path, *({"id": name, "image_path": f"{name}.png"} for name in ("k1", "k2", "k3")))
    outcomes = find_outcomes("mine", path, some)
    assert [(item.edit_id, item.image and item.image.name) for item in outcomes.outcomes] == [
        ("add-en-k1", "k1.png"),
        ("add-en-k2", None),  # two edits have the key
        ("add-cn-k2", None),
        ("k3", "k3.png"),
    ]
    assert outcomes.unexpected == ("k2",)


def test_several_seeds_of_an_edit_are_several_outcomes(tmp_path: Path) -> None:
    seeds = [3, 1, 2**63 - 1, -5]
    listed(tmp_path, *({"id": "a", "image_path": f"{seed}.png", "seed": seed} for seed in seeds))

    assert [outcome.seed for outcome in found(tmp_path, "a").outcomes] == seeds


def test_ids_of_no_edit_are_counted(tmp_path: Path) -> None:
    listed(tmp_path, {"id": "a", "image_path": "a.png"}, {"id": "z", "image_path": "z.png"})

    assert found(tmp_path, "a").unexpected == ("z",)


@pytest.mark.parametrize("asked", ["NFC", "NFD"])
@pytest.mark.parametrize("stored", ["NFC", "NFD"])
def test_a_letter_in_a_list_may_be_one_character_or_two(asked: Any, stored: Any, tmp_path: Path) -> None:
    name = unicodedata.normalize(asked, "café")
    listed(tmp_path, {"id": unicodedata.normalize(stored, "café"), "image_path": "x.png"})

    assert found(tmp_path, name).outcomes[0].edit_id == name
    assert found(tmp_path, name).present == 1


def test_a_prompt_may_hold_signs_that_end_a_line_elsewhere(tmp_path: Path) -> None:
    prompt = "one\u2028two\x85three"
    listed(tmp_path, {"id": "a", "image_path": "a.png", "prompt": prompt}, {"id": "b", "absence": "none"})

    assert found(tmp_path, "a", "b").outcomes[0].prompt == prompt


def test_a_list_written_on_windows(tmp_path: Path) -> None:
    (tmp_path / OUTCOMES_FILE).write_bytes(
        b'\xef\xbb\xbf{"id": "a", "image_path": "a.png"}\r\n{"id": "b", "absence": "no"}\r\n'
    )

    assert images(found(tmp_path, "a", "b")) == {"a": "a.png", "b": None}


def test_every_bad_line_is_told_with_its_number(tmp_path: Path) -> None:
    told = problems(
        tmp_path,
        {"id": "a", "image_path": "a.png"},
        "{not json",
        "",
        "[1, 2]",
        {"image_path": "a.png"},
        {"id": 5, "image_path": "a.png"},
        {"id": "b", "path": "b.png"},
        {"id": "b"},
        {"id": "b", "image_path": "b.png", "absence": "both"},
        {"id": "b", "image_path": "b.png", "seed": "one"},
    )

    assert [text.partition(": ")[0] for text in told] == [
        f"{OUTCOMES_FILE}:{number}" for number in (2, 4, 5, 6, 7, 8, 9, 10)
    ]
    assert "unknown keys ['path']" in told[4]
    assert "needs an image or an absence" in told[5]
    assert "needs an image or an absence" in told[6]
    assert "seed must be a whole number" in told[7]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("seed", True),
        ("seed", 1.5),
        ("seed", None),
        ("seed", 2**63),
        ("absence", 5),
        ("absence", {"why": "filter"}),
        ("absence", True),
        ("image_path", 5),
        ("image_path", ""),
        ("image_path", ["a.png"]),
        ("prompt", 5),
    ],
)
def test_a_value_of_another_kind_is_refused_at_once(field: str, value: object, tmp_path: Path) -> None:
    """Later it would stop the run when the scores are written."""
    line = {"id": "a", "image_path": "a.png", field: value}
    if field == "absence":
        del line["image_path"]

    (problem,) = problems(tmp_path, line)
    assert problem.startswith(f"{OUTCOMES_FILE}:1: ")
    assert field in problem


@pytest.mark.parametrize("field", ["id", "absence", "image_path", "prompt"])
def test_half_a_character_is_refused_at_once(field: str, tmp_path: Path) -> None:
    """JSON can spell one (`\\ud83d` alone); no file of a run can hold it."""
    line = {"id": "a", "image_path": "a.png"} if field != "absence" else {"id": "a"}
    text = json.dumps({**line, field: "cut \ud83d"})

    (problem,) = problems(tmp_path, text)
    assert problem.startswith(f"{OUTCOMES_FILE}:1: ")
    assert problem.isprintable()


def test_an_edit_and_seed_listed_twice_is_told(tmp_path: Path) -> None:
    told = problems(
        tmp_path,
        {"id": "a", "image_path": "1.png"},
        {"id": "a", "image_path": "2.png", "seed": 0},
        {"id": "b", "image_path": "3.png", "seed": 1},
        {"id": "b", "image_path": "4.png", "seed": 2},
    )

    assert told == ["edit 'a', seed 0 is listed 2 times"]


def test_a_list_that_is_no_text_is_named(tmp_path: Path) -> None:
    (tmp_path / OUTCOMES_FILE).write_bytes(b"\xff\xfe\x00")

    with pytest.raises(BadInputError, match=r"outcomes\.jsonl' cannot be read"):
        found(tmp_path, "a")


def test_an_empty_list_is_all_absences(tmp_path: Path) -> None:
    listed(tmp_path)

    assert images(found(tmp_path, "a")) == {"a": None}
