"""Send a question with retries, backoff, adaptive concurrency and a budget."""

from __future__ import annotations

import asyncio
import random
import time
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from editgauge.judges._cost import Ledger, estimate_prompt_tokens
from editgauge.judges._endpoint import ChatCompletion, parse_reply
from editgauge.judges._faults import Fault, NoAnswerError, RequestError
from editgauge.judges._interfaces import Client
from editgauge.judges._questions import Parameters, Question


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """Number of attempts, timeout and exponential backoff with jitter.

    Args:
        attempts: maximum number of attempts per question.
        timeout: time limit of one attempt in seconds.
        first_wait: maximum wait before the second attempt in seconds; it doubles with every attempt.
        longest_wait: upper limit of all waits; an endpoint that asks for more is given up.
        seed: seed of the jitter.

    """

    attempts: int = 6
    timeout: float = 120.0
    first_wait: float = 1.0
    longest_wait: float = 120.0
    seed: int = 0

    def backoff(self, failures: int, question: str) -> float:
        """Return the wait in seconds after a number of failures; the jitter depends on the question."""
        longest = min(self.longest_wait, self.first_wait * 2.0 ** (failures - 1))
        return random.Random(f"{self.seed} {failures} {question}").uniform(0.1 * longest, longest)  # noqa: S311 - no secret


class RateLimiter:
    """Limits concurrent requests by additive increase and multiplicative decrease.

    Each answer raises the limit a little, by one per full round; a rate-limit error halves it. Errors of requests that
    were sent before the last halving count once.

    Args:
        at_once: upper limit of concurrent requests.

    """

    def __init__(self, at_once: int) -> None:
        self._max = float(max(1, at_once))
        self.limit = self._max
        """Current limit of concurrent requests."""
        self.halved = 0
        """Number of halvings."""
        self._in_flight = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._not_before = 0.0

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[int]:
        """Wait for a free slot; yield a number to pass to `on_rate_limit`."""
        while self._in_flight >= int(self.limit):
            slot = asyncio.get_running_loop().create_future()
            self._waiting.append(slot)
            try:
                await slot
            except asyncio.CancelledError:
                self._wake()  # pass a slot that was already granted on to the next waiter
                raise
        self._in_flight += 1
        try:
            while (left := self._not_before - asyncio.get_running_loop().time()) > 0:
                await asyncio.sleep(left)
            yield self.halved
        finally:
            self._in_flight -= 1
            self._wake()

    def on_success(self) -> None:
        """Raise the limit after an answer."""
        self.limit = min(self._max, self.limit + 1 / self.limit)

    def on_rate_limit(self, turn: int, wait: float | None) -> None:
        """Halve the limit after a rate-limit error, and pause for the requested time."""
        if turn == self.halved:
            self.limit = max(1.0, self.limit / 2)
            self.halved += 1
        if wait is not None:
            self._not_before = max(self._not_before, asyncio.get_running_loop().time() + wait)

    def _wake(self) -> None:
        free = int(self.limit) - self._in_flight
        while free > 0 and self._waiting:
            slot = self._waiting.popleft()
            if not slot.done():
                slot.set_result(None)
                free -= 1


@dataclass(slots=True)
class AttemptLog:
    """Outcome of all attempts at one question: a chat completion or a fault."""

    failed: list[str] = field(default_factory=list)
    """Messages of failed attempts."""
    body: ChatCompletion | None = None
    fault: Fault | None = None
    detail: str = ""
    cost: float = 0.0
    latency: float = 0.0
    """Duration of the last attempt in seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryingClient:
    """Sends questions through a client with retries, a rate limit and a budget.

    Args:
        client: client for single attempts.
        parameters: sampling parameters.
        retries: retry policy.
        limiter: limit of concurrent requests.
        ledger: budget.
        tokens_per_image: tokens of an image, for estimates.

    """

    client: Client
    parameters: Parameters
    retries: RetryPolicy
    limiter: RateLimiter
    ledger: Ledger
    tokens_per_image: int | None = None

    def prompt_tokens(self, question: Question[Any]) -> int:
        """Estimate the number of prompt tokens of a question."""
        return estimate_prompt_tokens(question, self.parameters, self.tokens_per_image)

    async def ask(self, question: Question[Any], name: str) -> AttemptLog:
        """Attempt a question until it is answered or given up; failures are returned, not raised.

        Args:
            question: question to send.
            name: id of the question, which determines its backoff.

        """
        log = AttemptLog()
        while log.body is None and log.fault is None:
            try:
                log.body = await self._attempt(question, log)
            except NoAnswerError as error:
                log.fault, log.detail = error.fault, error.message
            except RequestError as error:
                log.failed.append(error.message)
                count, wait = len(log.failed), error.wait or 0.0
                if error.again and count < self.retries.attempts and wait <= self.retries.longest_wait:
                    await asyncio.sleep(wait + self.retries.backoff(count, name))
                    continue
                log.fault = error.fault
                log.detail = f"{count} attempts, the last: {error.message}" if count > 1 else error.message
        return log

    async def _attempt(self, question: Question[Any], log: AttemptLog) -> ChatCompletion:
        tokens, has_images = self.prompt_tokens(question), bool(question.images)
        async with self.limiter.turn() as turn:
            reserved = await self.ledger.reserve(tokens, self.parameters.max_tokens, has_images=has_images)
            cost, start = reserved, time.monotonic()  # an aborted attempt may be charged
            try:
                body = await self.client.send(question, self.parameters, self.retries.timeout)
                reply = parse_reply(body)
                if reply.prompt_tokens is not None and reply.completion_tokens is not None:
                    cost = self.ledger.price.cost(reply.prompt_tokens, reply.completion_tokens)
                self.ledger.measure(tokens, reply.prompt_tokens, has_images=has_images)
                self.limiter.on_success()
                return body
            except RequestError as error:
                cost = reserved if error.maybe_paid else 0.0
                if error.too_fast:
                    self.limiter.on_rate_limit(turn, min(error.wait or 0.0, self.retries.longest_wait))
                raise
            finally:
                log.cost += cost
                log.latency = round(time.monotonic() - start, 4)
                await self.ledger.settle(reserved, cost, has_images=has_images)
