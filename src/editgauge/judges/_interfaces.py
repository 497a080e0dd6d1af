"""Who can be asked, and what a protocol may ask with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from editgauge.judges._endpoint import Body
from editgauge.judges._questions import Parameters, Question
from editgauge.judges._transcripts import Call
from editgauge.judges.prompts import Prompt

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Answer(Generic[Value]):
    """What a judge answered, and the call that shows it."""

    value: Value
    call: Call
    members: Mapping[str, Any] | None = None
    """What each judge of a panel answered; the call is then that of one of them."""


@dataclass(frozen=True, slots=True)
class JudgeCard:
    """What a judge states about itself, for the manifest of a run."""

    model: str
    endpoint: str
    parameters: Parameters


class Judge(Protocol):
    """A model that answers questions about pictures and texts."""

    @property
    def name(self) -> str:
        """The model; scores that it made bear this name."""
        ...

    @property
    def card(self) -> JudgeCard:
        """What it is."""
        ...

    async def ask(self, question: Question[Value]) -> Answer[Value]:
        """The answer; raises `NoAnswer`, a `UnscorableError` with a typed fault, when there is none."""
        ...


class Judging(Protocol):
    """What a protocol judges with, as `Perception` is what it sees with."""

    def judge(self, role: str = "judge") -> Judge:
        """The judge that plays a role; raises `UnscorableError` when none does."""
        ...

    async def ask(self, question: Question[Value], role: str = "judge") -> Answer[Value]:
        """The answer of the judge that plays a role."""
        ...

    def prompt(self, name: str) -> Prompt:
        """The prompt of a name: the user's own where there is one, else the built-in one."""
        ...


class Client(Protocol):
    """A way to a model. It makes one attempt at a time and remembers nothing; `ModelJudge` does the rest."""

    @property
    def model(self) -> str:
        """What it is called."""
        ...

    @property
    def at_once(self) -> int:
        """How many requests may be under way together."""
        ...

    @property
    def place(self) -> str:
        """Where the model is, for the record."""
        ...

    async def send(self, question: Question[Any], parameters: Parameters, timeout: float) -> Body:
        """A chat completion; raises `Trouble` when this attempt brought none."""
        ...

    async def close(self) -> None:
        """Lets go what it holds."""
        ...
