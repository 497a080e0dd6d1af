"""Build and run the web application of a study."""

from __future__ import annotations

import os
from http import HTTPStatus
from importlib import resources

import uvicorn
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

from editgauge._util.http import server_config
from editgauge.studies.study import Study
from editgauge.studies.web import _admin_pages, _rater_pages
from editgauge.studies.web._guard import Buckets, Guard, RateLimits, add_headers
from editgauge.studies.web._state import Renderer, RevokedSessions, Signer, State, state_of

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
    for part in (_rater_pages, _rater_pages, _admin_pages):
        app.include_router(part.router)
    app.mount("/static", StaticFiles(directory=str(resources.files("editgauge.studies.web") / "static")))
    app.add_exception_handler(HTTPException, _refused)  # type: ignore[arg-type] # the handler of this very kind
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


def _refused(request: Request, error: HTTPException) -> HTMLResponse:
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
