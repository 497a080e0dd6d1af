"""One family of errors, drawn as a tree.

EditGaugeError            anything a user can fix; printed as one message without a traceback
├── UnknownNameError           a name that no registry knows
├── BadInputError              a file, folder or option that cannot be used; lists every problem found
├── BadImageError              an image that cannot be read (inside a run it becomes unscored: unreadable_image)
├── BadRunError                a run folder that cannot be read or written
├── FetchError           weights or data that could not be fetched or verified
├── FatalError              what every further item would meet too; the work stops
├── CannotEditError            raised by a method that can make no outcome; recorded as an absence
└── UnscorableError            raised inside a rule when there is no honest answer; the runner turns it into `Unscored`

Every message says what was given, what exists, and what to do.
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from editgauge.types import Reason

SHOWN_OF_AN_ERROR = 300
"""Characters of another program's message that help; theirs can run to pages."""


def in_short(error: BaseException) -> str:
    """How the message of another library's error begins, on one line; the error's kind when it says nothing.

    >>> in_short(ValueError("no such\\n  file")), in_short(KeyError())
    ('no such file', 'KeyError')
    """
    return " ".join(str(error).split())[:SHOWN_OF_AN_ERROR] or type(error).__name__


class EditGaugeError(Exception):
    """Something the user can fix."""


class UnknownNameError(EditGaugeError):
    """A name that is not registered."""

    def __init__(self, kind: str, name: str, known: Iterable[str], shown_by: str = "") -> None:
        names = sorted(known)
        close = difflib.get_close_matches(name, names, n=1)
        guess = f" Did you mean '{close[0]}'?" if close else ""
        there = f"`{shown_by}` shows all {len(names)}." if shown_by else f"There are: {', '.join(names)}."
        super().__init__(f"There is no {kind} called '{name}'.{guess} {there}")


class BadInputError(EditGaugeError):
    """A file, folder or option that cannot be used."""

    def __init__(self, what: str, problems: Sequence[str] = ()) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join([what, *(f"  - {problem}" for problem in problems)]))


class BadImageError(EditGaugeError):
    """An image that cannot be read."""


class BadRunError(EditGaugeError):
    """A run folder that cannot be read or written."""


class FetchError(EditGaugeError):
    """Weights or data that could not be fetched or verified."""


class FatalError(EditGaugeError):
    """What every further item would meet too, and a user can fix: the work stops and says so."""


class CannotEditError(EditGaugeError):
    """A method can make no outcome for this edit; the message is recorded as the absence."""


class UnscorableError(EditGaugeError):
    """Raised when no score can be given; recorded as `Unscored(reason, detail)`."""

    def __init__(self, reason: Reason, detail: str) -> None:
        self.reason: Reason = reason
        self.detail = detail
        super().__init__(f"{reason}: {detail}")
