"""What a page knows of a request: the study, who asks, and what the form says.

A rater is known by the cookie that a personal link gave, the owner by password or by sitting at this machine.
"""

from __future__ import annotations

import hmac
import ipaddress
import secrets
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Annotated
from urllib.parse import parse_qs

from fastapi import Depends, HTTPException, Request, Response

from editgauge.studies.design import Answer, QuestionFields, parse_form_value
from editgauge.studies.errors import NotAllowedError
from editgauge.studies.study import RaterInfo, Study
from editgauge.studies.web.guard import MAX_NUMBER_DIGITS, Buckets, address
from editgauge.studies.web.rendering import Renderer
from editgauge.studies.web.seals import RevokedSessions, Signer

RATER_COOKIE, OWNER_COOKIE = "editgauge_rater", "editgauge_owner"
RATER_DAYS = 90
OWNER_SECONDS = 8 * 3600
LOCAL_NAMES = ("127.0.0.1", "localhost", "[::1]")
FORWARDED = ("x-forwarded-for", "forwarded", "x-real-ip", "via")
"""Headers by which a proxy says that the request is someone else's."""
NO_LINK = "Please open the study with your personal link."
CSRF = "form-token"
"""The field that proves that a form is ours. No question can have such a name."""
ATTEMPT = "attempt-number"
"""The field that tells one attempt at the qualification from the next."""
FORM = "application/x-www-form-urlencoded"
MAX_FORM_FIELDS = 500
Fields = dict[str, list[str]]


@dataclass(frozen=True, slots=True)
class State:
    """What all pages of an application share."""

    study: Study
    seals: Signer
    signed_out: RevokedSessions
    pages: Renderer
    password: str | None
    """The owner's; None shows the owner's pages to this machine alone."""
    raters: Buckets
    guesses: Buckets
    quiz_turn: threading.Lock = field(default_factory=threading.Lock)
    """A test sent twice counts once, so its attempts are counted and taken in one turn."""


def state_of(request: Request) -> State:
    """Return the state of the application that received a request."""
    state: State = request.app.state.shared
    return state


# --- forms ------------------------------------------------------------------------------------------------------------


async def read_form(request: Request) -> Fields:
    """Read the fields of a form; files are rejected."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != FORM:
        raise HTTPException(415, "Forms only, please.")
    try:
        text = (await request.body()).decode("ascii")
        fields = parse_qs(text, keep_blank_values=True, max_num_fields=MAX_FORM_FIELDS, errors="strict")
    except ValueError as error:
        raise HTTPException(400, "This form cannot be read.") from error
    if any("\0" in word for name, words in fields.items() for word in (name, *words)):
        raise HTTPException(400, "This form cannot be read.")  # PostgreSQL stores no such text
    return fields


def read_answers(fields: Fields, questions: Iterable[QuestionFields]) -> dict[str, Answer]:
    """Parse the answers of a form; unknown fields are passed on for the study to reject."""
    questions_by_id = {question.id: question for question in questions}
    answers: dict[str, Answer] = {}
    for name, words in fields.items():
        if name in (CSRF, ATTEMPT):
            continue
        answer = parse_form_value(questions_by_id[name], words) if name in questions_by_id else words[-1]
        if answer is not None:
            answers[name] = answer
    return answers


def form_token(state: State, secret: str) -> str:
    """Return the CSRF token, known only to pages made for this visitor."""
    return state.seals.seal("form", secret)


def expect_own(state: State, fields: Fields, secret: str) -> None:
    """Refuses a form unless a page made for this visitor sent it."""
    if not secret or not state.seals.holds(fields.get(CSRF, [""])[-1], "form", secret):
        raise HTTPException(403, "This form is out of date. Go back, load the page again, and send it once more.")


# --- raters -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Visitor:
    """A rater who has come by a personal link."""

    rater: RaterInfo
    token: str


def set_cookie(request: Request, response: Response, name: str, value: str, seconds: int) -> None:
    """Set a cookie that scripts cannot read and other sites cannot use."""
    is_secure = request.url.scheme == "https"
    response.set_cookie(name, value, seconds, path="/", secure=is_secure, httponly=True, samesite="strict")


def visitor(request: Request) -> Visitor:
    """Return the rater of the request; raise 401 if unknown, 429 after too many requests."""
    state, token = state_of(request), request.cookies.get(RATER_COOKIE, "")
    if not token:
        raise HTTPException(401, NO_LINK)
    rater = rater_of_token(request, state, token)
    wait = state.raters.wait(str(rater.id))
    if wait:
        raise HTTPException(
            429, "Too many requests at once; please wait a moment.", {"Retry-After": str(int(wait) + 1)}
        )
    return Visitor(rater, token)


def rater_of_token(request: Request, state: State, token: str) -> RaterInfo:
    """Return the rater who holds a token; guessing is slowed without locking out raters at the same address."""
    try:
        return state.study.rater(token)
    except NotAllowedError as error:
        if state.guesses.wait(f"link {address(request.scope)}"):
            raise HTTPException(429, "Too many wrong links; please wait a minute.", {"Retry-After": "60"}) from error
        raise HTTPException(401, str(error)) from error


def rater_form(
    request: Request, who: Annotated[Visitor, Depends(visitor)], fields: Annotated[Fields, Depends(read_form)]
) -> Fields:
    """Return the form that a rater sent; raise 403 unless it came from a page made for this rater."""
    expect_own(state_of(request), fields, who.token)
    return fields


# --- the owner --------------------------------------------------------------------------------------------------------


def is_owner(request: Request) -> bool:
    """Whether the owner's pages may be shown: after the password, or without one to this machine alone."""
    state = state_of(request)
    if state.password is None:
        return _is_local(request)
    nonce, _, signature = request.cookies.get(OWNER_COOKIE, "").partition(".")
    until, _, seal = signature.partition(".")
    return (
        until.isdecimal()
        and len(until) <= MAX_NUMBER_DIGITS
        and int(until) > time.time()
        and state.seals.holds(seal, "owner", nonce, until, state.password)
        and not state.signed_out.holds(nonce)
    )


def sign_out(request: Request) -> None:
    """Invalidate the owner's cookie everywhere, including copies."""
    if is_owner(request):
        nonce, _, signature = request.cookies.get(OWNER_COOKIE, "").partition(".")
        state_of(request).signed_out.add(nonce, int(signature.partition(".")[0]))


def _is_local(request: Request) -> bool:
    """Return whether a request is local, by address and host name; DNS may lie and proxies hide clients."""
    try:
        is_here = ipaddress.ip_address(address(request.scope)).is_loopback
    except ValueError:
        return False
    if any(name in request.headers for name in FORWARDED):
        return False
    host = request.headers.get("host", "")
    return is_here and (host if host.endswith("]") else host.rpartition(":")[0] or host) in LOCAL_NAMES


def new_nonce() -> str:
    """Return a random nonce that ties a login form to its visitor."""
    return secrets.token_urlsafe(24)


def owner_cookie(state: State, now: float) -> str:
    """Return the owner's cookie, invalid after a working day or with another password."""
    nonce, until = new_nonce(), str(int(now) + OWNER_SECONDS)
    return f"{nonce}.{until}.{state.seals.seal('owner', nonce, until, state.password or '')}"


def is_password(state: State, password: str) -> bool:
    """Whether it is the owner's password; takes the same time whatever the answer."""
    return state.password is not None and hmac.compare_digest(password.encode(), state.password.encode())


Who = Annotated[Visitor, Depends(visitor)]
OwnForm = Annotated[Fields, Depends(rater_form)]
