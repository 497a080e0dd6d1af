"""What an outcome teaches: four instances, answers that are known, and the words that a judge is asked with."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from editgauge.analysis.ratings import Rating
from editgauge.builders._training_lessons import ACCEPTED, Labels, RuleAuthor, Subject, labels_of, lessons_of, rated
from editgauge.builders.training import LABELS, USUAL_LABELS
from editgauge.judges import NoAnswerError, open_prompt
from editgauge.protocols.difference._model_captions import ask_main_difference
from editgauge.protocols.editinspector import Inspection, InspectionOptions
from editgauge.types import Item, Outcome
from tests.builders.eyes import AFTER, BEFORE, BOX, edit, needs_wordnet, picture, scene


def subject(labels: Labels, **extras: Any) -> Subject:
    asked = edit("remove the cat", extras=extras)
    there = {"dog": BOX}
    eyes = scene({"cat": BOX, **there}, there, accurate=bool(labels.accurate))
    return Subject(asked, "m", 0, Path("before.png"), Path("after.png"), labels, eyes)


def learned(labels: Labels, **extras: Any) -> dict[tuple[str, str], bool | str]:
    lessons, _ = asyncio.run(lessons_of(subject(labels, **extras), RuleAuthor(), open_prompt, 0))
    return {(item.kind, item.question): item.answer for item in lessons}


@needs_wordnet
def test_a_right_outcome_gives_four_instances_as_in_figure_7() -> None:
    lessons, lacking = asyncio.run(lessons_of(subject(ACCEPTED), RuleAuthor(), open_prompt, 0))
    asked = {item.kind: item.prompt.splitlines()[0] for item in lessons if item.question == "edit"}
    assert list(asked) == ["edit", "negative", "reversed", "reversed_negative"]
    assert asked["negative"].endswith(": remove the dog")
    assert asked["reversed"].endswith(": Add a cat.")
    assert {item.kind: item.answer for item in lessons if item.question == "edit"} == {
        "edit": True,
        "negative": False,
        "reversed": True,
        "reversed_negative": False,
    }
    shown = {item.kind: (item.before.stem, item.after.stem) for item in lessons}
    assert shown["edit"] == shown["negative"] == ("before", "after")
    assert shown["reversed"] == shown["reversed_negative"] == ("after", "before")
    assert {item.what for item in lacking} == {"edit: consistent", "edit: precise", "edit: artifacts"}


def test_no_answer_is_made_up() -> None:
    unknown = learned(Labels())
    assert {kind for kind, _ in unknown} <= {"negative", "reversed_negative"}
    assert set(unknown.values()) == {False}
    failed = learned(Labels(accurate=False, artifacts=True))
    assert failed["edit", "edit"] is False
    assert failed["edit", "artifacts"] is True
    assert ("reversed", "edit") not in failed
    assert ("edit", "main_difference") not in failed


def test_people_decide_about_the_caption_they_saw() -> None:
    people = learned(Labels(accurate=True, caption_right=False), difference_caption="The dog vanished.")
    assert people["edit", "caption_right"] is False
    assert people["edit", "main_difference"] == "The cat was removed."


def test_what_people_said_counts_where_the_request_cannot_be_read() -> None:
    labels = Labels(accurate=True, consistent=False, precise=None, artifacts=True, caption_right=True)
    extras = {"action": "Remove", "difference_caption": "The cat is gone."}
    known = subject(labels)
    unread = Subject(edit("no cat, no cry", extras=extras), "m", 0, known.before, known.after, labels, known.scene)
    lessons, lacking = asyncio.run(lessons_of(unread, RuleAuthor(), open_prompt, 0))
    assert {item.question: item.answer for item in lessons} == {
        "edit": True,
        "consistent": False,
        "artifacts": True,
        "caption_right": True,
    }
    assert {(item.kind, item.action) for item in lessons} == {("edit", "Remove")}
    assert {item.what for item in lacking} == {"negative", "reversed", "reversed_negative", "edit: precise"}


def test_people_count_by_majority() -> None:
    assert labels_of({"accuracy": 1, "artifacts": 0, "consistent": None}) == Labels(accurate=False, artifacts=True)
    ratings = [
        *(Rating("e", "m", value, rater, "accuracy") for rater, value in (("a", 3), ("b", 3), ("c", 0))),
        *(Rating("e", "m", value, rater, "artifacts") for rater, value in (("a", 0), ("b", 1), ("c", 2))),
    ]
    assert rated(ratings) == {("e", "m", None): Labels(accurate=True)}


class Listening:
    """A sight that keeps what it is asked."""

    prompt = staticmethod(open_prompt)

    def __init__(self) -> None:
        self.asked: list[Any] = []

    async def ask(self, question: Any, role: str = "") -> Any:
        self.asked.append(question)
        raise NoAnswerError("refused", "only listening")


def test_a_judge_is_taught_what_the_protocol_asks() -> None:
    lessons, _ = asyncio.run(lessons_of(subject(ACCEPTED), RuleAuthor(), open_prompt, 0))
    taught = {entry.question: entry.prompt for entry in lessons if entry.kind == "edit"}
    asked = edit("remove the cat", extras={"difference_caption": "The cat was removed."})
    where = Outcome(edit_id="e", method="m", image=Path("after.png"))
    item = Item(edit=asked, outcome=where, source=picture(BEFORE), edited=picture(AFTER))
    sight: Any = Listening()
    inspection = Inspection(item, sight, "judge", InspectionOptions())
    for name in ("edit", "caption_right"):
        asyncio.run(inspection.verdict(name))
    assert [entry.words.text for entry in sight.asked] == [taught["edit"], taught["caption_right"]]
    assert {tuple(shown.label for shown in entry.images) for entry in sight.asked} == {USUAL_LABELS}
    main = ask_main_difference(item, sight)
    assert (main.words.text, tuple(shown.label for shown in main.images)) == (
        taught["main_difference"],
        LABELS["main_difference"],
    )
