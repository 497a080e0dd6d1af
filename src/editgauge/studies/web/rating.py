"""The pages of a rater: coming in, the way to the next page, rating, saving, and the end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from fastapi import APIRouter, HTTPException, Path, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from editgauge.studies.design import Answer
from editgauge.studies.errors import BadAnswers, NotAllowed
from editgauge.studies.page import Page
from editgauge.studies.web.forms import read_answers
from editgauge.studies.web.pictures import shown
from editgauge.studies.web.state import State, state_of
from editgauge.studies.web.visitors import (
    RATER_COOKIE,
    RATER_DAYS,
    OwnForm,
    Visitor,
    Who,
    find,
    form_token,
    set_cookie,
    visitor,
)

router = APIRouter()
PageNumber = Annotated[int, Path(ge=0, lt=2**31)]
"""More than any study has; a database takes no larger number."""
NOT_YOURS = "There is no such page for you."


def go(address: str) -> RedirectResponse:
    """On to another page; going back then never sends a form again."""
    return RedirectResponse(address, 303)


@router.get("/enter/{token}")
def enter(request: Request, token: str) -> HTMLResponse:
    """Takes the secret out of the address.

    The page leads on by itself, not by a redirect: browsers hold a strict cookie back from a redirect that began on
    another site, such as a mail program's.
    """
    state = state_of(request)
    find(request, state, token)
    response = state.pages.page("enter")
    response.headers["Referrer-Policy"] = "no-referrer"
    set_cookie(request, response, RATER_COOKIE, token, RATER_DAYS * 86_400)
    return response


@router.get("/")
def welcome(request: Request) -> HTMLResponse:
    """What the study is about, how far the rater is, and the way on; the same page for a pause."""
    state = state_of(request)
    if RATER_COOKIE not in request.cookies:
        return state.pages.page("stranger")
    who = visitor(request)
    return state.pages.page(
        "welcome",
        design=state.study.design,
        stage=state.study.stage(who.rater),
        progress=state.study.progress(who.rater),
        form_token=form_token(state, who.token),
    )


@router.post("/leave")
def leave(_: OwnForm) -> RedirectResponse:
    """Forgets the rater on this device."""
    response = go("/")
    response.delete_cookie(RATER_COOKIE, path="/", httponly=True, samesite="strict")
    return response


@router.get("/next")
def next_page(request: Request, who: Who) -> Response:
    """The way to whatever comes next. Asking twice leads to the same page."""
    state = state_of(request)
    stage = state.study.stage(who.rater)
    if stage in ("eligibility", "qualification"):
        return go(f"/{stage}")
    try:
        assignment = state.study.next(who.rater)
    except NotAllowed as error:
        return state.pages.page("end", title="Thank you", message=str(error), progress=None)
    if assignment is None:
        return go("/finished")
    return go(f"/pages/{assignment}")


@router.get("/finished")
def finished(request: Request, who: Who) -> HTMLResponse:
    """Nothing is left for this rater, for now or for good."""
    state = state_of(request)
    progress = state.study.progress(who.rater)
    is_full = progress.most is not None and progress.done >= progress.most
    later = progress.left_in_study > 0 and not is_full
    message = (
        "There is nothing for you at the moment. Pages that others leave come back, so it may be worth looking again."
        if later
        else "You have answered all the pages there were for you. You can close this window."
    )
    return state.pages.page("end", title="All done. Thank you!", message=message, progress=progress)


@router.get("/pages/{number}")
def show(request: Request, who: Who, number: PageNumber) -> Response:
    """A page to rate, with what was answered so far."""
    state = state_of(request)
    try:
        return _rendered(state, who, state.study.page(who.rater, number), {}, {})
    except NotAllowed as error:
        return _refused(state, who, error)


@router.post("/pages/{number}")
def hand_in(request: Request, who: Who, fields: OwnForm, number: PageNumber) -> Response:
    """Takes a page; twice is harmless. What is missing is said next to the questions."""
    state = state_of(request)
    answers = read_answers(fields, state.study.design.all_questions.values())
    try:
        state.study.answer(who.rater, number, answers)
    except NotAllowed as error:
        return _refused(state, who, error)
    except BadAnswers as error:
        return _rendered(state, who, state.study.page(who.rater, number), answers, error.problems, 422)
    return go("/next")


@router.post("/pages/{number}/save")
def save(request: Request, who: Who, fields: OwnForm, number: PageNumber) -> Response:
    """Keeps the form as it stands; a script wants no answer, a browser without scripts the page again."""
    state = state_of(request)
    try:
        state.study.save(who.rater, number, read_answers(fields, state.study.design.all_questions.values()))
    except NotAllowed as error:
        return _refused(state, who, error)
    except BadAnswers as error:
        raise HTTPException(422, "; ".join(error.problems.values())) from error
    if request.headers.get("x-saved-by") == "script":
        return Response(status_code=204)
    return go("/")


def _refused(state: State, who: Visitor, error: NotAllowed) -> Response:
    if state.study.stage(who.rater) == "closed":
        return state.pages.page("end", 403, title="Thank you", message=str(error), progress=None)
    raise HTTPException(404, NOT_YOURS) from error


def _rendered(
    state: State,
    who: Visitor,
    page: Page,
    answers: Mapping[str, Answer],
    problems: Mapping[str, str],
    status: int = 200,
) -> HTMLResponse:
    kept = {question.id: question.answer for question in page.questions if question.answer is not None}
    return state.pages.page(
        "rate",
        status,
        page=page,
        unit=state.study.design.unit,
        instructions=state.study.design.instructions,
        pictures=[(picture.role, shown(state, who.rater, picture.name)) for picture in page.pictures],
        answers={**kept, **answers},
        problems=problems,
        progress=state.study.progress(who.rater),
        form_token=form_token(state, who.token),
    )
