"""A model that is known by its transcripts alone, for replays where the model itself is out of reach."""

from __future__ import annotations

from typing import Any

from editgauge.judges.faults import Trouble
from editgauge.judges.questions import Parameters, Question
from editgauge.judges.replies import Body


class Recorded:
    """The way to a model that cannot be asked.

    Args:
        model: what it is called in the transcripts
    """

    at_once = 1
    place = "transcripts"

    def __init__(self, model: str) -> None:
        self.model = model

    async def send(self, question: Question[Any], parameters: Parameters, timeout: float) -> Body:
        """Nothing new can come."""
        del question, parameters, timeout
        raise Trouble("only what is recorded can be answered", fault="not_recorded", again=False)

    async def close(self) -> None:
        """There is nothing to let go."""
