"""Mechanical Turk: what a batch is made of, what comes back, and who is paid."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from editgauge.errors import BadInputError
from editgauge.studies import Study, import_
from editgauge.studies.exchange.mturk import mturk
from editgauge.studies.records import AnswerRecord, records

URL = "https://lab.example/images/"
Make = Callable[..., Study]
CAREFUL = """
title: Is it good?
about: One question.
unit: outcome
instructions: Look and say.
text: "{instruction}"
questions:
  - id: good
    kind: scale
    label: How good is it for $5?
    options: [{value: 0, label: bad}, {value: 1, label: middling}, {value: 2, label: good}]
  - {id: caption, kind: text, label: Correct it., needs: extras.caption, prefill: "{extras.caption}"}
fast_seconds: 5
gold: {every: 2, exclude_after: 2}
attention: {every: 2, questions: [{id: awake, kind: yes_no, label: Say yes., right: ["yes"]}]}
mturk: {reward: 0.15, approval_above: 90, hits_above: 500}
"""
HEADER = "AssignmentId,WorkerId,AssignmentStatus,Input.item,Input.flipped,Input.check\n"


@pytest.fixture
def careful(tmp_path: Path, make_study: Make) -> Study:
    (tmp_path / "careful.yaml").write_text(CAREFUL)
    gold = [{"edit": f"edit-{number}", "method": "mine", "answers": {"good": 2}} for number in (0, 1)]
    (tmp_path / "gold.jsonl").write_text("\n".join(map(json.dumps, gold)))
    return make_study(edits=3, design=str(tmp_path / "careful.yaml"), gold=tmp_path / "gold.jsonl", raters=3)


def told(study: Study) -> list[AnswerRecord]:
    with study.database.read() as session:
        return list(records(session))


def reviewed(file: Path) -> dict[str, tuple[str, str]]:
    with file.with_name(f"{file.stem}.reviewed.csv").open(encoding="utf-8", newline="") as opened:
        return {row["AssignmentId"]: (row["Approve"], row["Reject"]) for row in csv.DictReader(opened)}


def test_terms_of_the_design_are_those_of_the_task(make_study: Make, turk: Any, tmp_path: Path) -> None:
    """EditVal, appendix G: 30 cents, half an hour, seven days, workers with more than 90 % and 500 tasks approved."""
    study = make_study(edits=4, design="editval", raters=3)
    assert mturk.write(study, tmp_path / "batch", URL) == 8
    batch = turk(tmp_path / "batch")
    assert batch.hit["AssignmentDurationInSeconds"] == 1800
    assert (batch.hit["Reward"], batch.hit["MaxAssignments"]) == ("0.30", 3)
    assert batch.hit["LifetimeInSeconds"] == 7 * 24 * 3600
    assert batch.hit["AutoApprovalDelayInSeconds"] == 30 * 24 * 3600, "paid after a check"
    expected = {item["QualificationTypeId"]: item for item in batch.hit["QualificationRequirements"]}
    assert expected["000000000000000000L0"]["IntegerValues"] == [90]
    assert expected["00000000000000000040"]["IntegerValues"] == [500]
    assert {item["Comparator"] for item in expected.values()} == {"GreaterThan"}


def test_a_worker_sees_pictures_and_no_method(make_study: Make, turk: Any, tmp_path: Path) -> None:
    study = make_study(edits=4, design="2afc", methods=("sdedit", "imagic"), raters=1)
    mturk.write(study, tmp_path / "batch", URL)
    batch = turk(tmp_path / "batch")
    written = "".join(file.read_text("utf-8") for file in (tmp_path / "batch").iterdir())
    assert not any(word in written for word in ("sdedit", "imagic", "edit-0"))
    for hit in batch.hits:
        assert all((study.images / hit[side].removeprefix(URL)).is_file() for side in ("source", "left", "right"))
        assert "${" not in batch.page(hit), "a variable without a column"


def test_words_of_the_design_are_no_variables(careful: Study, turk: Any, tmp_path: Path) -> None:
    mturk.write(careful, tmp_path / "batch", URL)
    batch = turk(tmp_path / "batch")
    assert "&#36;5" in batch.layout
    assert {hit["hidden"] for hit in batch.hits} == {"caption"}, "the edits have no caption to correct"
    assert [hit["check"] for hit in batch.hits].count("awake") == 3, "every second one"


def test_only_fitting_work_is_approved(careful: Study, turk: Any, tmp_path: Path) -> None:
    mturk.write(careful, tmp_path / "batch", URL)
    batch = turk(tmp_path / "batch")

    def work(place: int, worker: str, **more: Any) -> None:
        check = {"awake": "yes"} if batch.hits[place]["check"] else {}
        batch.hand_in(place, worker, {"good": 2, **check}, **more)

    work(0, "GOODWORKER")
    work(1, "GOODWORKER", seconds=2)
    batch.hand_in(2, "GOODWORKER", {})
    work(3, "GOODWORKER", status="Rejected")
    work(4, "GOODWORKER", status="Approved")
    file = batch.results(tmp_path / "results.csv")
    assert import_(careful.folder, file, form="mturk").done == 3
    result = reviewed(file)
    assert result["A0"] == result["A1"] == ("X", "")
    assert result["A2"][0] == ""
    assert "good: please answer this question" in result["A2"][1]
    assert result["A3"] == result["A4"] == ("", ""), "decided there already"
    assert sorted(page.flags for page in told(careful)) == [(), (), ("fast",)]
    assert not any("GOODWORKER" in page.rater for page in told(careful))
    assert b"GOODWORKER" not in (careful.folder / "study.db").read_bytes()


def test_a_worker_who_fails_gold_items_is_excluded_and_not_paid(careful: Study, turk: Any, tmp_path: Path) -> None:
    mturk.write(careful, tmp_path / "batch", URL)
    batch = turk(tmp_path / "batch")
    for worker, level in (("CARELESS", 0), ("CAREFUL", 2)):
        for index, hit in enumerate(batch.hits):
            batch.hand_in(index, worker, {"good": level} | ({"awake": "yes"} if hit["check"] else {}))
    file = batch.results(tmp_path / "results.csv")
    result = import_(careful.folder, file, form="mturk")
    states = {page.rater: page.state for page in told(careful)}
    assert sorted(states.values()) == ["done", "void"]
    decided = reviewed(file)
    assert {decided[f"A{n}"] for n in range(6)} == {
        ("", "Control questions were answered wrongly (failed 2 gold items).")
    }
    assert {decided[f"A{n}"] for n in range(6, 12)} == {("X", "")}
    assert result.done == 12, "they counted until the rater was excluded"
    assert careful.status().done == 4


def test_times_of_the_platform_are_kept(careful: Study, turk: Any, tmp_path: Path) -> None:
    mturk.write(careful, tmp_path / "batch", URL)
    batch = turk(tmp_path / "batch")
    index = next(index for index, hit in enumerate(batch.hits) if not hit["check"])
    batch.hand_in(index, "W", {"good": 1}, seconds=30)
    import_(careful.folder, batch.results(tmp_path / "results.csv"), form="mturk")
    (page,) = told(careful)
    assert (page.done, page.claimed) == (1488396225.0, 1488396195.0)  # 2017-03-01 19:23:45 UTC


def test_faults_are_told(careful: Study, make_study: Make, turk: Any, tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="`url`"):
        mturk.write(careful, tmp_path / "a", None)
    with pytest.raises(BadInputError, match="looks like a file"):
        mturk.write(careful, tmp_path / "a.csv", URL)
    with pytest.raises(BadInputError, match="does not say what a HIT pays"):
        mturk.write(make_study(), tmp_path / "a", URL)
    mturk.write(careful, tmp_path / "batch", URL)
    with pytest.raises(BadInputError, match="there already"):
        mturk.write(careful, tmp_path / "batch", URL)
    batch = turk(tmp_path / "batch")
    (tmp_path / "none.csv").write_text(HEADER)
    with pytest.raises(BadInputError, match="holds no assignments"):
        import_(careful.folder, tmp_path / "none.csv", form="mturk")
    (tmp_path / "b.csv").write_text("AssignmentId,WorkerId\nA,B\n")
    with pytest.raises(BadInputError, match=r"lacks AssignmentStatus, Input\.item"):
        import_(careful.folder, tmp_path / "b.csv", form="mturk")
    (tmp_path / "c.csv").write_text(HEADER + 8 * ",")
    with pytest.raises(BadInputError, match="more cells than the header"):
        import_(careful.folder, tmp_path / "c.csv", form="mturk")
    batch.hand_in(0, "W", {"good": 1})
    batch.rows[0]["Input.item"] = "0" * 16
    with pytest.raises(BadInputError, match="of another study"):
        import_(careful.folder, batch.results(tmp_path / "r.csv"), form="mturk")
