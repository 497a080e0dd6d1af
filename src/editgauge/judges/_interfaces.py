"""Interfaces of judges, clients and the judge service."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from editgauge.judges._endpoint import ChatCompletion
from editgauge.judges._questions import Parameters, Question
from editgauge.judges._transcripts import Call
from editgauge.judges.prompts import Prompt

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Answer(Generic[Value]):
    """The value of an answer and the recorded call."""

    value: Value
    call: Call
    members: Mapping[str, Any] | None = None
    """Values of the members of a panel; `call` is then that of one member."""


@dataclass(frozen=True, slots=True)
class JudgeCard:
    """Model, endpoint and parameters of a judge, as recorded in the manifest of a run."""

    model: str
    endpoint: str
    parameters: Parameters


class Judge(Protocol):
    """A model that answers questions about images and texts."""

    @property
    def name(self) -> str:
        """Name of the model, as shown in scores."""
        ...

    @property
    def card(self) -> JudgeCard:
        """Description of the judge."""
        ...

    async def ask(self, question: Question[Value]) -> Answer[Value]:
        """Return the answer, or raise `NoAnswerError` with a typed fault."""
        ...


class Judging(Protocol):
    """Access to judges for protocols, as `Perception` is access to models."""

    def judge(self, role: str = "judge") -> Judge:
        """Return the judge of a role, or raise `UnscorableError`."""
        ...

    async def ask(self, question: Question[Value], role: str = "judge") -> Answer[Value]:
        """Ask the judge of a role."""
        ...

    def prompt(self, name: str) -> Prompt:
        """Return a prompt by name; prompts of the user override built-in ones."""
        ...


class Client(Protocol):
    """A stateless client that makes single attempts; `ModelJudge` retries and records."""

    @property
    def model(self) -> str:
        """Name of the model."""
        ...

    @property
    def at_once(self) -> int:
        """Maximum number of concurrent requests."""
        ...

    @property
    def location(self) -> str:
        """Location of the model, without secrets."""
        ...

    async def send(self, question: Question[Any], parameters: Parameters, timeout: float) -> ChatCompletion:
        """Return a chat completion, or raise `RequestError`."""
        ...

    async def close(self) -> None:
        """Release connections and memory."""
        ...
