"""All that protocols may ask while outcomes are scored: the models of a run, and its judges."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Self, TypeVar

from editgauge._util.batching import Ask
from editgauge.engine.judges import Jury
from editgauge.judges import Answer, Judge, ModelJudge, Question
from editgauge.judges._panel import JudgeService, panel_members
from editgauge.judges.prompts import Prompt
from editgauge.models.service import ModelService

Value = TypeVar("Value")


class RunPerception(ModelService):
    """Models and judges behind one ask layer; use it as an asynchronous context manager when judges are among them.

    Args:
        models: the name of a model for each role
        cache: the folder in which answers of models are remembered from run to run; nowhere when left out
        jury: the judges
        transcripts: the folder in which calls of judges are recorded; nowhere when left out
    """

    def __init__(
        self,
        models: Mapping[str, str],
        cache: Path | None = None,
        jury: Jury | None = None,
        transcripts: Path | None = None,
    ) -> None:
        self._shared = Ask()
        super().__init__(models, cache, self._shared)
        jury = jury or Jury()
        self.judges: dict[str, ModelJudge] = jury.opened(transcripts, self._shared)
        self._judging = JudgeService(self.judges, jury.prompts)
        self.questions: Counter[str] = Counter()
        """How many were put to each model, answered before or not."""

    def judge(self, role: str = "judge") -> Judge:
        """The judge of a name."""
        return self._judging.judge(role)

    async def ask(self, question: Question[Value], role: str = "judge") -> Answer[Value]:
        """The answer of the judge of a name."""
        self._judging.judge(role)  # raises when no judge has this role
        for member in panel_members(role):
            self.questions[self._judging.judge(member).name] += 1
        return await self._judging.ask(question, role)

    def prompt(self, name: str) -> Prompt:
        """The prompt of a name: the user's own where there is one, else the built-in one."""
        return self._judging.prompt(name)

    def __exit__(self, *_: object) -> None:
        self._shared.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._shared.close()
        for judge in self.judges.values():
            await judge.__aexit__()
