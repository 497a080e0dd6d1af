"""Serve the web application in which people review proposed edits."""

from __future__ import annotations

import socket
import threading
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, get_args
from urllib.parse import quote, unquote

from fastapi import APIRouter, Depends, FastAPI, HTTPException, Request
from fastapi.responses import FileResponse, HTMLResponse, JSONResponse, RedirectResponse, Response
from fastapi.staticfiles import StaticFiles
from jinja2 import Environment
from starlette.middleware.trustedhost import TrustedHostMiddleware

from editgauge import __version__
from editgauge._render.text import open_templates
from editgauge._util.progress import log_info
from editgauge.builders.review.desk import IMAGE_TYPES, Desk, UnfitCandidateError, Verdict, read_proposal
from editgauge.builders.review.file import Review, ReviewCandidate, agreement, read_review
from editgauge.builders.review.pages import group_page
from editgauge.errors import BadInputError, EditGaugeError
from editgauge.options import FreePort
from editgauge.studies.web._guard import Guard, RateLimits, add_headers
from editgauge.studies.web._state import Fields, read_form

COOKIE = "editgauge_reviewer"
COOKIE_SECONDS = 365 * 24 * 3600
MAX_NAME_LENGTH = 60
LOCAL = ["127.0.0.1", "localhost"]
"""Another site's name may be made to lead here."""
HOST = LOCAL[0]
Form = Annotated[Fields, Depends(read_form)]
router = APIRouter()


def make_app(desk: Desk) -> FastAPI:
    """Create the application for one review file."""
    app = FastAPI(title="Review", openapi_url=None, docs_url=None, redoc_url=None)
    app.state.desk, app.state.templates = desk, _templates()
    app.add_middleware(Guard, rate=RateLimits().address)
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=LOCAL)
    app.mount("/house", StaticFiles(directory=str(resources.files("editgauge.studies.web") / "static")))
    app.mount("/static", StaticFiles(directory=str(resources.files(__package__ or "") / "static")))
    app.include_router(router)
    app.add_exception_handler(EditGaugeError, _broken)
    return app


@router.get("/")
def show(request: Request, group: str | None = None, fault: str = "") -> HTMLResponse:
    """Show a group of candidates, by default the first open one; ask for the reviewer's name first."""
    review, reviewer = _desk(request).review, _reviewer(request)
    if reviewer is None:
        return _html(request, "name", title=_title(review))
    current = review.group(group) if group is not None else _next_open(review)
    if current is None:
        raise HTTPException(404, "There is no such group of candidates.")
    return _html(request, "review", **group_page(review, current, reviewer), title=_title(review), fault=fault)


@router.post("/name")
def set_name(fields: Form) -> Response:
    """Store the reviewer's name in a cookie."""
    name = " ".join(fields.get("name", [""])[-1].split())[:MAX_NAME_LENGTH]
    response = RedirectResponse("/", 303)
    if name:
        response.set_cookie(COOKIE, quote(name), COOKIE_SECONDS, httponly=True, samesite="strict")
    else:
        response.delete_cookie(COOKIE)
    return response


@router.post("/decide")
def decide(request: Request, fields: Form) -> Response:
    """Save a decision about a candidate; scripts get JSON, browsers without scripts the page."""
    desk, reviewer = _desk(request), _require_reviewer(request)
    form = {name: values[-1] for name, values in fields.items()}
    verdict = next((arg for arg in get_args(Verdict) if arg == form.get("verdict")), None)
    if verdict is None:
        raise HTTPException(422, "That is no verdict.")
    wants_json = "application/json" in request.headers.get("accept", "")
    try:
        changed = desk.decide(
            form.get("candidate", ""), reviewer, verdict, form.get("value", ""), form.get("anchor") or None
        )
    except KeyError as error:
        raise HTTPException(404, "There is no such candidate; load the page again.") from error
    except UnfitCandidateError as unfit:
        return JSONResponse({"fault": str(unfit)}, 422) if wants_json else _to_group(form.get("group", ""), str(unfit))
    if not wants_json:
        return _to_group(changed.group)
    return JSONResponse(_answer(desk.review, changed, reviewer, request.app.state.templates))


@router.post("/add")
def add(request: Request, fields: Form) -> Response:
    """Add a candidate of the reviewer."""

    def change(group: str, reviewer: str, form: dict[str, str]) -> None:
        proposal = read_proposal(form.get("what", ""), form.get("value", ""), form.get("anchor") or None)
        _desk(request).add(group, reviewer, proposal)

    return _change(request, fields, change)


@router.post("/color")
def color(request: Request, fields: Form) -> Response:
    """Correct the color of an object."""

    def change(group: str, reviewer: str, form: dict[str, str]) -> None:
        _desk(request).correct_color(group, reviewer, form.get("instance", ""), form.get("color", ""))

    return _change(request, fields, change)


@router.post("/crop")
def crop(request: Request, fields: Form) -> Response:
    """Crop the image of a group, or undo that."""
    return _change(request, fields, lambda group, _, form: _desk(request).crop(group, _square(form)))


@router.get("/picture/{index}")
def picture(request: Request, index: int, group: str) -> FileResponse:
    """Serve an image of a group."""
    try:
        path = _desk(request).picture(group, index)
        return FileResponse(path, media_type=IMAGE_TYPES[path.suffix.lower()])
    except KeyError as error:
        raise HTTPException(404, "There is no such picture.") from error


def _change(request: Request, fields: Fields, change: Callable[[str, str, dict[str, str]], None]) -> Response:
    """Return the page of a group after a change, or with the reason why it failed."""
    reviewer = _require_reviewer(request)
    form = {name: values[-1].strip() for name, values in fields.items()}
    group = form.get("group", "")
    try:
        change(group, reviewer, form)
    except KeyError as error:
        raise HTTPException(404, "There is no such group of candidates; load the page again.") from error
    except UnfitCandidateError as unfit:
        return _to_group(group, str(unfit))
    return _to_group(group)


def _to_group(group: str, fault: str = "") -> RedirectResponse:
    return RedirectResponse(f"/?group={quote(group)}" + (f"&fault={quote(fault)}" if fault else ""), 303)


def _desk(request: Request) -> Desk:
    desk: Desk = request.app.state.desk
    return desk


def _square(form: dict[str, str]) -> tuple[int, int, int] | None:
    """Parse left, top and side of a crop; None undoes it."""
    if form.get("undo"):
        return None
    try:
        return int(form["left"]), int(form["top"]), int(form["side"])
    except (KeyError, ValueError) as error:
        raise UnfitCandidateError("a crop needs left, top and side as whole numbers of pixels") from error


def _answer(review: Review, changed: ReviewCandidate, reviewer: str, fill: Environment) -> dict[str, Any]:
    """Return the response for the page script."""
    group = review.group(changed.group)
    words = group_page(review, group, reviewer) if group else {}
    row = next(row for row in words["rows"] if row["candidate"].id == changed.id)
    html = fill.get_template("candidate.html.j2").render(words, row=row)
    return {"html": html, "status": changed.status, "progress": words["whole"], "group": words["progress"]}


def _next_open(review: Review) -> Any:
    """Return the first group that is still open, or else the first."""
    waiting = {candidate.group for candidate in review.candidates if candidate.status == "proposed"}
    return next((group for group in review.groups if group.name in waiting), next(iter(review.groups), None))


def _reviewer(request: Request) -> str | None:
    return unquote(request.cookies.get(COOKIE, ""))[:MAX_NAME_LENGTH] or None


def _require_reviewer(request: Request) -> str:
    reviewer = _reviewer(request)
    if reviewer is None:
        raise HTTPException(401, "Tell your name first: load the page again.")
    return reviewer


def _title(review: Review) -> str:
    return {"unibench": "UniBench review", "editval": "EditVal review"}[review.kind]


def _templates() -> Environment:
    environment = open_templates("editgauge.builders.review")
    environment.globals.update(version=__version__)
    environment.filters["quoted"] = quote
    return environment


def _html(request: Request, template: str, **values: Any) -> HTMLResponse:
    return HTMLResponse(request.app.state.templates.get_template(f"{template}.html.j2").render(values))


def _broken(_: Request, error: Exception) -> JSONResponse:
    """Report a failed write to the reviewer."""
    response = JSONResponse({"fault": f"Not saved: {error}"}, 500)
    add_headers(response.headers)
    return response


def review(
    file: str | Path,
    *,
    images: str | Path | None = None,
    port: FreePort = 8010,
    browser: bool = True,
    quiet: bool = False,
) -> dict[str, dict[str, tuple[int, int]]]:
    """Accept, edit or drop proposals in the browser; at the end, print how often each reviewer accepted them.

    Every answer is saved at once. The page is served to this machine only; several people take turns under their names.
    Ctrl-C ends it.

    Example:
        $ editgauge build review unibench.json
        >>> editgauge.build.review("unibench.json")

    Args:
        file: what was built (`unibench.json`), or its review file.
        images: folder with the images, if it is not where the review file says.
        port: port to listen on; 0 takes any free one.
        browser: open the page in the browser.
        quiet: print no remarks.

    """
    desk = Desk(Path(file), Path(images) if images is not None else None)
    try:
        import uvicorn

        from editgauge._util.http import server_config
    except ImportError as error:
        raise EditGaugeError(f"Reviewing needs `pip install 'editgauge[study]'`; it lacks '{error.name}'.") from error
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((HOST, port))
        except OSError as error:
            raise BadInputError(
                f"Port {port} cannot be used: {error.strerror}. Pass another `port`, or 0 for any."
            ) from error
        address = f"http://{HOST}:{listening.getsockname()[1]}/"
        review = desk.review
        log_info(
            f"{address} shows {len(review.candidates)} candidates, {review.reviewed} of them reviewed; answers go to "
            f"'{desk.file}'. Ctrl-C ends it.",
            quiet=quiet,
        )
        if browser:
            threading.Timer(0.5, webbrowser.open, (address,)).start()
        server = uvicorn.Server(server_config(make_app(desk)))
        with suppress(KeyboardInterrupt):  # the usual way to end it
            server.run(sockets=[listening])
    return agreement(read_review(desk.file))
