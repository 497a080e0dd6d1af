"""Before the first page: who may take part, and the test of who understood the task."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, Response
from sqlalchemy import func, select

from editgauge.studies.design import Answer, QuestionFields
from editgauge.studies.errors import BadAnswersError, NotAllowedError
from editgauge.studies.store import Screening
from editgauge.studies.study import RaterInfo
from editgauge.studies.web.rating import ServedPicture, redirect, served_picture
from editgauge.studies.web.visitors import ATTEMPT, OwnForm, State, Visitor, Who, form_token, read_answers, state_of

router = APIRouter()


@router.get("/eligibility")
def eligibility(request: Request, who: Who) -> Response:
    """Show the eligibility questions."""
    state = state_of(request)
    if state.study.stage(who.rater) != "eligibility":
        return redirect("/next")
    return _eligibility_page(state, who, {}, {})


@router.post("/eligibility")
def answer_eligibility(request: Request, who: Who, fields: OwnForm) -> Response:
    """Store the eligibility answers; sending them twice changes nothing."""
    state = state_of(request)
    entries = read_answers(fields, _eligibility_questions(state))
    try:
        state.study.answer_eligibility(who.rater, entries)
    except BadAnswersError as error:
        return _eligibility_page(state, who, entries, error.problems, 422)
    except NotAllowedError:
        pass  # it was sent before
    return redirect("/next")


@router.get("/qualification")
def qualification(
    request: Request, who: Who, wrong: Annotated[list[str], Query()] = [], left: int = 0  # noqa: B006 - never changed
) -> Response:  # fmt: skip
    """Show the qualification test; after a failed attempt also what was wrong and why."""
    state = state_of(request)
    if state.study.stage(who.rater) != "qualification":
        return redirect("/next")
    return _qualification_page(state, who, {}, {}, wrong=wrong, left=left)


@router.post("/qualification")
def answer_qualification(request: Request, who: Who, fields: OwnForm) -> Response:
    """Grade an attempt at the test; sending it twice counts once."""
    state = state_of(request)
    test = state.study.design.qualification
    if test is None:
        return redirect("/next")
    entries = read_answers(fields, [item.question for item in test.items])
    try:
        with state.quiz_turn:
            if fields.get(ATTEMPT) != [str(_attempts(state, who.rater))]:
                return redirect("/next")
            result = state.study.answer_qualification(who.rater, entries)
    except BadAnswersError as error:
        return _qualification_page(state, who, entries, error.problems, 422)
    except NotAllowedError:
        return redirect("/next")
    if result.passed or not result.attempts_left:
        return redirect("/next")
    mistakes = "".join(f"wrong={name}&" for name in result.wrong)
    return redirect(f"/qualification?{mistakes}left={result.attempts_left}")


def _attempts(state: State, rater: RaterInfo) -> int:
    with state.study.database.read() as session:
        mine = select(func.count()).where(Screening.rater_id == rater.id, Screening.kind == "qualification")
        return session.scalar(mine) or 0


def _eligibility_questions(state: State) -> list[QuestionFields]:
    return [item.question for item in state.study.design.eligibility]


def _eligibility_page(
    state: State, who: Visitor, answers: Mapping[str, Answer], problems: Mapping[str, str], status: int = 200
) -> HTMLResponse:  # fmt: skip
    return state.pages.page(
        "eligibility",
        status,
        questions=_eligibility_questions(state),
        answers=answers,
        problems=problems,
        form_token=form_token(state, who.token),
    )


def _qualification_page(
    state: State,
    who: Visitor,
    answers: Mapping[str, Answer],
    problems: Mapping[str, str],
    status: int = 200,
    wrong: list[str] | None = None,
    left: int = 0,
) -> HTMLResponse:
    test = state.study.design.qualification
    assert test is not None, "there is no such page without a test"  # noqa: S101 - for the type checker
    return state.pages.page(
        "qualification",
        status,
        items=test.items,
        pictures={item.question.id: _quiz_pictures(state, who, item.source, item.edited) for item in test.items},
        instructions=state.study.design.instructions,
        attempt=_attempts(state, who.rater),
        wrong=wrong or [],
        left=left,
        answers=answers,
        problems=problems,
        form_token=form_token(state, who.token),
    )


def _quiz_pictures(
    state: State, who: Visitor, source: str | None, edited: str | None
) -> list[tuple[str, ServedPicture]]:
    names = state.study.manifest.pictures
    entries = [("source", source), ("edited", edited)]
    return [(role, served_picture(state, who.rater, names[path])) for role, path in entries if path is not None]
