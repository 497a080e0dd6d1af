"""From a run to a study: what is rated, what is shown, and what never is."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, PngImagePlugin
from sqlalchemy import select

from editgauge._util.images import Pixels, pixel_hash, read_image, write_png
from editgauge.errors import BadInputError, EditGaugeError, UnknownNameError
from editgauge.results import Run
from editgauge.studies import BadStudyError, RaterInfo, Study, create
from editgauge.studies._candidates import _chances, disagreement, list_candidates
from editgauge.studies._create import ImageStore
from editgauge.studies.store import StudyItem

Make = Callable[..., Study]


def keys(study: Study) -> list[list[object]]:
    with study.database.read() as session:
        return [json.loads(key) for key in session.scalars(select(StudyItem.key).where(StudyItem.kind == "rated"))]


def test_no_page_and_no_file_name_tells_the_method(make_study: Make, enter: Callable[..., RaterInfo]) -> None:
    study = make_study(methods=("secretdiffusion", "hiddenpix"))
    rater = enter(study)
    while (page := study.next(rater)) is not None:
        shown = study.page(rater, page)
        told = json.dumps(dataclasses.asdict(shown), default=str)
        assert "secretdiffusion" not in told
        assert "hiddenpix" not in told
        assert all((study.images / picture.name).is_file() for picture in shown.pictures)
        study.answer(rater, page, {"good": 1})
    assert not any("secret" in file.name or "hidden" in file.name for file in study.folder.rglob("*"))


def test_a_stratified_sample_has_as_many_of_every_method_and_type(make_study: Make) -> None:
    study = make_study(edits=30, items=12, sample="stratified")
    counts = Counter((method[0], int(edit.split("-")[1]) % 3) for edit, method in keys(study))  # type: ignore
    assert set(counts.values()) == {2}
    assert len(counts) == 6


def test_a_stratified_sample_keeps_the_chance_of_every_item(make_study: Make) -> None:
    study = make_study(edits=30, items=12, sample="stratified")
    with study.database.read() as session:
        chances = [content["probability"] for content in session.scalars(select(StudyItem.content))]
    assert len(chances) == 12
    assert sum(1 / chance for chance in chances) == pytest.approx(60), "each stands for as many as were left out"
    with make_study(edits=4).database.read() as session:
        assert not any("probability" in content for content in session.scalars(select(StudyItem.content)))


def test_the_chance_counts_cells_that_the_last_turn_left_out() -> None:
    assert _chances({"a": 10, "b": 10, "c": 2}, 3) == pytest.approx({"a": 0.1, "b": 0.1, "c": 0.5})
    assert _chances({"a": 10, "b": 10}, 1) == pytest.approx({"a": 0.05, "b": 0.05}), "one of the two, at random"
    assert _chances({"a": 10, "b": 1}, 4) == pytest.approx({"a": 0.3, "b": 1.0})


def test_the_same_seed_gives_the_same_sample(make_study: Make, small_run: Callable[..., Path]) -> None:
    run = small_run(30)
    first, same, other = (keys(make_study(run=run, items=10, sample="stratified", seed=s)) for s in (1, 1, 2))
    assert first == same
    assert first != other


def test_disagreement_takes_items_on_which_scores_are_furthest_apart(
    make_study: Make, small_run: Callable[..., Path]
) -> None:
    run = small_run(20)
    candidates = list_candidates(Run.open(run), "outcome", None).candidates
    spread = disagreement(candidates, Run.open(run))
    assert all(0 <= value <= 1 for value in spread.values())
    best = {candidates[place].key for place in sorted(spread, key=lambda place: -spread[place])[:5]}
    assert {json.dumps(key) for key in keys(make_study(run=run, items=5, sample="disagreement"))} == best


def test_pairs_are_every_two_methods_of_an_edit(make_study: Make) -> None:
    assert len(keys(make_study(edits=4, methods=("a", "b", "c"), design="2afc"))) == 12


def test_attributes_come_from_a_file(make_study: Make, tmp_path: Path, enter: Callable[..., RaterInfo]) -> None:
    file = tmp_path / "attributes.jsonl"
    file.write_text(json.dumps({"edit_id": "edit-0", "source": ["gray"], "target": ["black", "shiny", "small"]}))
    study = make_study(design="attribute-importance", attributes=file)
    assert len(keys(study)) == 3
    rater = enter(study)
    study.answer_eligibility(rater, {"adult": "yes"})
    number = study.next(rater)
    assert number is not None
    page = study.page(rater, number)
    assert {page.left, page.right} < {"black", "shiny", "small"}
    assert [picture.role for picture in page.pictures] == ["source"]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"design": "editvall"}, "Did you mean 'editval'"),
        ({"items": 3}, "choose them with `sample="),
        ({"sample": "stratified"}, "pass their number as `items`"),
        ({"sample": "random"}, "There is no way of sampling called 'random'"),
        ({"design": "attribute-importance"}, "`attributes`"),
        ({"raters": 0}, "at least one rater"),
        ({"database": "mysql://host/name"}, "SQLite or PostgreSQL"),
        ({"database": "nonsense"}, "database URL cannot be read"),
    ],
)
def test_what_cannot_be_made_is_told_and_leaves_nothing_behind(
    small_run: Callable[..., Path], tmp_path: Path, options: dict[str, object], told: str
) -> None:
    with pytest.raises(EditGaugeError, match=told):
        create(small_run(), out=tmp_path / "out", quiet=True, **options)  # type: ignore[arg-type]
    assert not (tmp_path / "out").exists()
    assert not list(tmp_path.glob(".writing-*"))


def test_every_fault_of_the_gold_file_is_told(small_run: Callable[..., Path], tmp_path: Path) -> None:
    lines = [
        '{"edit": "edit-0", "method": "mine", "answers": {"applied": 7}}',
        '{"edit": "edit-0", "method": "nobody", "answers": {"applied": 1}}',
        '{"edit": "edit-0", "answers": {}}',
        '{"edit": "edit-1", "method": "mine", "answers": {"mood": 1}}',
    ]
    (tmp_path / "gold.jsonl").write_text("\n".join(lines))
    with pytest.raises(BadInputError) as caught:
        create(small_run(), gold=tmp_path / "gold.jsonl", out=tmp_path / "out", quiet=True)
    told = str(caught.value)
    assert "gold.jsonl:1: 7 does not answer 'applied'; there are: 0, 1, 2, 3" in told
    assert "gold.jsonl:2: the run has no such item ('edit-0', 'nobody')" in told
    assert "gold.jsonl:3: must be a mapping with the texts edit, method" in told
    assert "gold.jsonl:4: 'mood' is no question with options" in told


def test_a_folder_that_is_no_study_is_told(tmp_path: Path, make_study: Make) -> None:
    with pytest.raises(BadStudyError, match="is no study"):
        Study.open(tmp_path)
    study = make_study()
    study.close()
    with pytest.raises(BadInputError, match="there already"):
        create(study.manifest.run, out=study.folder, quiet=True)
    (study.folder / "study.db").unlink()
    with pytest.raises(BadStudyError, match="no tables"):
        Study.open(study.folder)


def test_a_database_serves_one_study(make_study: Make, postgres: Callable[[], str]) -> None:
    url = postgres()
    make_study(database=url)
    with pytest.raises(BadStudyError, match="holds a study already"):
        make_study(database=url)


def test_an_unknown_rater_is_named(make_study: Make) -> None:
    study = make_study()
    study.invite(2, label="lab")
    with pytest.raises(UnknownNameError, match="Did you mean 'r0001'"):
        study.exclude("r0011", "a test")
    with pytest.raises(BadStudyError, match="is given to 2 raters: r0001, r0002"):
        study.exclude("lab", "a test")


def test_a_database_that_is_away_is_told(make_study: Make, tmp_path: Path) -> None:
    nowhere = f"postgresql://study@/study?host={tmp_path}"
    with pytest.raises(BadStudyError, match=r"(?s)cannot be used: .*Does it run"):
        make_study(database=nowhere)


def saved_as_told(folder: Path, pixels: Pixels, suffix: str) -> Path:
    """A picture whose metadata and format say who made it."""
    path = folder / f"told.{suffix}"
    options: dict[str, Any] = {"comment": b"METHOD-0"} if suffix != "png" else {}
    if suffix == "png":
        options["pnginfo"] = PngImagePlugin.PngInfo()
        options["pnginfo"].add_text("Software", "METHOD-0")
    Image.fromarray(pixels).save(path, **options)
    return path


@pytest.mark.parametrize("suffix", ["png", "gif", "jpg"])
def test_nothing_of_a_file_but_its_pixels_reaches_a_rater(suffix: str, tmp_path: Path, photo: Pixels) -> None:
    path = saved_as_told(tmp_path, photo, suffix)
    assert b"METHOD-0" in path.read_bytes()
    shelf = ImageStore(tmp_path / "study", {})

    taken = shelf.folder / shelf.add(path)

    assert taken.suffix == ".png"
    assert b"METHOD-0" not in taken.read_bytes()
    assert np.array_equal(read_image(taken), read_image(path))


def test_a_picture_that_changed_since_it_was_scored_is_not_shown(tmp_path: Path, photo: Pixels) -> None:
    write_png(photo, tmp_path / "a.png")
    scored = pixel_hash(photo[::-1])

    with pytest.raises(BadInputError, match=r"a\.png' has other pixels than were scored"):
        ImageStore(tmp_path / "study", {tmp_path / "a.png": scored}).add(tmp_path / "a.png")
