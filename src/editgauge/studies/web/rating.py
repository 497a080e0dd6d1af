"""The pages of a rater: coming in, the way to the next page, rating, saving, and the end."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, HTTPException, Path, Request
from fastapi.responses import FileResponse, HTMLResponse, RedirectResponse, Response

from editgauge.studies.design import Answer
from editgauge.studies.errors import BadAnswersError, NotAllowedError
from editgauge.studies.page import Page
from editgauge.studies.study import RaterInfo
from editgauge.studies.web.rendering import size_of
from editgauge.studies.web.visitors import (
    RATER_COOKIE,
    RATER_DAYS,
    OwnForm,
    State,
    Visitor,
    Who,
    form_token,
    rater_of_token,
    read_answers,
    set_cookie,
    state_of,
    visitor,
)

router = APIRouter()
PageNumber = Annotated[int, Path(ge=0, lt=2**31)]
"""More than any study has; a database takes no larger number."""
PICTURE_NAME = re.compile(r"[0-9a-f]{40}\.(png|jpg|jpeg|webp|gif)")
MEDIA_TYPES = {"png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg", "webp": "image/webp", "gif": "image/gif"}
IMAGE_CACHE_CONTROL = "private, max-age=604800, immutable"
NO_SUCH_PAGE = "There is no such page for you."


def redirect(address: str) -> RedirectResponse:
    """On to another page; going back then never sends a form again."""
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
    response = redirect("/")
    response.delete_cookie(RATER_COOKIE, path="/", httponly=True, samesite="strict")
    return response


@router.get("/next")
def next_page(request: Request, who: Who) -> Response:
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
    """Show a page to rate with the answers so far."""
    state = state_of(request)
    try:
        return _rendered(state, who, state.study.page(who.rater, number), {}, {})
    except NotAllowedError as error:
        return _refused(state, who, error)


@router.post("/pages/{number}")
def hand_in(request: Request, who: Who, fields: OwnForm, number: PageNumber) -> Response:
    """Submit a page; submitting twice is harmless. Problems are shown next to the questions."""
    state = state_of(request)
    answers = read_answers(fields, state.study.design.all_questions.values())
    try:
        state.study.answer(who.rater, number, answers)
    except NotAllowedError as error:
        return _refused(state, who, error)
    except BadAnswersError as error:
        return _rendered(state, who, state.study.page(who.rater, number), answers, error.problems, 422)
    return redirect("/next")


@router.post("/pages/{number}/save")
def save(request: Request, who: Who, fields: OwnForm, number: PageNumber) -> Response:
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
    """A picture as a page shows it."""

    address: str
    width: int
    height: int


def served_picture(state: State, rater: RaterInfo, name: str) -> ServedPicture:
    """Return an image for one rater; its URL is signed, so that raters can fetch only images of their pages."""
    seal = state.seals.seal("picture", str(rater.id), name)
    return ServedPicture(f"/pictures/{seal}/{name}", *size_of(state.study.images / name))


@router.get("/pictures/{seal}/{name}")
def picture(request: Request, who: Who, seal: str, name: str) -> FileResponse:
    """One picture, if it stands on a page of the rater."""
    state = state_of(request)
    match = PICTURE_NAME.fullmatch(name)
    if match is None or not state.seals.holds(seal, "picture", str(who.rater.id), name):
        raise HTTPException(404, "There is no such picture.")
    path = state.study.images / name
    if path.is_symlink() or not path.is_file():
        raise HTTPException(404, "There is no such picture.")
    return FileResponse(path, media_type=MEDIA_TYPES[match[1]], headers={"Cache-Control": IMAGE_CACHE_CONTROL})
