"""A model as a judge: recorded answers are reused, new ones are requested with retries and within a budget.

Requests go through the batching layer, which sends a question once if several items ask it at the same time.
"""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, Self, TypeVar

from editgauge._util.batching import Ask, Request
from editgauge.errors import FatalError
from editgauge.judges._cost import BYTES_PER_TOKEN, CallBound, CallEstimate, Ledger, Price, max_prompt_tokens
from editgauge.judges._endpoint import Reply, find_fault, parse_reply
from editgauge.judges._faults import Fault, NoAnswerError
from editgauge.judges._interfaces import Answer, Client, JudgeCard
from editgauge.judges._parsing import UnparsableReplyError, is_refusal
from editgauge.judges._questions import Parameters, Question, describe_question, question_id
from editgauge.judges._retry import RateLimiter, RetryingClient, RetryPolicy
from editgauge.judges._transcripts import Call, Transcripts

Value = TypeVar("Value")

FATAL_FAULTS: frozenset[Fault] = frozenset({"rejected", "unreachable"})
MAX_SCHEMA_BYTES = 6_000
MAX_CONSECUTIVE_FAILURES = 8
"""After this many failures without a single answer the judge is considered unreachable."""
REPAIR_PROMPT_TOKENS = 200


class ModelJudge:
    """A model as a judge.

    Args:
        client: client of the model.
        transcripts: record of calls, in memory only by default.
        parameters: sampling parameters.
        retries: retry policy.
        price: price of a million tokens.
        budget: maximum total cost of all recorded calls.
        tokens_per_image: tokens of an image, for estimates.
        also_called: further names that the endpoint may report for the model.
        replay: answer from the transcripts only.
        repair: request an unparsable answer once more in the requested form, without images.
        ask: shared batching layer; a private one by default.

    """

    def __init__(
        self,
        client: Client,
        *,
        transcripts: Transcripts | None = None,
        parameters: Parameters | None = None,
        retries: RetryPolicy | None = None,
        price: Price | None = None,
        budget: float | None = None,
        tokens_per_image: int | None = None,
        also_called: tuple[str, ...] = (),
        replay: bool = False,
        repair: bool = True,
        ask: Ask | None = None,
    ) -> None:
        self.transcripts = Transcripts() if transcripts is None else transcripts
        self.parameters = parameters or Parameters()
        self.at_once = client.at_once
        self.limiter = RateLimiter(client.at_once)
        self.ledger = Ledger(price, budget, self.transcripts.spent)
        self._client = RetryingClient(
            client=client,
            parameters=self.parameters,
            retries=retries or RetryPolicy(),
            limiter=self.limiter,
            ledger=self.ledger,
            tokens_per_image=tokens_per_image,
        )
        self._failures = 0
        self._answered = False
        self._also_called = also_called
        self._replay = replay
        self._repair = repair
        self._ask = ask or Ask()
        self._owns_ask = ask is None
        for call in self.transcripts:
            if call.prompt_tokens is not None and call.question["model"] == self.name:
                has_images = bool(call.question["images"])
                self.ledger.measure(call.estimated_tokens, call.prompt_tokens, has_images=has_images)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._owns_ask:
            self._ask.close()
        await self._client.client.close()
        self.transcripts.close()

    @property
    def name(self) -> str:
        """Name of the model."""
        return self._client.client.model

    @property
    def card(self) -> JudgeCard:
        """Description of the judge."""
        return JudgeCard(self.name, self._client.client.location, self.parameters)

    async def ask(self, question: Question[Value]) -> Answer[Value]:
        """Return the recorded answer, or request one.

        An unparsable answer is repaired by one further call, which sees the answer but not the images.
        """
        call = await self._call(question)
        try:
            return self._answer(question, call)
        except NoAnswerError as error:
            repaired = await self._repair_answer(question, call) if error.fault == "unparsable" else None
            if repaired is None:
                raise
            return repaired

    async def _repair_answer(self, question: Question[Value], call: Call) -> Answer[Value] | None:
        """Return the repaired answer, or None if the repair fails."""
        text = parse_reply(call.body).text if call.body is not None else ""
        repair = question.repair(text, call.identity) if self._repair and text.strip() else None
        if repair is None:
            return None
        try:
            return self._answer(repair, await self._call(repair))
        except NoAnswerError:
            return None

    async def _call(self, question: Question[Any]) -> Call:
        description = await asyncio.to_thread(describe_question, self.name, question, self.parameters)
        key = question_id(description)
        call = self.transcripts.recall(key) if self._replay else self._recorded(key)
        if call is None and self._replay:
            raise NoAnswerError("not_recorded", f"'{self.name}' has no recorded answer to this question")
        if call is None:
            call = await self._ask(self, key, (question, description))
            self._check_reachable(call)
        return call

    def estimate(self, questions: Iterable[Question[Any]]) -> CallEstimate:
        """Estimate calls, tokens and cost of questions without sending them."""
        distinct = {
            question_id(describe_question(self.name, question, self.parameters)): question for question in questions
        }
        new = [question for key, question in distinct.items() if self._recorded(key) is None]
        tokens = (self.ledger.scale(self._client.prompt_tokens(item), has_images=bool(item.images)) for item in new)
        repairs = [question for question in new if question.form.schema is not None] if self._repair else []
        schemas = (len(json.dumps(question.form.schema)) for question in repairs)
        repair_tokens = sum(_repair_tokens(schema, self.parameters.max_tokens) for schema in schemas)
        prompts = math.ceil(sum(tokens) + self.ledger.scale(repair_tokens, has_images=False))
        completions = (len(new) + len(repairs)) * self.parameters.max_tokens
        cost = self.ledger.price.cost(prompts, completions)
        return CallEstimate(len(distinct), len(distinct) - len(new), prompts, completions, cost, len(repairs))

    def bound(self, questions: int, *, text_bytes: int, images: int) -> CallBound:
        """Bound calls, tokens and cost of a number of questions, each with a repair.

        Args:
            questions: maximum number of questions.
            text_bytes: length of the longest question.
            images: maximum number of images per question.

        """
        prompt = max_prompt_tokens(text_bytes, images, self.parameters, self._client.tokens_per_image)
        repairs = questions if self._repair else 0
        repair = _repair_tokens(MAX_SCHEMA_BYTES, self.parameters.max_tokens)
        prompts = self.ledger.scale(prompt, has_images=bool(images)) * questions
        prompts += self.ledger.scale(repair, has_images=False) * repairs
        tokens, completions = math.ceil(prompts), (questions + repairs) * self.parameters.max_tokens
        price = self.ledger.price
        cost = price.cost(tokens, completions) if price.prompt or price.completion else None
        return CallBound(self.name, questions, questions + repairs, tokens, completions, cost)

    async def reply(self, request: Request) -> Call:
        """Handle a request of the batching layer: send, record and return the call."""
        question, description = request.payload
        start, key = time.monotonic(), str(request.key)
        log = await self._client.ask(question, key)
        reply = Reply("") if log.body is None else parse_reply(log.body)
        fault, detail = (log.fault, log.detail) if log.body is None else self._fault(question, reply)
        call = Call(
            identity=key,
            question=description,
            endpoint=self._client.client.location,
            body=log.body,
            model=reply.model,
            fault=fault,
            detail=detail,
            estimated_tokens=self._client.prompt_tokens(question),
            prompt_tokens=reply.prompt_tokens,
            completion_tokens=reply.completion_tokens,
            cost=log.cost,
            latency=log.latency,
            seconds=round(time.monotonic() - start, 4),
            attempts=(*log.failed, *getattr(self._client.client, "concessions", ()), fault or "answered"),
            at=datetime.now(UTC).isoformat(timespec="milliseconds"),
        )
        self.transcripts.append(call)
        self._answered |= call.body is not None
        self._failures += call.fault in FATAL_FAULTS
        return call

    def _check_reachable(self, call: Call) -> None:
        """Raise `FatalError` after repeated failures of a judge that never answered."""
        if not self._answered and self._failures >= MAX_CONSECUTIVE_FAILURES:
            raise FatalError(
                f"The judge '{self.name}' answered none of {self._failures} questions: {call.detail}. "
                "Fix the problem and run the same command again."
            )

    def _recorded(self, key: str) -> Call | None:
        """Return the recorded call if its result is final."""
        call = self.transcripts.recall(key)
        if call is None or call.is_final:
            return call
        # The reported model name may have been allowed since, with `also_called`.
        is_usable = call.body is not None and not find_fault(parse_reply(call.body), self.name, self._also_called)
        return call if is_usable else None

    def _answer(self, question: Question[Value], call: Call) -> Answer[Value]:
        """Parse the answer of a call."""
        if call.body is None:
            raise NoAnswerError(call.fault or "unreachable", call.detail)
        return Answer(self._parse(question, parse_reply(call.body)), call)

    def _parse(self, question: Question[Value], reply: Reply) -> Value:
        fault = find_fault(reply, self.name, self._also_called)
        if fault:
            raise NoAnswerError(*fault)
        try:
            return question.form.read(reply.text)
        except UnparsableReplyError as error:
            if is_refusal(reply.text):
                raise NoAnswerError("refused", reply.text.strip()) from error
            raise NoAnswerError("unparsable", str(error)) from error

    def _fault(self, question: Question[Any], reply: Reply) -> tuple[Fault | None, str]:
        try:
            self._parse(question, reply)
        except NoAnswerError as error:
            return error.fault, error.message
        return None, ""


def _repair_tokens(schema_bytes: int, max_tokens: int) -> int:
    """Bound the tokens of a repair: prompt, schema and the answer to repair."""
    return max_tokens + REPAIR_PROMPT_TOKENS + schema_bytes // BYTES_PER_TOKEN
