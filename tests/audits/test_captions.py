"""Captions per outcome in one loop: a judge writes them, people correct them, and scores are about them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

import editgauge
from editgauge import run
from editgauge._util.images import ImageFile
from editgauge.audits.captions import captions
from editgauge.benchmarks.outcome_captions import (
    OutcomeCaption,
    attach_captions,
    caption_of,
    read_captions,
    write_captions,
)
from editgauge.errors import BadInputError
from editgauge.studies.store import StudyItem
from editgauge.types import Benchmark, Edit, Outcome
from tests.endpoint import MODEL, Served

KEY = ("edit-000", "m1", 0)


def test_a_file_of_captions_is_read_as_it_was_written(tmp_path: Path) -> None:
    told = {KEY: OutcomeCaption("A cup came.", "x", ("A red cup came.",)), ("b", "m", 3): OutcomeCaption("")}
    write_captions(tmp_path / "c.jsonl", told)
    assert read_captions(tmp_path / "c.jsonl") == told


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ({"method": "m"}, "'edit' must be a text"),
        ({"edit": "e", "method": "m", "seed": "1"}, "'seed' must be a whole number"),
        ({"edit": "e", "method": "m", "people": "x"}, "'people' must be a list"),
        ({"edit": "e", "method": "m", "words": "x"}, "there is no field 'words'"),
    ],
)
def test_faults_of_a_file_are_told_by_line(tmp_path: Path, line: dict[str, Any], fault: str) -> None:
    (tmp_path / "c.jsonl").write_text(json.dumps(line) + "\n")
    with pytest.raises(BadInputError, match=f"line 1: {fault}"):
        read_captions(tmp_path / "c.jsonl")


def test_captions_stand_on_their_edits_by_outcome() -> None:
    edit = Edit(id="edit-000", source=ImageFile("p", Path("/p")), type="color", instruction="x")
    benchmark = attach_captions(Benchmark("b", (edit,)), {KEY: OutcomeCaption("A cup came.")})
    outcome = Outcome(edit_id="edit-000", method="m1", image=Path("/o"))
    assert caption_of(benchmark.edits[0], outcome) == OutcomeCaption("A cup came.")
    assert caption_of(benchmark.edits[0], Outcome(edit_id="edit-000", method="m2", image=Path("/o"))) is None
    with pytest.raises(BadInputError, match="None of the 1 captions"):
        attach_captions(Benchmark("b", (edit,)), {("other", "m", 0): OutcomeCaption("x")})


@pytest.mark.slow
def test_a_judge_writes_captions_people_correct_them_and_they_are_scored(
    served: Served, tmp_path: Path, make_benchmark: Callable[..., Path], make_outcomes: Callable[..., Path]
) -> None:
    def plan(text: str, seen: int) -> str:
        if "List every difference" in text:
            return json.dumps({"differences": [f"Thing {seen} was added."]})
        if "What is the main difference" in text:
            return '{"difference": "A thing was added."}'
        return '{"triplets": []}' if "Turn the description" in text else "yes"

    served.plan = plan
    benchmark = make_benchmark(tmp_path / "set", 1)
    outcomes = {f"m{number}": make_outcomes(benchmark, tmp_path / f"m{number}", number) for number in (1, 2)}
    common: dict[str, Any] = {"outcomes": outcomes, "judge": [f"openai:{MODEL}@{served.url}"], "quiet": True}
    run(benchmark, protocol=[f"difference-captions[grader={MODEL}]"], out=tmp_path / "run", **common)
    written = read_captions(captions(tmp_path / "run", out=tmp_path / "captions.jsonl", quiet=True))
    assert {key: each.people for key, each in written.items()} == {KEY: (), ("edit-000", "m2", 0): ()}
    assert all(each.caption.startswith("Thing ") for each in written.values())

    study = editgauge.study.create(
        tmp_path / "run",
        design="editinspector",
        captions=tmp_path / "captions.jsonl",
        out=tmp_path / "study",
        quiet=True,
    )
    lines = []
    with study, study.database.read() as session:
        for item in session.scalars(select(StudyItem)):
            (shown,) = item.content["compared"]
            caption = item.content["edit"]["extras"]["difference_caption"]
            assert caption == written["edit-000", shown["method"], 0].caption
            answers = {"accuracy": "accurate", "consistent": "yes", "precise": "yes", "artifacts": "none"}
            lines.append({"rater": "ada", "item": item.key, "answers": answers | {"caption_right": "no",
                          "differences": f"Corrected for {shown['method']}: a thing was added."}})  # fmt: skip
    (tmp_path / "answers.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    editgauge.study.import_(tmp_path / "study", tmp_path / "answers.jsonl")
    file = captions(tmp_path / "run", study=tmp_path / "study", out=tmp_path / "corrected.jsonl", quiet=True)
    corrected = read_captions(file)
    assert corrected[KEY].people == ("Corrected for m1: a thing was added.",)
    assert corrected[KEY].caption == written[KEY].caption

    served.seen.clear()
    run(benchmark, protocol=["editinspector"], captions=file, out=tmp_path / "scored", **common)
    about = [text for text in served.seen if "wrote down what the main difference" in text]
    assert sorted(each.caption in text for each in written.values() for text in about) == [False, False, True, True]
