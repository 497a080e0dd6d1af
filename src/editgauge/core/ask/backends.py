"""What can be asked: something that answers whole batches in a thread, or something that is itself awaited."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable


class Request(NamedTuple):
    """One thing that is asked, under the name by which its answer is known."""

    key: Hashable
    payload: Any


@runtime_checkable
class Backend(Protocol):
    """Answers batches. It is asked by one thread at a time, which is never the thread of the event loop."""

    @property
    def batch(self) -> int:
        """How many requests it likes at once."""
        ...

    def answer(self, group: Hashable, requests: Sequence[Request]) -> Sequence[Any]:
        """One answer per request, in their order; all requests were asked under the same group."""
        ...


@runtime_checkable
class AsyncBackend(Protocol):
    """Answers one request at a time to each of a few who wait, as a service over HTTP does."""

    @property
    def at_once(self) -> int:
        """How many requests may be under way together."""
        ...

    async def reply(self, request: Request) -> Any:
        """The answer."""
        ...
