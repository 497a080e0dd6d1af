"""What people say of candidates: whose word counts, and that none of it is ever lost."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from editgauge.benchmarks.unibench import read_annotations
from editgauge.builders.review.desk import Desk, UnfitCandidateError, read_proposal
from editgauge.builders.review.file import (
    Decision,
    ReviewCandidate,
    agreement,
    benchmark_path,
    decided,
    read_review,
    review_path,
    withdrawn,
    write_review,
)
from editgauge.builders.unibench import unibench
from editgauge.errors import BadInputError
from tests.builders.toys import CocoFiles


def candidate(*said: tuple[str, str]) -> ReviewCandidate:
    result = ReviewCandidate(id="1", group="g", task="change_class", field="class", proposed="dog", value="dog")
    for by, what in said:
        status = "edited" if what not in ("accepted", "dropped") else what
        value = what if status == "edited" else None
        result = decided(result, Decision.model_validate({"by": by, "status": status, "value": value, "at": "now"}))
    return result


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
    result = candidate(*said)
    assert (result.status, result.value, result.by) == (status, value, by)
    assert len(result.decisions) == len({who for who, _ in said})


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["accepted", "dropped", "fox", "cow"])), max_size=8))
def test_taking_everything_back_leads_to_the_beginning(said: list[tuple[str, str]]) -> None:
    result = candidate(*said)
    for reviewer in "abc":
        result = withdrawn(result, reviewer)
    assert result == candidate()


@pytest.fixture
def desk(toys: CocoFiles, tmp_path: Path) -> Desk:
    out = tmp_path / "unibench.json"
    unibench(coco=toys.instances, images=toys.images, out=out, captions=toys.captions, size=64, limit=1, quiet=True)
    return Desk(out)


def of(desk: Desk, task: str, field: str) -> ReviewCandidate:
    return next(item for item in desk.review.candidates if (item.task, item.field) == (task, field))


def test_every_answer_is_on_disk_and_in_the_benchmark_at_once(desk: Desk, tmp_path: Path) -> None:
    first, color = of(desk, "change_class", "class"), of(desk, "change_color", "color")
    desk.decide(first.id, "Ann", "drop")
    desk.decide(color.id, "Ann", "keep", "turquoise")
    again = read_review(desk.file)
    assert {item.id: item.status for item in again.candidates if item.decisions} == {
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
    with pytest.raises(UnfitCandidateError, match=told):
        desk.decide(of(desk, task, field).id, "Ann", "keep", value, anchor)
    assert desk.file.read_bytes() == before


def test_reviewers_at_once_lose_nothing_of_each_other(desk: Desk) -> None:
    others = Desk(desk.file)  # as another server on the same file would
    names = [item.id for item in desk.review.candidates][:20]

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
        len(item.decisions) == 4 for item in read_review(desk.file).candidates if item.id in names
    )  # fmt: skip


def test_nothing_left_means_no_file(desk: Desk, tmp_path: Path) -> None:
    for item in desk.review.candidates:
        desk.decide(item.id, "Ann", "drop")
    assert not (tmp_path / "unibench.json").exists()
    desk.decide(of(desk, "change_class", "class").id, "Ann", "withdraw")
    desk.decide(of(desk, "change_class", "template").id, "Ann", "withdraw")
    (task,) = read_annotations(tmp_path / "unibench.json").images[0].tasks
    assert task.type == "change_class"


def test_agreement_is_the_share_taken_as_proposed(desk: Desk) -> None:
    names = [item.id for item in desk.review.candidates if item.task == "change_color" and item.field == "color"]
    for name in names:
        desk.decide(name, "Ann", "keep", next(e.value for e in desk.review.candidates if e.id == name))
    desk.decide(names[0], "Ben", "drop")
    assert agreement(desk.review) == {"change_color": {"Ann": (len(names), len(names)), "Ben": (0, 1)}}


def test_a_review_file_that_cannot_be_used_is_told(desk: Desk, tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="no review file at"):
        Desk(tmp_path / "nothing.json")
    with pytest.raises(BadInputError, match="no folder of pictures"):
        Desk(desk.file, tmp_path / "nowhere")
    with pytest.raises(KeyError):
        desk.decide("nobody", "Ann", "drop")
    desk.file.write_text('{"format": "editgauge-review/1"}')
    with pytest.raises(BadInputError, match="kind: Field required"):
        read_review(desk.file)
    desk.file.write_text("{")
    with pytest.raises(BadInputError, match="not valid JSON"):
        read_review(desk.file)


def test_a_review_reads_as_it_was_written(desk: Desk, tmp_path: Path) -> None:
    write_review(desk.review, tmp_path / "again.review.json")
    assert read_review(tmp_path / "again.review.json") == desk.review
    assert review_path(tmp_path / "again.review.json").name == "again.review.json"


@pytest.mark.parametrize("elsewhere", ["/", "..", "/etc"])
def test_a_review_file_cannot_name_a_folder_outside_its_own(elsewhere: str, desk: Desk) -> None:
    write_review(desk.review.model_copy(update={"images": elsewhere}), desk.file)

    with pytest.raises(BadInputError, match=r"outside its own folder.*`images`"):
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


def group_of(desk: Desk) -> str:
    return desk.review.groups[0].name


def tasks_of(desk: Desk, kind: str) -> list[dict[str, object]]:
    file = benchmark_path(desk.file)
    images = json.loads(file.read_text())["images"] if file.exists() else []
    return [task for image in images for task in image["tasks"] if task["type"] == kind]


def test_a_reviewer_adds_a_candidate_and_may_take_it_back(desk: Desk) -> None:
    group, color = group_of(desk), of(desk, "change_color", "color")
    unused = next(item for item in ("turquoise", "purple", "pink") if item not in str(tasks_of(desk, "change_color")))
    added = desk.add(group, "Ann", read_proposal(f"change_color color {color.instance}", f" {unused} ", None))
    assert (added.value, added.status, added.added_by) == (unused, "accepted", "Ann")
    assert unused in str(tasks_of(desk, "change_color"))
    assert "change_color" not in agreement(desk.review), "nobody agrees with a judge by an idea of their own"
    again = desk.add(group, "Bob", read_proposal(f"change_color color {color.instance}", unused, None))
    assert again.id != added.id
    desk.decide(again.id, "Bob", "withdraw")
    desk.decide(added.id, "Ann", "withdraw")
    assert unused not in str(tasks_of(desk, "change_color"))
    assert read_review(desk.file) == desk.review


@pytest.mark.parametrize(
    ("what", "value", "message"),
    [
        ("change_class class {}", "unicorn", "not in the class list"),
        ("change_color color {}", "beautiful", "beautiful"),
        ("change_color class {}", "dog", "nothing to add"),
        ("fly place {}", "up", "nothing to add"),
        ("generate class {}", "dog", "nothing to add"),
    ],
)
def test_what_the_rules_forbid_cannot_be_added_either(desk: Desk, what: str, value: str, message: str) -> None:
    before, instance = desk.review, of(desk, "change_color", "color").instance
    with pytest.raises(UnfitCandidateError, match=message):
        desk.add(group_of(desk), "Ann", read_proposal(what.format(instance), value, None))
    assert desk.review == before


def test_a_place_where_the_object_is_already_cannot_be_added(desk: Desk) -> None:
    picture = desk.review.groups[0].pictures[0]
    first, second = sorted(picture.instances, key=lambda each: each.box[0])[:2]
    words = "to the left of" if abs(first.box[0] - second.box[0]) > abs(first.box[1] - second.box[1]) else "above"
    own, anchor = (
        (first, second) if words == "to the left of" else sorted((first, second), key=lambda each: each.box[1])
    )
    with pytest.raises(UnfitCandidateError, match="already"):
        desk.add(group_of(desk), "Ann", read_proposal(f"move place {own.id}", words, anchor.id))


def test_a_corrected_color_is_no_longer_asked_for(desk: Desk) -> None:
    color = of(desk, "change_color", "color")
    assert color.value in str(tasks_of(desk, "change_color"))
    was = next(item.color for item in desk.review.groups[0].pictures[0].instances if item.id == color.instance)
    desk.correct_color(color.group, "Ann", color.instance or "", color.value.upper())
    [task] = [item for item in tasks_of(desk, "change_color") if item["instance"] == color.instance] or [{"colors": []}]
    assert color.value not in str(task["colors"])
    [said] = desk.review.corrections
    assert (said.was, said.color, said.by) == (was, color.value, "Ann")
    with pytest.raises(UnfitCandidateError, match="shiny"):
        desk.correct_color(color.group, "Ann", color.instance or "", "shiny")
    desk.correct_color(color.group, "Ann", color.instance or "", "")
    assert color.value in str(tasks_of(desk, "change_color"))
    read_annotations(benchmark_path(desk.file))


def test_a_crop_carries_objects_and_can_be_undone(desk: Desk) -> None:
    group = group_of(desk)
    whole = desk.review.groups[0].pictures[0]
    before = benchmark_path(desk.file).read_text()
    desk.crop(group, (2, 1, 60))
    small = desk.review.groups[0].pictures[0]
    assert (small.width, small.height) == (whole.width, whole.height)
    assert (desk.images / small.file).is_file()
    assert read_annotations(benchmark_path(desk.file)).images[0].file == small.file
    left = {item.id: item.box[0] for item in whole.instances}
    scale = whole.width / 60
    for item in small.instances:
        assert item.box[0] == pytest.approx(max(0, (left[item.id] - 2) * scale), abs=1.5)
    desk.crop(group, (0, 0, 62))  # of the whole picture, not of the crop
    assert desk.review.groups[0].uncropped == whole
    first = whole.instances[0].id
    desk.correct_color(group, "Ann", first, "purple")
    desk.crop(group, None)
    assert desk.review.groups[0].pictures[0].instances[0].color == "purple", "a correction outlives the crop"
    desk.correct_color(group, "Ann", first, whole.instances[0].color or "")
    assert benchmark_path(desk.file).read_text() == before


@pytest.mark.parametrize(
    ("box", "message"),
    [((0, 0, 10), "at least 32 pixels"), ((10, 0, 60), "leaves the picture"), ((-1, 0, 40), "leaves")],
)
def test_a_crop_that_makes_no_sense_is_refused(desk: Desk, box: tuple[int, int, int], message: str) -> None:
    before = desk.review
    with pytest.raises(UnfitCandidateError, match=message):
        desk.crop(group_of(desk), box)
    assert desk.review == before
