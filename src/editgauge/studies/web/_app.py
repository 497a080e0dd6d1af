"""Build and run the web application of a study."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from http import HTTPStatus
from importlib import resources
from typing import Annotated

import uvicorn
from fastapi import APIRouter, Depends, FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, Response
from fastapi.staticfiles import StaticFiles
from sqlalchemy import select
from starlette.exceptions import HTTPException as StarletteHTTPException

from editgauge._util.http import server_config
from editgauge.studies.store import Event, Rater
from editgauge.studies.study import Study
from editgauge.studies.web import _rater_pages
from editgauge.studies.web._guard import Buckets, Guard, RateLimits, add_headers, address
from editgauge.studies.web._rater_pages import redirect
from editgauge.studies.web._state import (
    OWNER_COOKIE,
    OWNER_SECONDS,
    Fields,
    Renderer,
    RevokedSessions,
    Signer,
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

PASSWORD = "EDITGAUGE_STUDY_PASSWORD"  # noqa: S105 - the name of the variable that holds it


def make_app(study: Study, limits: RateLimits | None = None) -> FastAPI:
    """Build the study's web application; `EDITGAUGE_STUDY_PASSWORD` protects the owner's pages.

    Args:
        study: the study, opened; it stays open as long as the application runs.
        limits: how often visitors may ask.

    """
    limits = limits or RateLimits()
    app = FastAPI(title=study.design.title, openapi_url=None, docs_url=None, redoc_url=None)
    app.state.shared = State(
        study=study,
        signer=Signer.of(study.folder),
        revoked=RevokedSessions(study.folder),
        pages=Renderer(study.design.title),
        password=os.environ.get(PASSWORD) or None,
        raters=Buckets(limits.rater),
        guesses=Buckets(limits.guesses),
    )
    app.add_middleware(Guard, rate=limits.address)
    app.include_router(_rater_pages.router)
    app.include_router(router)
    app.mount("/static", StaticFiles(directory=str(resources.files("editgauge.studies.web") / "static")))
    app.add_exception_handler(StarletteHTTPException, _refused)  # type: ignore[arg-type] # the handler of this very kind
    app.add_exception_handler(RequestValidationError, _unreadable)
    app.add_exception_handler(Exception, _broken)
    return app


def serve(study: Study, host: str = "127.0.0.1", port: int = 8000, trusted_proxy: str | None = None) -> None:
    """Serve a study until stopped.

    Args:
        study: the study, opened.
        host: the address to listen at; 127.0.0.1 is this machine alone.
        port: the port to listen at.
        trusted_proxy: the address of a proxy whose word counts for where a request comes from; several with commas.

    """
    config = server_config(make_app(study), host=host, port=port, trusted_proxy=trusted_proxy)
    uvicorn.Server(config).run()


def _refused(request: Request, error: StarletteHTTPException) -> HTMLResponse:
    response = _plain(request, error.status_code, str(error.detail))
    response.headers.update(error.headers or {})
    return response


def _unreadable(request: Request, _: Exception) -> HTMLResponse:
    return _plain(request, 404, "There is no such page.")


def _broken(request: Request, _: Exception) -> HTMLResponse:
    """Answer an unexpected error; the guard does not see this response, so the headers are added here."""
    response = _plain(request, 500, "Something went wrong here, and it was noted. What you had saved is safe.")
    add_headers(response.headers)
    return response


def _plain(request: Request, status: int, message: str) -> HTMLResponse:
    phrase = HTTPStatus(status).phrase
    text = message if message != phrase else f"{phrase}."
    return state_of(request).pages.page("message", status, title=phrase, message=text)


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
