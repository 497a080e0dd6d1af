"""Why a judge gave no answer: a closed list, each word counted on its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Literal, get_args

from editgauge._util.endpoints import EndpointAddress, TooLong, without_secrets
from editgauge.errors import MAX_QUOTED_CHARACTERS, BadInputError, UnscorableError
from editgauge.types import Reason

Fault = Literal[
    "refused",  # the model said that it will not answer
    "filtered",  # a content filter of the endpoint stepped in
    "truncated",  # the answer ran into the limit of tokens
    "unparsable",  # the answer is not of the asked form
    "wrong_model",  # another model answered than the one that was asked
    "rejected",  # the endpoint turned the request down, and asking again would not help
    "unreachable",  # no answer after all attempts
    "budget",  # the answer could have cost more than is left
    "not_recorded",  # replaying, and the transcripts hold no such call
]
FAULTS: tuple[Fault, ...] = get_args(Fault)

REASON_OF: Mapping[Fault, Reason] = {
    "refused": "refused",
    "filtered": "refused",
    "truncated": "unparsable",
    "unparsable": "unparsable",
    "wrong_model": "unreachable",
    "rejected": "unreachable",
    "unreachable": "unreachable",
    "budget": "budget",
    "not_recorded": "unreachable",
}
"""The nearest word of the closed list that scores use; the detail keeps the exact one."""

MAY_PASS: frozenset[Fault] = frozenset({"wrong_model", "rejected", "unreachable", "budget", "not_recorded"})
"""Faults that say nothing about the question: in another run, with another key or server, it is asked again."""


class NoAnswer(UnscorableError):
    """A judge has no answer to give; the runner turns it into `Unscored`."""

    def __init__(self, fault: Fault, detail: str) -> None:
        self.fault: Fault = fault
        self.message = detail
        reason = REASON_OF[fault]
        super().__init__(reason, detail if reason == fault else f"{fault}: {detail}")


class Trouble(Exception):
    """One attempt that brought nothing.

    Args:
        message: what happened, in a sentence
        fault: what it is when nothing better comes
        again: could another attempt help?
        wait: the seconds that the endpoint wants to be left alone
        too_fast: did the endpoint complain about the rate?
        maybe_paid: may the endpoint charge for it all the same?
    """

    def __init__(
        self,
        message: str,
        *,
        fault: Fault = "unreachable",
        again: bool = True,
        wait: float | None = None,
        too_fast: bool = False,
        maybe_paid: bool = False,
    ) -> None:
        self.message = message
        self.fault: Fault = fault
        self.again = again
        self.wait = wait
        self.too_fast = too_fast
        self.maybe_paid = maybe_paid
        super().__init__(message)


@contextmanager
def as_trouble(endpoint: EndpointAddress, timeout: float, address: str | None = None) -> Iterator[None]:
    """Turns what breaks a request over HTTP into `Trouble`, or into `BadInputError` where no attempt can help.

    Args:
        endpoint: what is asked, and whose secrets no message may hold
        timeout: the seconds that the request may take
        address: where the request goes; the endpoint's own when left out
    """
    import httpx

    try:
        yield
    except TooLong as error:
        raise Trouble(str(error), maybe_paid=True) from error
    except (httpx.ConnectError, httpx.PoolTimeout) as error:
        raise Trouble(f"{endpoint.place} cannot be reached: {endpoint.hidden(str(error))}") from error
    except (TimeoutError, httpx.TimeoutException) as error:
        raise Trouble(f"no answer within {timeout:g} seconds", maybe_paid=True) from error
    except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
        shown = endpoint.hidden(without_secrets(address or endpoint.place))[:MAX_QUOTED_CHARACTERS]
        raise BadInputError(f"'{shown}' is not an address: {error}.") from error
    except httpx.HTTPError as error:
        message = endpoint.hidden(str(error)) or type(error).__name__
        raise Trouble(f"the connection broke: {message}", maybe_paid=True) from error
