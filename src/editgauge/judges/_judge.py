"""A judge whose every call is recorded: known answers are recalled, the others asked with patience and within a budget.

Asking passes through the ask layer, which shares a question that several items ask at the same time.
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
from editgauge.judges._cost import BYTES_PER_TOKEN, CallBound, CallEstimate, Ledger, Price, largest_prompt
from editgauge.judges._endpoint import Reply, fault_in, read_reply
from editgauge.judges._faults import Fault, NoAnswer
from editgauge.judges._interfaces import Answer, Client, JudgeCard
from editgauge.judges._parsing import Unreadable, is_refusal
from editgauge.judges._questions import Parameters, Question, described, identity
from editgauge.judges._retry import Asker, Pace, Patience
from editgauge.judges._transcripts import Call, Transcripts

Value = TypeVar("Value")

IN_VAIN: frozenset[Fault] = frozenset({"rejected", "unreachable"})
LARGEST_SCHEMA = 6_000
"""Bytes; no form of ours has a longer one."""
MOST_IN_VAIN = 8
"""This many questions without a single answer, and no further one is worth the wait."""


class ModelJudge:
    """A model as a judge.

    Args:
        client: the way to the model
        transcripts: where calls are recorded, and recalled from; nowhere but in memory when left out
        parameters: how the model is to answer
        patience: how long to try
        price: of a million tokens
        budget: maximum total cost of all calls of these transcripts
        tokens_per_image: what a picture is to this model, for estimates
        also_called: further names by which the endpoint may call the model when it answers
        replay: answer from the transcripts alone, and ask nothing
        repair: ask once more, without pictures, to write down an unreadable answer in the asked form
        ask: the ask layer it shares with others; one of its own when left out
    """

    def __init__(
        self,
        client: Client,
        *,
        transcripts: Transcripts | None = None,
        parameters: Parameters | None = None,
        patience: Patience | None = None,
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
        self.pace = Pace(client.at_once)
        self.ledger = Ledger(price, budget, self.transcripts.spent)
        self._asker = Asker(
            client=client,
            parameters=self.parameters,
            patience=patience or Patience(),
            pace=self.pace,
            ledger=self.ledger,
            tokens_per_image=tokens_per_image,
        )
        self._in_vain = 0
        self._answered = False
        self._also_called = also_called
        self._replay = replay
        self._repair = repair
        self._ask = ask or Ask()
        self._ask_is_mine = ask is None
        for call in self.transcripts:
            if call.prompt_tokens is not None and call.asked["model"] == self.name:
                self.ledger.measure(call.estimated_tokens, call.prompt_tokens, bool(call.asked["images"]))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._ask_is_mine:
            self._ask.close()
        await self._asker.client.close()
        self.transcripts.close()

    @property
    def name(self) -> str:
        """The model."""
        return self._asker.client.model

    @property
    def card(self) -> JudgeCard:
        """What it is."""
        return JudgeCard(self.name, self._asker.client.place, self.parameters)

    async def ask(self, question: Question[Value]) -> Answer[Value]:
        """The answer that is recorded, or else the answer that the model gives now.

        An answer that cannot be read is asked for once more, in the asked form; that is a call of its own, and only
        what the model itself said in the first place is shown to it.
        """
        call = await self._call(question)
        try:
            return self._answer(question, call)
        except NoAnswer as unreadable:
            repaired = await self._repaired(question, call) if unreadable.fault == "unparsable" else None
            if repaired is None:
                raise
            return repaired

    async def _repaired(self, question: Question[Value], call: Call) -> Answer[Value] | None:
        """The answer of the repair question; None where there is none, and the first fault stands."""
        said = read_reply(call.body).text if call.body is not None else ""
        again = question.repair(said, call.identity) if self._repair and said.strip() else None
        if again is None:
            return None
        try:
            return self._answer(again, await self._call(again))
        except NoAnswer:
            return None

    async def _call(self, question: Question[Any]) -> Call:
        description = await asyncio.to_thread(described, self.name, question, self.parameters)
        key = identity(description)
        call = self.transcripts.recall(key) if self._replay else self._known(key)
        if call is None and self._replay:
            raise NoAnswer("not_recorded", f"'{self.name}' was never asked this; the transcripts hold no such call")
        if call is None:
            call = await self._ask(self, key, (question, description))
            self._give_up_at_last(call)
        return call

    def estimate(self, questions: Iterable[Question[Any]]) -> CallEstimate:
        """What asking all of these would take at most, if no call fails; none is asked."""
        distinct = {identity(described(self.name, each, self.parameters)): each for each in questions}
        new = [each for key, each in distinct.items() if self._known(key) is None]
        raised = (self.ledger.raised(self._asker.prompt_tokens(each), bool(each.images)) for each in new)
        repairs = [each for each in new if each.form.schema is not None] if self._repair else []
        schemas = (len(json.dumps(each.form.schema)) for each in repairs)
        repeated = sum(_repair_tokens(schema, self.parameters.max_tokens) for schema in schemas)
        prompts = math.ceil(sum(raised) + self.ledger.raised(repeated, pictures=False))
        completions = (len(new) + len(repairs)) * self.parameters.max_tokens
        cost = self.ledger.price.cost(prompts, completions)
        return CallEstimate(len(distinct), len(distinct) - len(new), prompts, completions, cost, len(repairs))

    def bound(self, questions: int, *, text_bytes: int, images: int) -> CallBound:
        """What that many questions take at most, each with a repair question.

        Args:
            questions: the most that can be asked.
            text_bytes: of the longest of them.
            images: the most that one of them shows.
        """
        prompt = largest_prompt(text_bytes, images, self.parameters, self._asker.tokens_per_image)
        repairs = questions if self._repair else 0
        repair = _repair_tokens(LARGEST_SCHEMA, self.parameters.max_tokens)
        raised = self.ledger.raised(prompt, bool(images)) * questions + self.ledger.raised(repair, False) * repairs
        tokens, completions = math.ceil(raised), (questions + repairs) * self.parameters.max_tokens
        price = self.ledger.price
        cost = price.cost(tokens, completions) if price.prompt or price.completion else None
        return CallBound(self.name, questions, questions + repairs, tokens, completions, cost)

    async def reply(self, request: Request) -> Call:
        """The call for a request of the ask layer, recorded; what went wrong is in it."""
        question, description = request.payload
        began, key = time.monotonic(), str(request.key)
        tried = await self._asker.ask(question, key)
        said = Reply("") if tried.body is None else read_reply(tried.body)
        fault, detail = (tried.fault, tried.detail) if tried.body is None else self._fault(question, said)
        call = Call(
            identity=key,
            asked=description,
            endpoint=self._asker.client.place,
            body=tried.body,
            model=said.model,
            fault=fault,
            detail=detail,
            estimated_tokens=self._asker.prompt_tokens(question),
            prompt_tokens=said.prompt_tokens,
            completion_tokens=said.completion_tokens,
            cost=tried.cost,
            latency=tried.latency,
            seconds=round(time.monotonic() - began, 4),
            attempts=(*tried.failed, *getattr(self._asker.client, "concessions", ()), fault or "answered"),
            at=datetime.now(UTC).isoformat(timespec="milliseconds"),
        )
        self.transcripts.append(call)
        self._answered |= call.body is not None
        self._in_vain += call.fault in IN_VAIN
        return call

    def _give_up_at_last(self, call: Call) -> None:
        """Stops asking a model that never answered: a wrong key, a server that is not there."""
        if not self._answered and self._in_vain >= MOST_IN_VAIN:
            raise FatalError(
                f"The judge '{self.name}' answered none of {self._in_vain} questions: {call.detail}. "
                "Fix that and give the same command again."
            )

    def _known(self, key: str) -> Call | None:
        """The call that settled a question, if one did."""
        call = self.transcripts.recall(key)
        if call is None or call.final:
            return call
        renamed = call.body is not None and not fault_in(read_reply(call.body), self.name, self._also_called)
        return call if renamed else None  # another model answered, which was allowed to since

    def _answer(self, question: Question[Value], call: Call) -> Answer[Value]:
        """The answer in a call, be it new or recorded."""
        if call.body is None:
            raise NoAnswer(call.fault or "unreachable", call.detail)
        return Answer(self._read(question, read_reply(call.body)), call)

    def _read(self, question: Question[Value], said: Reply) -> Value:
        fault = fault_in(said, self.name, self._also_called)
        if fault:
            raise NoAnswer(*fault)
        try:
            return question.form.read(said.text)
        except Unreadable as error:
            if is_refusal(said.text):
                raise NoAnswer("refused", said.text.strip()) from error
            raise NoAnswer("unparsable", str(error)) from error

    def _fault(self, question: Question[Any], said: Reply) -> tuple[Fault | None, str]:
        try:
            self._read(question, said)
        except NoAnswer as error:
            return error.fault, error.message
        return None, ""


def _repair_tokens(schema_bytes: int, max_tokens: int) -> int:
    """About how many tokens a repair question has at most: its own words, the schema, and the answer it shows."""
    return max_tokens + 200 + schema_bytes // BYTES_PER_TOKEN
