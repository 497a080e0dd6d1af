"""A rater's way by plain forms: nothing here needs a script, and nothing is lost on the way."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
from sqlalchemy import func, select

from editgauge.studies import Study
from editgauge.studies.store import AnswerRow, Screening

Online = Callable[..., str]
EDITVAL = {"applied": "3", "object_kept": "2", "context_kept": "0"}


def path_of(response: httpx.Response) -> str:
    return response.url.path


def test_a_rater_goes_from_the_link_to_the_end(
    make_study: Callable[..., Study], online: Online, come: Callable[..., Any]
) -> None:
    study = make_study(edits=2, methods=("mine",), design="editval", raters=1)
    rater = come(online(study), study.invite()[0].token)
    assert "How well was this picture edited?" in rater.get("/").text
    assert path_of(rater.get("/next")) == "/eligibility"
    assert path_of(rater.send("/eligibility", {"adult": "yes", "sees": "yes"})) == "/qualification"
    page = rater.send("/qualification", {"attempt-number": "0", "bench": "context", "same": "low"})
    for _ in range(2):
        assert path_of(page).startswith("/pages/")
        page = rater.send(path_of(page), EDITVAL)
    assert path_of(page) == "/finished"
    assert study.status().done == 2


def test_what_is_missing_is_said_beside_the_question_and_nothing_given_is_lost(
    make_study: Callable[..., Study], online: Online, come: Callable[..., Any], photo_run: Path
) -> None:
    study = make_study(run=photo_run, design="2afc", raters=1)
    rater = come(online(study), study.invite()[0].token)
    rater.get("/next")
    answered = rater.send("/eligibility", {})
    assert answered.status_code == 422
    assert "Please answer this question." in answered.text
    page = rater.send("/eligibility", {"adult": "yes"})
    assert rater.send(path_of(page), {}).status_code == 422
    assert rater.send(path_of(page), {"better": "above"}).status_code == 422
    assert rater.send(path_of(page), {"better": "left", "stray": "1"}).status_code == 422
    assert study.status().done == 0


def test_saving_and_coming_back_by_another_window(
    make_study: Callable[..., Study], online: Online, come: Callable[..., Any]
) -> None:
    study = make_study()
    address, token = online(study), study.invite()[0].token
    first = come(address, token)
    page = first.get("/next")
    assert path_of(first.send(f"{path_of(page)}/save", {"good": "2"})) == "/"
    again = come(address, token).get("/next")
    assert path_of(again) == path_of(page)
    assert 'value="2" data-key="3" checked' in again.text
    assert study.status().done == 0


def test_handing_in_twice_and_going_back_is_harmless(
    make_study: Callable[..., Study], online: Online, come: Callable[..., Any]
) -> None:
    study = make_study()
    rater = come(online(study), study.invite()[0].token)
    page = rater.get("/next")
    after = {path_of(rater.send(path_of(page), {"good": "1"}, page)) for _ in range(3)}
    assert len(after) == 1
    assert study.status().done == 1
    back = rater.get(path_of(page))
    assert "You have handed in this page" in back.text
    rater.send(path_of(page), {"good": "0"}, back)
    assert study.status().done == 1
    with study.database.read() as session:
        assert session.scalar(select(func.max(AnswerRow.version))) == 2


def test_a_test_sent_twice_is_one_attempt(
    make_study: Callable[..., Study], online: Online, come: Callable[..., Any]
) -> None:
    study = make_study(design="editval")
    rater = come(online(study), study.invite()[0].token)
    rater.get("/next")
    test = rater.send("/eligibility", {"adult": "yes", "sees": "yes"})
    wrong = {"attempt-number": "0", "bench": "applied", "same": "low"}
    for _ in range(2):
        told = rater.send("/qualification", wrong, test)
        assert path_of(told) == "/qualification"
    with study.database.read() as session:
        assert session.scalar(select(func.count()).where(Screening.kind == "qualification")) == 1
    again = rater.send("/qualification", {**wrong, "attempt-number": "1"}, told)
    assert "this study looks for other raters" in again.text


def test_why_an_answer_was_wrong_is_told_before_the_next_attempt(
    make_study: Callable[..., Study], online: Online, come: Callable[..., Any]
) -> None:
    study = make_study(design="editval")
    rater = come(online(study), study.invite()[0].token)
    rater.get("/next")
    rater.send("/eligibility", {"adult": "yes", "sees": "yes"})
    told = rater.send("/qualification", {"attempt-number": "0", "bench": "applied", "same": "low"})
    assert "what suffered is the surroundings" in told.text
    assert "nothing was spoilt" not in told.text
    assert "1 attempt left" in told.text


def test_who_may_not_take_part_is_thanked(
    make_study: Callable[..., Study], online: Online, come: Callable[..., Any]
) -> None:
    study = make_study(design="2afc")
    rater = come(online(study), study.invite()[0].token)
    rater.get("/next")
    told = rater.send("/eligibility", {"adult": "no"})
    assert "this study looks for other raters" in told.text
    assert "looks for other raters" in rater.get("/next").text


def test_leaving_forgets_the_rater_on_this_device(
    make_study: Callable[..., Study], online: Online, come: Callable[..., Any]
) -> None:
    study = make_study()
    rater = come(online(study), study.invite()[0].token)
    rater.get("/")
    assert "personal link" in rater.send("/leave", {}).text
    assert rater.get("/next").status_code == 401


def test_the_description_that_is_judged_stands_apart_from_the_one_that_is_corrected(
    make_study: Callable[..., Study], small_run: Callable[..., Path], online: Online, come: Callable[..., Any]
) -> None:
    run = small_run(1, ("mine",), extras={"edit-0": {"difference_caption": "A cup was added."}})
    study = make_study(run=run, design="editinspector", raters=1)
    rater = come(online(study), study.invite()[0].token)
    rater.get("/next")
    rater.send("/eligibility", {"adult": "yes", "english": "yes"})
    page = rater.send("/qualification", {"attempt-number": "0", "fork": "artifacts", "boat": "consistent"})
    answers = {"accuracy": "accurate", "consistent": "yes", "precise": "yes", "artifacts": "none"}

    again = rater.send(path_of(page), {**answers, "differences": "A red cup was added."})  # one answer is missing

    assert again.status_code == 422
    judged, corrected = again.text.split('id="question-differences"')
    assert '<blockquote class="quote">A cup was added.</blockquote>' in judged
    assert "A red cup was added." in corrected


def test_a_prefilled_description_and_reasons_are_asked_where_they_belong(
    make_study: Callable[..., Study], online: Online, come: Callable[..., Any]
) -> None:
    study = make_study(edits=1, methods=("mine",), design="editinspector", raters=1)
    rater = come(online(study), study.invite()[0].token)
    rater.get("/next")
    rater.send("/eligibility", {"adult": "yes", "english": "yes"})
    page = rater.send("/qualification", {"attempt-number": "0", "fork": "artifacts", "boat": "consistent"})
    good = {"accuracy": "accurate", "consistent": "yes", "precise": "yes", "artifacts": "none", "differences": "It is."}
    without_reason = rater.send(path_of(page), {**good, "precise": "no"}, page)
    assert without_reason.status_code == 422
    assert "It is." in without_reason.text
    assert path_of(rater.send(path_of(page), {**good, "precise": "no", "precise_reason": "A seam."})) == "/finished"
