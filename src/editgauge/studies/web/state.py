"""What all pages of an application share."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from fastapi import Request

from editgauge.studies.study import Study
from editgauge.studies.web.buckets import Buckets
from editgauge.studies.web.rendering import Renderer
from editgauge.studies.web.seals import Seals, SignedOut


@dataclass(frozen=True, slots=True)
class State:
    """What all pages of an application share."""

    study: Study
    seals: Seals
    signed_out: SignedOut
    pages: Renderer
    password: str | None
    """The owner's; None shows the owner's pages to this machine alone."""
    raters: Buckets
    guesses: Buckets
    quiz_turn: threading.Lock = field(default_factory=threading.Lock)
    """A test sent twice counts once, so its attempts are counted and taken in one turn."""


def state_of(request: Request) -> State:
    """The state of the application that a request came to."""
    state: State = request.app.state.shared
    return state
