"""The judges of a run, one per role, for the protocols that ask them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

from editgauge.errors import UnscorableError
from editgauge.judges.interfaces import Answer, Judge
from editgauge.judges.panel import JudgePanel, is_panel, members_of
from editgauge.judges.prompts import Prompt, open_prompt
from editgauge.judges.questions import Question

Value = TypeVar("Value")


class JudgeService:
    """Answers what protocols ask, with the judges chosen for a run.

    Args:
        chosen: the judge that plays each role; most protocols know one role, `judge`
        prompts: a folder of prompts that replace the built-in ones of the same name
    """

    def __init__(self, chosen: Mapping[str, Judge], prompts: Path | None = None) -> None:
        self._chosen = dict(chosen)
        self._prompts = prompts

    def judge(self, role: str = "judge") -> Judge:
        """The judge that plays a role."""
        if role not in self._chosen and is_panel(role) and all(each in self._chosen for each in members_of(role)):
            self._chosen[role] = JudgePanel(role, self._chosen)
        if role not in self._chosen:
            raise UnscorableError("no_model", f"no judge plays the role '{role}'; choose one, such as openai:MODEL@URL")
        return self._chosen[role]

    async def ask(self, question: Question[Value], role: str = "judge") -> Answer[Value]:
        """The answer of the judge that plays a role."""
        return await self.judge(role).ask(question)

    def prompt(self, name: str) -> Prompt:
        """The prompt of a name: the user's own where there is one, else the built-in one."""
        return open_prompt(name, folder=self._prompts)
