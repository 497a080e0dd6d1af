"""What one process scores with: the models and judges of a run, and a bound on the memory of decoded images."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Self, TypeVar

from editgauge._util.batching import Ask
from editgauge.engine._judges import JudgeConfig
from editgauge.judges import Answer, Judge, ModelJudge, Question
from editgauge.judges._panel import JudgeService, panel_members
from editgauge.judges.prompts import Prompt
from editgauge.models.perception import ModelService

Value = TypeVar("Value")
MAX_IMAGE_BYTES = 32_000_000
"""Decoded images in one process: 20 items of 512 x 512, enough to fill batches and to keep a judge busy, or one large
item and whatever came before it. Scoring an item takes a multiple of its images."""
LARGE_PAIR_BYTES = 24_000_000
"""Two decoded images of 4 megapixels. Larger ones take gigabytes while they are measured (up to 175 bytes per pixel),
so only one of them is admitted at a time."""


def admission_bytes(image_bytes: int) -> int:
    """Return how much of `MAX_IMAGE_BYTES` an item takes whose two images have that many bytes.

    >>> admission_bytes(1_572_864), admission_bytes(60_000_000)
    (1572864, 60000000)
    """
    return image_bytes if image_bytes <= LARGE_PAIR_BYTES else max(image_bytes, MAX_IMAGE_BYTES)


class MemoryGate:
    """Admit items in their order as long as those inside hold less than `max_bytes`."""

    def __init__(self, max_bytes: int = MAX_IMAGE_BYTES) -> None:
        self._max_bytes = max_bytes
        self._held_bytes = 0
        self._changed = asyncio.Condition()

    @asynccontextmanager
    async def admit(self) -> AsyncIterator[Callable[[int], None]]:
        """Wait until there is room; the context value is a function that reserves bytes until the context ends."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._held_bytes < self._max_bytes)
        reserved = 0

        def reserve(size: int) -> None:
            nonlocal reserved
            reserved += size
            self._held_bytes += size

        try:
            yield reserve
        finally:
            self._held_bytes -= reserved
            async with self._changed:
                self._changed.notify_all()


class RunPerception(ModelService):
    """Models and judges behind one ask layer; use it as an asynchronous context manager if it has judges.

    Args:
        models: name of the model for each role.
        cache: folder in which answers of models are kept from run to run; None for no cache.
        judge_config: the judges.
        transcripts: folder in which calls of judges are recorded; None to record nothing.

    Attributes:
        questions: how many questions each judge model was asked, including cached ones.

    """

    def __init__(
        self,
        models: Mapping[str, str],
        cache: Path | None = None,
        judge_config: JudgeConfig | None = None,
        transcripts: Path | None = None,
    ) -> None:
        self._shared_ask = Ask()
        super().__init__(models, cache, self._shared_ask)
        judge_config = judge_config or JudgeConfig()
        self.judges: dict[str, ModelJudge] = judge_config.open(transcripts, self._shared_ask)
        self._judge_service = JudgeService(self.judges, judge_config.prompts)
        self.questions: Counter[str] = Counter()

    def judge(self, role: str = "judge") -> Judge:
        """Return the judge of a name."""
        return self._judge_service.judge(role)

    async def ask(self, question: Question[Value], role: str = "judge") -> Answer[Value]:
        """Return the answer of the judge of a name."""
        self._judge_service.judge(role)  # raises if no judge has this role
        for member in panel_members(role):
            self.questions[self._judge_service.judge(member).name] += 1
        return await self._judge_service.ask(question, role)

    def prompt(self, name: str) -> Prompt:
        """Return the prompt of a name: the user's version if there is one, else the built-in one."""
        return self._judge_service.prompt(name)

    def __exit__(self, *_: object) -> None:
        self._shared_ask.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._shared_ask.close()
        for judge in self.judges.values():
            await judge.__aexit__()
