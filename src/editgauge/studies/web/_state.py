"""State shared by all pages of the web app: signatures, templates, forms and visitors."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import os
import secrets
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import parse_qs

from fastapi import Depends, HTTPException, Request, Response
from fastapi.responses import HTMLResponse

from editgauge import __version__
from editgauge._render.text import open_templates
from editgauge._util.files import write_bytes
from editgauge._util.images import image_size
from editgauge._util.text import format_count
from editgauge.errors import NotAllowedError
from editgauge.studies.design import Answer, QuestionFields, parse_form_value
from editgauge.studies.study import RaterInfo, Study
from editgauge.studies.web._guard import MAX_NUMBER_DIGITS, Buckets, address

KEY_FILE = "web.key"
KEY_BYTES = 32
SIGNED_OUT_FILE = "web.signed-out"


class Signer:
    """Sign and verify values with a key that survives restarts of the server."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    @classmethod
    def of(cls, folder: Path) -> Signer:
        """Load the study's signing key, created at the first start and readable only by its owner."""
        path = folder / KEY_FILE
        if not path.exists():
            _write_once(path, secrets.token_bytes(KEY_BYTES))
        return cls(path.read_bytes())

    def sign(self, purpose: str, *words: str) -> str:
        """Sign these words for one purpose.

        >>> Signer(b"key").sign("a", "b", "c") == Signer(b"key").sign("a", "bc")
        False
        """
        message = b"".join(len(word).to_bytes(8, "big") + word for word in (w.encode() for w in (purpose, *words)))
        return hmac.new(self._key, message, hashlib.sha256).hexdigest()[:40]

    def verify(self, signature: str, purpose: str, *words: str) -> bool:
        """Return whether the signature is ours for these words, in constant time."""
        return hmac.compare_digest(signature.encode(), self.sign(purpose, *words).encode())


class RevokedSessions:
    """Sessions that were signed out, stored in a file of the study until they expire."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / SIGNED_OUT_FILE
        self._lock = threading.Lock()

    def add(self, session: str, until: int) -> None:
        """End a session on all servers of the study."""
        with self._lock:
            lasting = {name: end for name, end in self._read().items() if end > time.time()}
            lines = "".join(f"{end} {name}\n" for name, end in {**lasting, session: until}.items())
            write_bytes(self._file, lines.encode(), mode=0o600)

    def contains(self, session: str) -> bool:
        """Return whether the session was signed out."""
        return session in self._read()

    def _read(self) -> dict[str, int]:
        try:
            rows = (line.split(" ", 1) for line in self._file.read_text("utf-8").splitlines())
            return {row[1]: int(row[0]) for row in rows if len(row) == 2}
        except FileNotFoundError:
            return {}


def _write_once(path: Path, key: bytes) -> None:
    """Create the key file atomically, so that two servers that start together agree on one key."""
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(key)
        try:
            path.hardlink_to(draft)
        except FileExistsError:
            return
    finally:
        draft.unlink(missing_ok=True)


class Renderer:
    """Renders the page templates with the values that all pages share."""

    def __init__(self, title: str) -> None:
        self._environment = open_templates("editgauge.studies.web")
        self._environment.filters.update(paragraphs=paragraphs, moment=moment, duration=duration)
        self._environment.globals.update(study_title=title, version=__version__, size_of=size_of)

    def page(self, template: str, code: int = 200, **words: Any) -> HTMLResponse:
        """Render a template as a response."""
        text = self._environment.get_template(f"{template}.html.j2").render(words)
        return HTMLResponse(text.encode("utf-8", "replace"), code)  # texts may hold lone surrogates


def paragraphs(text: str) -> list[str]:
    r"""Split a text at blank lines.

    >>> paragraphs("One\nand the same.\n\nTwo.")
    ['One and the same.', 'Two.']
    """
    return [" ".join(part.split()) for part in text.split("\n\n") if part.strip()]


def moment(seconds: float) -> str:
    """Format a timestamp in UTC.

    >>> moment(0)
    '1970-01-01 00:00 UTC'
    """
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")


def duration(seconds: float) -> str:
    """Format a duration.

    >>> duration(90), duration(7300), duration(200_000)
    ('2 minutes', '2 hours', '2 days')
    """
    for unit, size in (("day", 86_400), ("hour", 3_600)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}s"
    return format_count(max(1, round(seconds / 60)), "minute")


@lru_cache(maxsize=4096)
def size_of(path: Path) -> tuple[int, int]:
    """Return width and height of an image, so that a page does not shift while it loads."""
    return image_size(path)


RATER_COOKIE, OWNER_COOKIE = "editgauge_rater", "editgauge_owner"
RATER_DAYS = 90
OWNER_SECONDS = 8 * 3600
LOCAL_NAMES = ("127.0.0.1", "localhost", "[::1]")
FORWARDED = ("x-forwarded-for", "forwarded", "x-real-ip", "via")
"""Headers that reveal a proxy."""
NO_LINK = "Please open the study with your personal link."
CSRF = "form-token"
"""Form field of the CSRF token; the hyphen keeps it apart from question ids."""
ATTEMPT = "attempt-number"
"""Form field that numbers the attempts at the qualification."""
FORM = "application/x-www-form-urlencoded"
MAX_FORM_FIELDS = 500
Fields = dict[str, list[str]]


@dataclass(frozen=True, slots=True)
class State:
    """State that all pages of an application share."""

    study: Study
    signer: Signer
    revoked: RevokedSessions
    pages: Renderer
    password: str | None
    """Password of the owner's pages; None shows them to this machine alone."""
    raters: Buckets
    guesses: Buckets
    quiz_lock: threading.Lock = field(default_factory=threading.Lock)
    """Serializes counting and grading, so that a test sent twice counts once."""


def state_of(request: Request) -> State:
    """Return the state of the application that received a request."""
    state: State = request.app.state.shared
    return state


# --- forms ---


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
    return state.signer.sign("form", secret)


def check_form_token(state: State, fields: Fields, secret: str) -> None:
    """Raise 403 unless the form came from a page made for this visitor."""
    if not secret or not state.signer.verify(fields.get(CSRF, [""])[-1], "form", secret):
        raise HTTPException(403, "This form is out of date. Go back, load the page again, and send it once more.")


# --- raters ---


@dataclass(frozen=True, slots=True)
class Visitor:
    """The rater of a request, identified by a personal link."""

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
    check_form_token(state_of(request), fields, who.token)
    return fields


# --- the owner ---


def is_owner(request: Request) -> bool:
    """Return whether the owner's pages may be shown: after login, or without a password to this machine."""
    state = state_of(request)
    if state.password is None:
        return _is_local(request)
    nonce, _, signature = request.cookies.get(OWNER_COOKIE, "").partition(".")
    until, _, seal = signature.partition(".")
    return (
        until.isdecimal()
        and len(until) <= MAX_NUMBER_DIGITS
        and int(until) > time.time()
        and state.signer.verify(seal, "owner", nonce, until, state.password)
        and not state.revoked.contains(nonce)
    )


def sign_out(request: Request) -> None:
    """Invalidate the owner's cookie everywhere, including copies."""
    if is_owner(request):
        nonce, _, signature = request.cookies.get(OWNER_COOKIE, "").partition(".")
        state_of(request).revoked.add(nonce, int(signature.partition(".")[0]))


def _is_local(request: Request) -> bool:
    """Return whether a request is local, by address and host name; DNS may lie and proxies hide clients."""
    try:
        is_loopback = ipaddress.ip_address(address(request.scope)).is_loopback
    except ValueError:
        return False
    if any(name in request.headers for name in FORWARDED):
        return False
    host = request.headers.get("host", "")
    return is_loopback and (host if host.endswith("]") else host.rpartition(":")[0] or host) in LOCAL_NAMES


def new_nonce() -> str:
    """Return a random nonce that ties a login form to its visitor."""
    return secrets.token_urlsafe(24)


def owner_cookie(state: State, now: float) -> str:
    """Return the owner's cookie, invalid after a working day or with another password."""
    nonce, until = new_nonce(), str(int(now) + OWNER_SECONDS)
    return f"{nonce}.{until}.{state.signer.sign('owner', nonce, until, state.password or '')}"


def is_password(state: State, password: str) -> bool:
    """Return whether it is the owner's password, in constant time."""
    return state.password is not None and hmac.compare_digest(password.encode(), state.password.encode())


CurrentVisitor = Annotated[Visitor, Depends(visitor)]
RaterForm = Annotated[Fields, Depends(rater_form)]
