"""Pages of a rater: entry, eligibility, qualification, rating, and the end."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, HTTPException, Path, Query, Request
from fastapi.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from sqlalchemy import func, select

from editgauge.errors import BadAnswersError, NotAllowedError
from editgauge.studies._pages import Page
from editgauge.studies.design import Answer, QuestionFields
from editgauge.studies.store import Screening
from editgauge.studies.study import RaterInfo
from editgauge.studies.web._state import (
    ATTEMPT,
    RATER_COOKIE,
    RATER_DAYS,
    CurrentVisitor,
    RaterForm,
    State,
    Visitor,
    form_token,
    rater_of_token,
    read_answers,
    set_cookie,
    size_of,
    state_of,
    visitor,
)

router = APIRouter()
PageNumber = Annotated[int, Path(ge=0, lt=2**31)]
"""Bounded by the integers of the database."""
PICTURE_NAME = re.compile(r"[0-9a-f]{40}\.(png|jpg|jpeg|webp|gif)")
MEDIA_TYPES = {"png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg", "webp": "image/webp", "gif": "image/gif"}
IMAGE_CACHE_CONTROL = "private, max-age=604800, immutable"
NO_SUCH_PAGE = "There is no such page for you."


def redirect(address: str) -> RedirectResponse:
    """Redirect with 303, so that going back never sends a form again."""
    return RedirectResponse(address, 303)


@router.get("/enter/{token}")
def enter(request: Request, token: str) -> HTMLResponse:
    """Move the secret from the URL into a form.

    The page leads on by itself, not by a redirect: browsers hold a strict cookie back from a redirect that began on
    another site, such as a mail program's.
    """
    state = state_of(request)
    rater_of_token(request, state, token)
    response = state.pages.page("enter")
    response.headers["Referrer-Policy"] = "no-referrer"
    set_cookie(request, response, RATER_COOKIE, token, RATER_DAYS * 86_400)
    return response


@router.get("/")
def welcome(request: Request) -> HTMLResponse:
    """Show the study's description, the rater's progress and a start button; also used for a pause."""
    state = state_of(request)
    if RATER_COOKIE not in request.cookies:
        return state.pages.page("no_link")
    who = visitor(request)
    return state.pages.page(
        "welcome",
        design=state.study.design,
        stage=state.study.stage(who.rater),
        progress=state.study.progress(who.rater),
        form_token=form_token(state, who.token),
    )


@router.post("/leave")
def leave(_: RaterForm) -> RedirectResponse:
    """Delete the rater's cookie."""
    response = redirect("/")
    response.delete_cookie(RATER_COOKIE, path="/", httponly=True, samesite="strict")
    return response


@router.get("/next")
def next_page(request: Request, who: CurrentVisitor) -> Response:
    """Redirect to the rater's next page; repeated requests lead to the same page."""
    state = state_of(request)
    stage = state.study.stage(who.rater)
    if stage in ("eligibility", "qualification"):
        return redirect(f"/{stage}")
    try:
        assignment = state.study.next(who.rater)
    except NotAllowedError as error:
        return state.pages.page("end", title="Thank you", message=str(error), progress=None)
    if assignment is None:
        return redirect("/finished")
    return redirect(f"/pages/{assignment}")


@router.get("/finished")
def finished(request: Request, who: CurrentVisitor) -> HTMLResponse:
    """Tell the rater that no page is left, for now or for good."""
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
def show(request: Request, who: CurrentVisitor, number: PageNumber) -> Response:
    """Show a page to rate with the answers so far."""
    state = state_of(request)
    try:
        return _rendered(state, who, state.study.page(who.rater, number), {}, {})
    except NotAllowedError as error:
        return _refused(state, who, error)


@router.post("/pages/{number}")
def submit(request: Request, who: CurrentVisitor, fields: RaterForm, number: PageNumber) -> Response:
    """Submit a page; submitting twice is harmless. Problems are shown next to the questions."""
    state = state_of(request)
    answers = read_answers(fields, state.study.design.all_questions.values())
    try:
        state.study.answer(who.rater, number, answers)
    except NotAllowedError as error:
        return _refused(state, who, error)
    except BadAnswersError as error:
        return _rendered(state, who, state.study.page(who.rater, number), answers, error.problems, status=422)
    return redirect("/next")


@router.post("/pages/{number}/save")
def save(request: Request, who: CurrentVisitor, fields: RaterForm, number: PageNumber) -> Response:
    """Save the form as a draft; scripts get an empty response, browsers without scripts the page."""
    state = state_of(request)
    try:
        state.study.save(who.rater, number, read_answers(fields, state.study.design.all_questions.values()))
    except NotAllowedError as error:
        return _refused(state, who, error)
    except BadAnswersError as error:
        raise HTTPException(422, "; ".join(error.problems.values())) from error
    if request.headers.get("x-saved-by") == "script":
        return Response(status_code=204)
    return redirect("/")


def _refused(state: State, who: Visitor, error: NotAllowedError) -> Response:
    if state.study.stage(who.rater) == "closed":
        return state.pages.page("end", 403, title="Thank you", message=str(error), progress=None)
    raise HTTPException(404, NO_SUCH_PAGE) from error


def _rendered(
    state: State,
    who: Visitor,
    page: Page,
    answers: Mapping[str, Answer],
    problems: Mapping[str, str],
    *,
    status: int = 200,
) -> HTMLResponse:
    saved_answers = {question.id: question.answer for question in page.questions if question.answer is not None}
    return state.pages.page(
        "rate",
        status,
        page=page,
        unit=state.study.design.unit,
        instructions=state.study.design.instructions,
        pictures=[(picture.role, served_picture(state, who.rater, picture.name)) for picture in page.pictures],
        answers={**saved_answers, **answers},
        problems=problems,
        progress=state.study.progress(who.rater),
        form_token=form_token(state, who.token),
    )


@dataclass(frozen=True, slots=True)
class ServedPicture:
    """URL and size of an image on a page."""

    url: str
    width: int
    height: int


def served_picture(state: State, rater: RaterInfo, name: str) -> ServedPicture:
    """Return an image for one rater; its URL is signed, so that raters can fetch only images of their pages."""
    seal = state.signer.sign("picture", str(rater.id), name)
    return ServedPicture(f"/pictures/{seal}/{name}", *size_of(state.study.images / name))


@router.get("/pictures/{seal}/{name}")
def picture(request: Request, who: CurrentVisitor, seal: str, name: str) -> FileResponse:
    """Serve an image that is on a page of the rater."""
    state = state_of(request)
    match = PICTURE_NAME.fullmatch(name)
    if match is None or not state.signer.verify(seal, "picture", str(who.rater.id), name):
        raise HTTPException(404, "There is no such picture.")
    path = state.study.images / name
    if path.is_symlink() or not path.is_file():
        raise HTTPException(404, "There is no such picture.")
    return FileResponse(path, media_type=MEDIA_TYPES[match[1]], headers={"Cache-Control": IMAGE_CACHE_CONTROL})


@router.get("/eligibility")
def eligibility(request: Request, who: CurrentVisitor) -> Response:
    """Show the eligibility questions."""
    state = state_of(request)
    if state.study.stage(who.rater) != "eligibility":
        return redirect("/next")
    return _eligibility_page(state, who, {}, {})


@router.post("/eligibility")
def answer_eligibility(request: Request, who: CurrentVisitor, fields: RaterForm) -> Response:
    """Store the eligibility answers; sending them twice changes nothing."""
    state = state_of(request)
    entries = read_answers(fields, _eligibility_questions(state))
    try:
        state.study.answer_eligibility(who.rater, entries)
    except BadAnswersError as error:
        return _eligibility_page(state, who, entries, error.problems, status=422)
    except NotAllowedError:
        pass  # it was sent before
    return redirect("/next")


@router.get("/qualification")
def qualification(
    request: Request, who: CurrentVisitor, wrong: Annotated[list[str], Query()] = [], left: int = 0  # noqa: B006 - never changed
) -> Response:  # fmt: skip
    """Show the qualification test; after a failed attempt also what was wrong and why."""
    state = state_of(request)
    if state.study.stage(who.rater) != "qualification":
        return redirect("/next")
    return _qualification_page(state, who, {}, {}, wrong=wrong, left=left)


@router.post("/qualification")
def answer_qualification(request: Request, who: CurrentVisitor, fields: RaterForm) -> Response:
    """Grade an attempt at the test; sending it twice counts once."""
    state = state_of(request)
    test = state.study.design.qualification
    if test is None:
        return redirect("/next")
    entries = read_answers(fields, [item.question for item in test.items])
    try:
        with state.quiz_lock:
            if fields.get(ATTEMPT) != [str(_attempts(state, who.rater))]:
                return redirect("/next")
            result = state.study.answer_qualification(who.rater, entries)
    except BadAnswersError as error:
        return _qualification_page(state, who, entries, error.problems, status=422)
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
    *,
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
