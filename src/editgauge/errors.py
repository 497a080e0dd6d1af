"""Every error that a user can fix, as one tree.

EditGaugeError          base class; the command line prints the message without a traceback
├── UnknownNameError    a name that is not registered
├── BadInputError       a file, folder or parameter that cannot be used; lists every problem
├── BadImageError       an image that cannot be read (inside a run: unscored, `unreadable_image`)
├── BadRunError         a run folder that cannot be read or written
├── FetchError          weights or data that could not be fetched or verified
├── FatalError          a failure that every further item would meet too; the run stops
├── MissingExtraError   an optional dependency that is not installed
├── CannotEditError     raised by a method that can make no outcome; recorded as an absence
└── UnscorableError     raised inside a protocol that has no answer; recorded as `Unscored`

A message says what was given, what is valid, and what to do. It names Python parameters in backticks: write
"`share` must be between 0 and 1" or "pass `models='best'`", never "--share". The command line passes every message
through `with_flags`, which turns parameters of the called command into its flags ("--share", "--models best").
Other text in backticks, such as `pip install editgauge`, is left as it is.
"""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from editgauge.types import Reason

MAX_QUOTED_CHARACTERS = 300
"""Length at which messages of other programs are cut; some run to pages."""
_PARAMETER = re.compile(r"`(?P<name>[a-z_]+)(?:=(?P<value>[^`]*))?`")


def summarize_error(error: BaseException) -> str:
    r"""Return the start of an exception's message on one line, or its class name when the message is empty.

    >>> summarize_error(ValueError("no such\n  file")), summarize_error(KeyError())
    ('no such file', 'KeyError')
    """
    return " ".join(str(error).split())[:MAX_QUOTED_CHARACTERS] or type(error).__name__


def with_flags(message: str, flags: Mapping[str, str]) -> str:
    """Replace parameters in backticks by command-line flags.

    Args:
        message: text of an error that names Python parameters.
        flags: flag of each parameter of the called command.

    >>> flags = {"share": "--share", "models": "--models", "resume": "--resume"}
    >>> with_flags("`share` is 3; pass `models='best'` or `resume=False`, or run `pip list`.", flags)
    '--share is 3; pass --models best or --no-resume, or run `pip list`.'

    """

    def replace(match: re.Match[str]) -> str:
        flag, value = flags.get(match["name"]), match["value"]
        if flag is None:
            return match[0]
        if value == "False":
            return f"--no-{flag.removeprefix('--')}"
        return flag if value in {None, "True"} else f"{flag} {value.strip(chr(39) + chr(34))}"

    return _PARAMETER.sub(replace, message)


class EditGaugeError(Exception):
    """Base class of all errors that a user can fix."""


class UnknownNameError(EditGaugeError):
    """A name that is not registered."""

    def __init__(self, kind: str, name: str, valid_names: Iterable[str], listed_by: str = "") -> None:
        names = sorted(valid_names)
        close = difflib.get_close_matches(name, names, n=1)
        guess = f" Did you mean '{close[0]}'?" if close else ""
        listing = f"`{listed_by}` shows all {len(names)}." if listed_by else f"There are: {', '.join(names)}."
        super().__init__(f"There is no {kind} called '{name}'.{guess} {listing}")


class BadInputError(EditGaugeError):
    """A file, folder or parameter that cannot be used."""

    def __init__(self, message: str, problems: Sequence[str] = ()) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join([message, *(f"  - {problem}" for problem in problems)]))


class BadImageError(EditGaugeError):
    """An image that cannot be read."""


class BadRunError(EditGaugeError):
    """A run folder that cannot be read or written."""


class FetchError(EditGaugeError):
    """Weights or data that could not be fetched or verified."""


class FatalError(EditGaugeError):
    """A failure that every further item would meet too, such as a rejected API key; the run stops."""


class MissingExtraError(EditGaugeError):
    """An optional dependency that is not installed.

    Args:
        feature: what needs it, at the start of the message.
        libraries: names of the libraries.
        extra: extra of this package that installs them.

    >>> print(MissingExtraError("owlvit-base", ["torch", "transformers"], extra="torch"))
    owlvit-base needs torch and transformers. Install with: pip install 'editgauge[torch]'
    """

    def __init__(self, feature: str, libraries: Sequence[str], *, extra: str) -> None:
        *first, last = libraries
        names = f"{', '.join(first)} and {last}" if first else last
        super().__init__(f"{feature} needs {names}. Install with: pip install 'editgauge[{extra}]'")


class CannotEditError(EditGaugeError):
    """A method cannot make an outcome for this edit; the message is recorded as the absence."""


class UnscorableError(EditGaugeError):
    """Raised when no score can be given; recorded as `Unscored(reason, detail)`."""

    def __init__(self, reason: Reason, detail: str) -> None:
        self.reason: Reason = reason
        self.detail = detail
        super().__init__(f"{reason}: {detail}")


class BadStudyError(EditGaugeError):
    """A study folder or database that cannot be used."""


class BadAnswersError(EditGaugeError):
    """Answers that do not fit the questions."""

    def __init__(self, problems: Mapping[str, str]) -> None:
        self.problems = dict(problems)
        """Question id to what is wrong, in words that a page can show next to the question."""
        super().__init__("; ".join(f"{question}: {problem}" for question, problem in problems.items()))


class NotAllowedError(EditGaugeError):
    """A rater asks for something that is not theirs, or may not take part."""
