"""Faults of judges: a closed list of reasons for a missing answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Literal, get_args

from editgauge._util.endpoints import EndpointAddress, InvalidResponseError, without_secrets
from editgauge.errors import MAX_QUOTED_CHARACTERS, BadInputError, UnscorableError
from editgauge.types import Reason

Fault = Literal[
    "refused",  # the model refused to answer
    "filtered",  # a content filter of the endpoint blocked the answer
    "truncated",  # the answer reached the token limit
    "unparsable",  # the answer does not match the requested form
    "wrong_model",  # the endpoint answered with another model
    "rejected",  # the endpoint rejected the request; retrying is useless
    "unreachable",  # no answer after all attempts
    "budget",  # the answer might exceed the remaining budget
    "not_recorded",  # the transcripts to replay lack this call
]
FAULTS: tuple[Fault, ...] = get_args(Fault)

REASON_BY_FAULT: Mapping[Fault, Reason] = {
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
"""Fault → reason of an unscored score; the detail keeps the fault."""

TRANSIENT_FAULTS: frozenset[Fault] = frozenset({"wrong_model", "rejected", "unreachable", "budget", "not_recorded"})
"""Faults that do not depend on the question; later runs ask again."""


class NoAnswerError(UnscorableError):
    """Raised when a judge gives no usable answer; the engine records it as `Unscored`."""

    def __init__(self, fault: Fault, detail: str) -> None:
        self.fault: Fault = fault
        self.message = detail
        reason = REASON_BY_FAULT[fault]
        super().__init__(reason, detail if reason == fault else f"{fault}: {detail}")


class RequestError(Exception):
    """Raised when one request to a model fails.

    Args:
        message: description of the failure.
        fault: fault to record if all attempts fail.
        again: whether a retry may help.
        wait: seconds to wait, as requested by the endpoint.
        too_fast: whether the endpoint limits the rate.
        maybe_paid: whether the endpoint may charge for the attempt.

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
def translate_http_errors(endpoint: EndpointAddress, timeout: float, address: str | None = None) -> Iterator[None]:
    """Translate HTTP errors to `RequestError`, or to `BadInputError` if retrying is useless.

    Args:
        endpoint: endpoint whose secrets are removed from messages.
        timeout: time limit of the request in seconds.
        address: URL of the request, by default that of the endpoint.

    """
    import httpx

    try:
        yield
    except InvalidResponseError as error:
        raise RequestError(str(error), maybe_paid=True) from error
    except (httpx.ConnectError, httpx.PoolTimeout) as error:
        raise RequestError(f"{endpoint.public_url} cannot be reached: {endpoint.redact(str(error))}") from error
    except (TimeoutError, httpx.TimeoutException) as error:
        raise RequestError(f"no answer within {timeout:g} seconds", maybe_paid=True) from error
    except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
        url = endpoint.redact(without_secrets(address or endpoint.public_url))[:MAX_QUOTED_CHARACTERS]
        raise BadInputError(f"'{url}' is not a valid URL: {error}.") from error
    except httpx.HTTPError as error:
        message = endpoint.redact(str(error)) or type(error).__name__
        raise RequestError(f"the connection broke: {message}", maybe_paid=True) from error
