"""Training data from real pictures: by rules and by a judge, in two forms, with everything left out counted."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from editgauge._cli import groups
from editgauge._util.images import read_image, resize_image, write_png
from editgauge.benchmarks import open_benchmark
from editgauge.builders.training import CARD, LLAVA, MESSAGES, PAGE, SEAM, SHEET, TrainingSet, summary_lines, training
from editgauge.errors import BadInputError
from editgauge.judges._questions import YesNo
from editgauge.methods.resolve import open_method
from editgauge.models.vocabulary import wordnet_here
from editgauge.models.weights import available
from tests.benchmarks import test_editinspector
from tests.endpoint import MODEL, Reply, Served

HERE = all(available(name) for name in ("efficientdet-lite2", "minilm", "migan")) and wordnet_here() is not None
pytestmark = pytest.mark.skipif(not HERE, reason="NOT TESTED: run `editgauge models pull lite`")
EDITS = ("chelsea-black", "beach-kite", "bowl-cup", "tennis-center", "little-league-no-ball")


SIDE = 320
"""Pixels: enough for the detector."""
ADDRESS = f"openai:{MODEL}@{{}}"


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A few edits of `sample`, with what the classical editor makes of them as the benchmark's own edited images."""
    folder = tmp_path_factory.mktemp("training") / "bench"
    sample = {edit.id: edit for edit in open_benchmark("sample").edits}
    editor = open_method("classical")
    lines = []
    for name in EDITS:
        edit = sample[name]
        source = read_image(edit.source.path)
        edited = editor.edit(edit, source, 0)
        size = SIDE, round(SIDE * source.shape[0] / source.shape[1])
        write_png(resize_image(source, *size), folder / f"{name}.png")
        write_png(resize_image(edited, *size), folder / f"{name}-edited.png")
        fields: dict[str, Any] = {"id": name, "source": f"{name}.png", "type": edit.type}
        fields |= {
            "instruction": edit.instruction,
            "subject": edit.subject,
            "from": edit.from_,
            "to": edit.to,
            "reference": f"{name}-edited.png",
        }
        lines.append(json.dumps({key: value for key, value in fields.items() if value}) + "\n")
    (folder / "edits.jsonl").write_text("".join(lines), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def ruled(bench: Path) -> TrainingSet:
    return training(bench, out=bench.with_name("ruled"), quiet=True)


def read_lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / MESSAGES).read_text("utf-8").splitlines()]


@pytest.mark.slow
def test_four_instances_of_an_edit_are_even(ruled: TrainingSet) -> None:
    kinds = Counter(item.kind for item in ruled.lessons if item.edit == "chelsea-black" and item.question == "edit")
    assert set(kinds) == {"edit", "negative", "reversed", "reversed_negative"}
    answers = Counter((item.question, item.action, item.answer) for item in ruled.lessons)
    for question, action, answer in answers:
        if isinstance(answer, bool):
            assert answers[question, action, True] == answers[question, action, False]
    assert ("tennis-center", "all instances", "no_rule") in {
        (item.edit, item.what, item.reason) for item in ruled.left_out
    }


def test_both_forms_hold_the_same_lessons(ruled: TrainingSet) -> None:
    llava = json.loads((ruled.folder / LLAVA).read_text("utf-8"))
    chats = read_lines(ruled.folder)
    assert [item["id"] for item in llava] == [item["id"] for item in chats] == [item.id for item in ruled.lessons]
    assert len({item["id"] for item in llava}) == len(llava)
    for conversation, chat, lesson in zip(llava, chats, ruled.lessons, strict=True):
        human, gpt = conversation["conversations"]
        asked, answered = (message["content"][-1]["text"] for message in chat["messages"])
        assert (human["from"], gpt["from"]) == ("human", "gpt")
        assert human["value"].startswith("<image>\n")
        assert human["value"].endswith(asked)
        assert gpt["value"] == answered
        assert sum(part["type"] == "image" for part in chat["messages"][0]["content"]) == len(chat["images"]) == 2
        if isinstance(lesson.answer, bool):
            assert YesNo().read(answered) is lesson.answer
        else:
            assert json.loads(answered) == {"difference": lesson.answer}


def test_pictures_stand_side_by_side_and_are_written_once(ruled: TrainingSet) -> None:
    chats = {item["id"]: item for item in read_lines(ruled.folder)}
    for conversation in json.loads((ruled.folder / LLAVA).read_text("utf-8")):
        before, after = (read_image(ruled.folder / name) for name in chats[conversation["id"]]["images"])
        pair, width = read_image(ruled.folder / conversation["image"]), before.shape[1]
        assert before.shape == after.shape
        assert np.array_equal(pair[:, :width], before)
        assert np.array_equal(pair[:, width + SEAM :], after)
        assert (pair[:, width : width + SEAM] == 255).all()
    outcomes = {(item.before, item.after) for item in ruled.lessons}
    assert len(list((ruled.folder / "pairs").iterdir())) == len(outcomes)
    assert len(list((ruled.folder / "pictures").iterdir())) == len({path for pair in outcomes for path in pair})


def test_the_card_counts_everything(ruled: TrainingSet) -> None:
    card = json.loads((ruled.folder / CARD).read_text("utf-8"))
    assert card["lessons"] == len(ruled.lessons) == sum(card["by action"].values())
    assert len(card["each left out"]) == sum(card["left out"].values()) == len(ruled.left_out)
    assert set(card["models"]) == {"detector", "text_similarity"}
    page = (ruled.folder / PAGE).read_text("utf-8")
    assert all(word in page for word in (LLAVA, MESSAGES, SHEET, "tennis-center", "made by rules"))
    sheet = read_image(ruled.folder / SHEET)
    assert len(np.unique(sheet[::9, ::9].reshape(-1, 3), axis=0)) > 1000


def test_what_only_people_know_is_counted_and_how_to_bring_it_said(ruled: TrainingSet) -> None:
    unknown = sum(item.detail == "unknown" for item in ruled.left_out)
    assert unknown
    assert summary_lines(ruled)[-1].startswith(f"  {unknown} answers only people know")
    assert "`ratings`" in summary_lines(ruled)[-1]


@pytest.mark.slow
def test_the_same_seed_makes_the_same_set(bench: Path, ruled: TrainingSet, tmp_path: Path) -> None:
    again = training(bench, out=tmp_path / "again", quiet=True)
    for name in (LLAVA, MESSAGES, CARD, SHEET):
        assert (again.folder / name).read_bytes() == (ruled.folder / name).read_bytes()


@pytest.mark.slow
def test_a_machine_labels_artifacts_only_where_it_is_asked_to_and_each_such_lesson_says_so(
    bench: Path, ruled: TrainingSet, tmp_path: Path
) -> None:
    assert not any(item.labeled_by for item in ruled.lessons)
    done = training(bench, out=tmp_path / "marked", machine_artifacts=True, quiet=True)
    made = [*done.lessons, *done.dropped]
    by_machine = {item.id: item.labeled_by for item in made if item.question == "artifacts"}
    assert len(by_machine) == sum(item.question == "edit" and item.kind == "edit" for item in made)
    assert set(by_machine.values()) == {"artifacts with EfficientDet-Lite2"}
    assert all(not item.labeled_by for item in made if item.question != "artifacts")
    for chat in read_lines(done.folder):
        assert chat.get("labeled_by", "") == by_machine.get(chat["id"], "")


def test_an_outcome_of_a_method_is_not_held_for_right(bench: Path, tmp_path: Path) -> None:
    outcomes = tmp_path / "mine"
    write_png(read_image(bench / "bowl-cup-edited.png"), outcomes / "bowl-cup.png")
    done = training(bench, out=tmp_path / "out", outcomes={"mine": outcomes}, quiet=True)
    assert done.lessons == ()  # nothing is known to be right, so nothing wrong is kept beside it
    assert {item.answer for item in done.dropped} == {False}
    ratings = tmp_path / "ratings.jsonl"
    fields = {"edit": "bowl-cup", "method": "mine", "question": "accuracy", "value": 3, "rater": "a"}
    ratings.write_text(json.dumps(fields) + "\n", encoding="utf-8")
    done = training(bench, out=tmp_path / "rated", outcomes=[f"mine={outcomes}"], ratings=ratings, quiet=True)
    assert {item.answer for item in done.lessons if item.question == "edit"} == {True, False}


def words_of(text: str) -> dict[str, Any]:
    """What a well-behaved judge answers, and one that errs, by the request it is given."""
    request = text.rpartition('Request: "')[2].partition('"')[0]
    if "reversed_instruction" in text:
        read = {"action": "Change Attribute", "thing": "cat", "before": "brown", "after": "black"}
        read |= {"caption": "The cat became black.", "reversed_instruction": "let the cat be brown again"}
        return read | {"reversed_caption": "The cat became brown."}
    goal = text.rpartition('Goal: "')[2].partition('"')[0]
    offers = (goal, "dark", "brown" if goal == "black" else "black", "green")
    return {
        "edits": [
            {"goal": item, "instruction": request.replace(goal, item), "caption": f"It became {item}."}
            for item in offers
        ]
    }


def test_a_judge_words_what_can_be_checked(served: Served, bench: Path, tmp_path: Path) -> None:
    served.plan = lambda text, seen: json.dumps(words_of(text))
    done = training(bench, out=tmp_path / "out", judge=ADDRESS.format(served.url), limit=1, quiet=True)
    asked = {item.kind: item.prompt.splitlines()[0].partition(": ")[2] for item in done.lessons}
    assert asked["reversed"] == "let the cat be brown again"
    assert asked["negative"] == "make the cat brown", "what is true, or could be, is passed over"
    assert asked["reversed_negative"] == "let the cat be black again"
    assert "reverse_edit.v1" in (tmp_path / "out" / PAGE).read_text("utf-8")
    calls = len(served.requests)
    assert calls == 3
    for name in (LLAVA, MESSAGES, CARD, PAGE, SHEET):
        (tmp_path / "out" / name).rename(tmp_path / name)
    for folder in ("pictures", "pairs"):
        (tmp_path / "out" / folder).rename(tmp_path / folder)
    training(bench, out=tmp_path / "out", judge=ADDRESS.format(served.url), limit=1, replay=True, quiet=True)
    assert (tmp_path / "out" / LLAVA).read_bytes() == (tmp_path / LLAVA).read_bytes()
    assert len(served.requests) == calls


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("I'm sorry, but I can't help with that request.", "refused"),
        ('{"action": "Fly", "oops', "unparsable"),
        ('{"edits": []}', "unparsable"),
    ],
)
def test_what_a_judge_does_not_say_is_left_out(
    served: Served, bench: Path, tmp_path: Path, answer: str, reason: str
) -> None:
    served.plan = lambda text, seen: answer
    done = training(bench, out=tmp_path / "out", judge=ADDRESS.format(served.url), limit=2, quiet=True)
    assert done.lessons == ()
    assert {(item.what, item.reason) for item in done.left_out} == {("all instances", reason)}


def test_a_judge_that_fails_half_way_costs_only_its_half(served: Served, bench: Path, tmp_path: Path) -> None:
    def plan(text: str, seen: int) -> str | Reply:
        return json.dumps(words_of(text)) if "reversed_instruction" in text else "No."

    served.plan = plan
    done = training(bench, out=tmp_path / "out", judge=ADDRESS.format(served.url), limit=1, quiet=True)
    assert {item.question for item in done.lessons} == {"main_difference"}
    assert {item.kind for item in done.dropped} == {"edit", "reversed"}
    assert {item.what for item in done.left_out} >= {"negative", "reversed_negative"}


def test_guesses_of_a_judge_are_refused(served: Served, bench: Path, tmp_path: Path) -> None:
    folder = tmp_path / "bench"
    for name in ("chelsea-black.png", "chelsea-black-edited.png"):
        write_png(read_image(bench / name), folder / name)
    fields = {"id": "e", "source": "chelsea-black.png", "reference": "chelsea-black-edited.png", "type": "color"}
    fields |= {"instruction": "the cat, but black", "subject": "cat", "to": "black"}
    (folder / "edits.jsonl").write_text(json.dumps(fields) + "\n", encoding="utf-8")
    served.plan = lambda text, seen: json.dumps(words_of(text))
    done = training(folder, out=tmp_path / "out", judge=ADDRESS.format(served.url), quiet=True)
    why = {item.what: item.detail for item in done.left_out}
    assert "'brown' before, without any evidence" in why["reversed"]
    assert {item.kind for item in done.lessons} == {"edit", "negative"}


def test_what_cannot_be_used_is_explained(bench: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="has 0 edited images of its own among 68 edits"):
        training("sample", out=tmp_path / "out")
    with pytest.raises(BadInputError, match="is not empty"):
        training(bench, out=bench)
    with pytest.raises(BadInputError, match="NAME=FOLDER or reference"):
        training(bench, out=tmp_path / "out", outcomes=["mine"])


def test_the_command_does_it(bench: Path, tmp_path: Path) -> None:
    words = ["training", str(bench), "--out", str(tmp_path / "out"), "--limit", "1", "--outcomes", "reference"]
    ended = CliRunner().invoke(groups["build"], words)
    assert ended.exit_code == 0, ended.output
    assert len(read_lines(tmp_path / "out")) == 10
    assert "10 lessons" in ended.stderr


def test_what_people_said_of_editinspector_is_taken(tmp_path: Path) -> None:
    images = tmp_path / "test"
    for turn in test_editinspector.SESSIONS["42"]:
        for number, key in enumerate(("input", "output")):
            write_png(np.full((64, 64, 3), 60 * number + 60, np.uint8), images / "images" / "42" / turn[key])
        mask = Image.new("RGBA", (64, 64), (0, 0, 0, 255))
        mask.paste((0, 0, 0, 0), (2, 2, 30, 30))
        mask.save(images / "images" / "42" / turn["mask"])
    (images / "edit_sessions.json").write_text(json.dumps(test_editinspector.SESSIONS), encoding="utf-8")
    levels = {"metadata_annotated_is_accurate_level": [0, 1, 1]}
    rows = test_editinspector.row(1, "add a boat", "Add", **levels), test_editinspector.ROWS[1]
    file = test_editinspector.write(tmp_path, *rows)
    done = training("editinspector", out=tmp_path / "out", data=file, images=images, quiet=True)
    known = {(item.edit, item.question): item.answer for item in (*done.lessons, *done.dropped) if item.kind == "edit"}
    first, second = (edit.id for edit in open_benchmark("editinspector", file, images).edits)
    assert known[first, "edit"] is False
    assert (second, "edit") not in known, "of three people each said something else"
    assert [known[first, name] for name in ("consistent", "precise", "artifacts")] == [True, False, True]
    assert known[first, "caption_right"] is True
    assert {item.kind for item in (*done.lessons, *done.dropped) if item.edit == first} == {"edit", "negative"}
