"""What people say of candidates: whose word counts, and that none of it is ever lost."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from editgauge.benchmarks.unibench import read_annotations
from editgauge.building.review.desk import Desk, Unfit
from editgauge.building.review.file import (
    Decision,
    ReviewCandidate,
    agreement,
    decided,
    read_review,
    review_beside,
    withdrawn,
    write_review,
)
from editgauge.building.unibench.build import unibench
from editgauge.core.errors import BadInput
from tests.building.toys import CocoFiles


def candidate(*said: tuple[str, str]) -> ReviewCandidate:
    found = ReviewCandidate(id="1", group="g", task="change_class", field="class", proposed="dog", value="dog")
    for by, what in said:
        status = "edited" if what not in ("accepted", "dropped") else what
        value = what if status == "edited" else None
        found = decided(found, Decision.model_validate({"by": by, "status": status, "value": value, "at": "now"}))
    return found


@pytest.mark.parametrize(
    ("said", "status", "value", "by"),
    [
        ((), "proposed", "dog", None),
        ((("a", "accepted"),), "accepted", "dog", "a"),
        ((("a", "dropped"),), "dropped", "dog", "a"),
        ((("a", "fox"),), "edited", "fox", "a"),
        ((("a", "accepted"), ("b", "dropped")), "dropped", "dog", "b"),  # between equals, the later
        ((("a", "dropped"), ("b", "accepted")), "accepted", "dog", "b"),
        ((("a", "accepted"), ("b", "accepted"), ("c", "dropped")), "accepted", "dog", "b"),  # the majority
        ((("a", "dropped"), ("b", "fox"), ("c", "accepted")), "edited", "fox", "b"),
        ((("a", "fox"), ("b", "cow")), "edited", "cow", "b"),
        ((("a", "dropped"), ("a", "accepted")), "accepted", "dog", "a"),  # one may change one's mind
    ],
)
def test_whose_word_counts(said: tuple[tuple[str, str], ...], status: str, value: str, by: str | None) -> None:
    found = candidate(*said)
    assert (found.status, found.value, found.by) == (status, value, by)
    assert len(found.decisions) == len({who for who, _ in said})


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["accepted", "dropped", "fox", "cow"])), max_size=8))
def test_taking_everything_back_leads_to_the_beginning(said: list[tuple[str, str]]) -> None:
    found = candidate(*said)
    for reviewer in "abc":
        found = withdrawn(found, reviewer)
    assert found == candidate()


@pytest.fixture
def desk(toys: CocoFiles, tmp_path: Path) -> Desk:
    out = tmp_path / "unibench.json"
    unibench(coco=toys.instances, images=toys.images, out=out, captions=toys.captions, size=64, limit=1, quiet=True)
    return Desk(out)


def of(desk: Desk, task: str, field: str) -> ReviewCandidate:
    return next(each for each in desk.review.candidates if (each.task, each.field) == (task, field))


def test_every_answer_is_on_disk_and_in_the_benchmark_at_once(desk: Desk, tmp_path: Path) -> None:
    first, color = of(desk, "change_class", "class"), of(desk, "change_color", "color")
    desk.decide(first.id, "Ann", "drop")
    desk.decide(color.id, "Ann", "keep", "turquoise")
    again = read_review(desk.file)
    assert {each.id: each.status for each in again.candidates if each.decisions} == {
        first.id: "dropped",
        color.id: "edited",
    }
    (image,) = read_annotations(tmp_path / "unibench.json").images
    words = image.model_dump_json()
    assert "turquoise" in words
    assert f'"{first.value}"' not in next(task for task in image.tasks if task.type == "change_class").model_dump_json()
    assert "2 of" in read_annotations(tmp_path / "unibench.json").about
    assert Desk(tmp_path / "unibench.json").review == again


@pytest.mark.parametrize(
    ("task", "field", "value", "anchor", "told"),
    [
        ("change_class", "class", "dragon", None, "not in the class list"),
        ("change_class", "class", "suitcase", None, "in the image already"),
        ("change_class", "class", "  ", None, "1 to 500 signs"),
        ("change_color", "color", "black", None, "color of 'cat-1' already"),
        ("move", "place", "behind", "suitcase-1", "cannot move relative to itself"),
        ("move", "place", "behind", "ghost", "unknown instance 'ghost'"),
        ("change_class", "template", "A cat", None, "lacks {target}"),
    ],
)
def test_a_person_cannot_put_in_what_is_forbidden(
    task: str, field: str, value: str, anchor: str | None, told: str, desk: Desk
) -> None:
    before = desk.file.read_bytes()
    with pytest.raises(Unfit, match=told):
        desk.decide(of(desk, task, field).id, "Ann", "keep", value, anchor)
    assert desk.file.read_bytes() == before


def test_reviewers_at_once_lose_nothing_of_each_other(desk: Desk) -> None:
    others = Desk(desk.file)  # as another server on the same file would
    names = [each.id for each in desk.review.candidates][:20]

    def work(reviewer: str, at: Desk) -> None:
        for name in names:
            at.decide(name, reviewer, "drop")

    threads = [threading.Thread(target=work, args=(f"reviewer {n}", desk)) for n in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    work("late", others)
    assert all(
        len(each.decisions) == 4 for each in read_review(desk.file).candidates if each.id in names
    )  # fmt: skip


def test_nothing_left_means_no_file(desk: Desk, tmp_path: Path) -> None:
    for each in desk.review.candidates:
        desk.decide(each.id, "Ann", "drop")
    assert not (tmp_path / "unibench.json").exists()
    desk.decide(of(desk, "change_class", "class").id, "Ann", "withdraw")
    desk.decide(of(desk, "change_class", "template").id, "Ann", "withdraw")
    (task,) = read_annotations(tmp_path / "unibench.json").images[0].tasks
    assert task.type == "change_class"


def test_agreement_is_the_share_taken_as_proposed(desk: Desk) -> None:
    names = [each.id for each in desk.review.candidates if each.task == "change_color" and each.field == "color"]
    for name in names:
        desk.decide(name, "Ann", "keep", next(e.value for e in desk.review.candidates if e.id == name))
    desk.decide(names[0], "Ben", "drop")
    assert agreement(desk.review) == {"change_color": {"Ann": (len(names), len(names)), "Ben": (0, 1)}}


def test_a_review_file_that_cannot_be_used_is_told(desk: Desk, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no review file at"):
        Desk(tmp_path / "nothing.json")
    with pytest.raises(BadInput, match="no folder of pictures"):
        Desk(desk.file, tmp_path / "nowhere")
    with pytest.raises(KeyError):
        desk.decide("nobody", "Ann", "drop")
    desk.file.write_text('{"format": "editgauge-review/1"}')
    with pytest.raises(BadInput, match="kind: Field required"):
        read_review(desk.file)
    desk.file.write_text("{")
    with pytest.raises(BadInput, match="not valid JSON"):
        read_review(desk.file)


def test_a_review_reads_as_it_was_written(desk: Desk, tmp_path: Path) -> None:
    write_review(desk.review, tmp_path / "again.review.json")
    assert read_review(tmp_path / "again.review.json") == desk.review
    assert review_beside(tmp_path / "again.review.json").name == "again.review.json"


@pytest.mark.parametrize("elsewhere", ["/", "..", "/etc"])
def test_a_review_file_cannot_name_a_folder_outside_its_own(elsewhere: str, desk: Desk) -> None:
    write_review(desk.review.model_copy(update={"images": elsewhere}), desk.file)

    with pytest.raises(BadInput, match=r"outside its own folder.*--images"):
        Desk(desk.file)
    assert Desk(desk.file, desk.images).images == desk.images


@pytest.mark.parametrize("name", ["secret.html", "script.js", "notes.txt", "unibench.json", "drawing.svg"])
def test_only_pictures_are_served(name: str, desk: Desk, tmp_path: Path) -> None:
    (tmp_path / name).touch()
    review = desk.review
    group = review.groups[0]
    asked = group.model_copy(update={"pictures": [group.pictures[0].model_copy(update={"file": name})]})
    write_review(review.model_copy(update={"groups": [asked]}), desk.file)

    with pytest.raises(KeyError):
        Desk(desk.file).picture(group.name, 0)
