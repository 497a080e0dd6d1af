"""Pages of the owner: login and progress. They show no secret of a rater, because the study stores none."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Depends, HTTPException, Request
from fastapi.responses import HTMLResponse, Response
from sqlalchemy import select

from editgauge.studies.store import Event, Rater
from editgauge.studies.study import Study
from editgauge.studies.web._guard import address
from editgauge.studies.web._rater_pages import redirect
from editgauge.studies.web._state import (
    OWNER_COOKIE,
    OWNER_SECONDS,
    Fields,
    State,
    check_form_token,
    form_token,
    is_owner,
    is_password,
    new_nonce,
    owner_cookie,
    read_form,
    set_cookie,
    sign_out,
    state_of,
)

LOGIN_COOKIE = "editgauge_login"
LOGIN_SECONDS = 3600
MAX_RECENT_EVENTS = 50
router = APIRouter()


@dataclass(frozen=True, slots=True)
class EventLine:
    """An event as the owner's page lists it."""

    at: float
    kind: str
    rater: str
    reason: str


@router.get("/admin")
def admin(request: Request) -> Response:
    """Show the progress of the study, or the login form."""
    state = state_of(request)
    if not is_owner(request):
        if state.password is None:
            raise HTTPException(404, "There is no such page.")
        return _login_page(request, state)
    secret = request.cookies.get(OWNER_COOKIE, "")
    return state.pages.page(
        "admin",
        status=state.study.status(),
        study=state.study.manifest,
        events=_recent(state.study),
        form_token=form_token(state, secret) if secret else None,
        now=time.time(),
    )


@router.post("/admin/login")
def login(request: Request, fields: Annotated[Fields, Depends(read_form)]) -> Response:
    """Check the password."""
    state, who = state_of(request), f"password {address(request.scope)}"
    if state.password is None:
        raise HTTPException(404, "There is no such page.")
    check_form_token(state, fields, request.cookies.get(LOGIN_COOKIE, ""))
    if state.guesses.is_empty(who):
        raise HTTPException(429, "Too many wrong passwords; please wait a minute.", {"Retry-After": "60"})
    if not is_password(state, fields.get("password", [""])[-1]):
        state.guesses.wait(who)
        return _login_page(request, state, "That is not the password.", 403)
    response = redirect("/admin")
    set_cookie(request, response, OWNER_COOKIE, owner_cookie(state, time.time()), OWNER_SECONDS)
    return response


@router.post("/admin/logout")
def logout(request: Request, fields: Annotated[Fields, Depends(read_form)]) -> Response:
    """Sign the owner out; copies of the cookie become invalid too."""
    check_form_token(state_of(request), fields, request.cookies.get(OWNER_COOKIE, ""))
    sign_out(request)
    response = redirect("/admin")
    response.delete_cookie(OWNER_COOKIE, path="/", httponly=True, samesite="strict")
    return response


def _login_page(request: Request, state: State, problem: str = "", status: int = 200) -> HTMLResponse:
    nonce = request.cookies.get(LOGIN_COOKIE) or new_nonce()
    response = state.pages.page("login", status, form_token=form_token(state, nonce), problem=problem)
    set_cookie(request, response, LOGIN_COOKIE, nonce, LOGIN_SECONDS)
    return response


def _recent(study: Study) -> list[EventLine]:
    rows = (
        select(Event, Rater.name)
        .join(Rater, Event.rater_id == Rater.id)
        .order_by(Event.id.desc())
        .limit(MAX_RECENT_EVENTS)
    )
    with study.database.read() as session:
        return [EventLine(event.at, event.kind, name, event.reason) for event, name in session.execute(rows)]
