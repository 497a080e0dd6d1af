"""Eligibility, qualification, gold items, flags; exclusions that can be taken back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from editgauge.studies import BadAnswersError, NotAllowedError, RaterInfo, Study
from editgauge.studies.store import Event

Make = Callable[..., Study]
Enter = Callable[..., RaterInfo]
Work = Callable[..., int]
RIGHT = {"bench": "context", "same": "low"}


@pytest.fixture
def gold(tmp_path: Path) -> Path:
    """Three of the twelve items are known to be good."""
    lines = [f'{{"edit": "edit-{n}", "method": "mine", "answers": {{"good": 2}}}}\n' for n in range(3)]
    (tmp_path / "gold.jsonl").write_text("".join(lines))
    return tmp_path / "gold.jsonl"


def test_gold_items_are_mixed_in_and_not_rated(make_study: Make, enter: Enter, work: Work, gold: Path) -> None:
    study = make_study(gold=gold)
    rater = enter(study)
    assert work(study, rater, value=2) == 12
    status = study.status()
    assert (status.items, status.done, status.raters[0].gold_seen, status.raters[0].gold_failed) == (9, 9, 3, 0)


def test_who_fails_gold_items_is_excluded_with_all_answers_and_can_be_included_again(
    make_study: Make, enter: Enter, work: Work, gold: Path
) -> None:
    study = make_study(gold=gold)
    rater = enter(study)
    with pytest.raises(NotAllowedError, match="has ended"):
        work(study, rater, value=0)
    (told,) = study.status().raters
    assert (told.state, told.reason, told.done) == ("excluded", "failed 2 gold items", 0)
    assert told.void > 0
    assert study.status().done == 0
    again, surplus = study.include("r0001", "the gold was wrong")
    assert (again, surplus) == (told.void, 0)
    work(study, rater, value=2)
    assert study.status().done == 9
    with study.database.read() as session:
        assert {"excluded", "included", "gold_failed"} <= {event.kind for event in session.query(Event)}


def test_items_of_an_excluded_rater_are_given_to_others(make_study: Make, enter: Enter, work: Work) -> None:
    study = make_study(raters=2)
    raters = [enter(study) for _ in range(3)]
    for rater in raters[:2]:
        work(study, rater)
    assert study.status().complete == 12
    assert study.exclude("r0001", "answered at random") == 12
    assert study.status().complete == 0
    assert work(study, raters[2]) == 12
    assert study.status().complete == 12
    assert study.include("r0001", "") == (0, 12), "others have taken all places"
    assert study.status().done == 24


def test_a_page_answered_too_fast_is_flagged_and_counts(
    make_study: Make, enter: Enter, clock: Any, plain_design: Path
) -> None:
    plain_design.write_text(plain_design.read_text().replace("fast_seconds: 0", "fast_seconds: 5"))
    study = make_study()
    rater = enter(study)
    for seconds in (2, 6):
        page = study.next(rater)
        assert page is not None
        clock.now += seconds
        study.answer(rater, page, {"good": 1})
    (told,) = study.status().raters
    assert (told.flagged, told.done) == (1, 2)


def test_a_failed_attention_check_is_flagged(make_study: Make, enter: Enter, plain_design: Path) -> None:
    check = "{id: read, kind: yes_no, label: Choose no here., right: ['no']}"
    plain_design.write_text(plain_design.read_text() + f"attention: {{every: 2, questions: [{check}]}}\n")
    study = make_study()
    rater = enter(study)
    checked = 0
    while (page := study.next(rater)) is not None:
        answers: dict[str, Any] = {"good": 1}
        if any(question.id == "read" for question in study.page(rater, page).questions):
            checked += 1
            with pytest.raises(BadAnswersError, match="read: please answer"):
                study.answer(rater, page, answers)
            answers["read"] = "yes"
        study.answer(rater, page, answers)
    assert checked == 6
    assert study.status().raters[0].flagged == 6


def test_eligibility_and_qualification_come_before_the_first_page(make_study: Make, enter: Enter) -> None:
    study = make_study(design="editval")
    rater = enter(study)
    assert study.stage(rater) == "eligibility"
    with pytest.raises(NotAllowedError, match="first"):
        study.next(rater)
    with pytest.raises(BadAnswersError, match="sees"):
        study.answer_eligibility(rater, {"adult": "yes"})
    assert study.answer_eligibility(rater, {"adult": "yes", "sees": "yes"})
    assert study.stage(rater) == "qualification"
    failed = study.answer_qualification(rater, {**RIGHT, "same": "all_low"})
    assert (failed.passed, failed.right, failed.wrong, failed.attempts_left) == (False, 1, ("same",), 1)
    assert study.answer_qualification(rater, RIGHT).passed
    assert study.stage(rater) == "rating"
    assert study.next(rater) is not None


def test_who_is_not_eligible_or_fails_the_test_is_turned_away_and_can_be_admitted(
    make_study: Make, enter: Enter
) -> None:
    study = make_study(design="editval")
    young, careless = enter(study), enter(study)
    assert not study.answer_eligibility(young, {"adult": "no", "sees": "yes"})
    study.answer_eligibility(careless, {"adult": "yes", "sees": "yes"})
    for _ in range(2):
        study.answer_qualification(careless, {**RIGHT, "bench": "applied"})
    for rater, reason in ((young, "not eligible by adult"), (careless, "1 of 2 right")):
        assert study.stage(rater) == "closed"
        told = next(item for item in study.status().raters if item.name == rater.name)
        assert told.reason.startswith(reason)
        with pytest.raises(NotAllowedError):
            study.next(rater)
    study.include(careless.name, "an honest mistake")
    assert study.next(careless) is not None


def test_a_forgotten_rater_leaves_no_personal_data(make_study: Make, work: Work) -> None:
    study = make_study()
    (invitation,) = study.invite(label="Anna")
    work(study, study.rater(invitation.token), pages=3)
    study.forget("Anna")
    with pytest.raises(NotAllowedError):
        study.rater(invitation.token)
    (told,) = study.status().raters
    assert (told.label, told.state, told.done) == (None, "forgotten", 3)
    study.close()
    assert [file.name for file in study.folder.glob("study.*") if b"Anna" in file.read_bytes()] == []


def test_a_rater_can_be_forgotten_with_all_answers(make_study: Make, enter: Enter, work: Work) -> None:
    study = make_study(raters=1)
    work(study, enter(study))
    study.forget("r0001", answers=True)
    assert study.status().done == 0
    assert work(study, enter(study)) == 12
