"""Judges: language and vision-language models that answer questions about edits. Every call is recorded.

    async with open_judge("openai:qwen2.5-vl@http://localhost:8000/v1", transcripts="transcripts") as judge:
        answer = await judge.ask(ask_yes_no("Is there a dog in the picture?", Shown("The picture:", pixels)))
        answer.value                                   # True or False; `NoAnswer` says why there is none

A second run makes no call; with `replay=True` none is possible. Third parties add kinds of judges by entry points of
the group `editgauge.judges`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from editgauge._util.registry import Registry
from editgauge.errors import BadInputError
from editgauge.judges._cost import CallEstimate, Price
from editgauge.judges._faults import FAULTS, NoAnswer
from editgauge.judges._interfaces import Answer, Client, Judge, JudgeCard, Judging
from editgauge.judges._judge import ModelJudge
from editgauge.judges._panel import JudgeService, position_bias, self_consistency, settled
from editgauge.judges._questions import (
    Choice,
    Parameters,
    Question,
    Shown,
    ask_pairwise,
    ask_scale,
    ask_structured,
    ask_text,
    ask_yes_no,
)
from editgauge.judges._retry import Patience
from editgauge.judges._transcripts import Transcripts
from editgauge.judges.prompts import open_prompt

__all__ = [
    "FAULTS",
    "Answer",
    "CallEstimate",
    "Choice",
    "Client",
    "Judge",
    "JudgeCard",
    "JudgeService",
    "Judging",
    "ModelJudge",
    "NoAnswer",
    "Parameters",
    "Patience",
    "Price",
    "Question",
    "Shown",
    "Transcripts",
    "ask_pairwise",
    "ask_scale",
    "ask_structured",
    "ask_text",
    "ask_yes_no",
    "judges",
    "open_judge",
    "open_prompt",
    "position_bias",
    "self_consistency",
    "settled",
]

BUILT_IN = {
    "openai": "editgauge.judges._endpoint:open_endpoint",
    "reward": "editgauge.judges._local:RewardModel",
    "transformers": "editgauge.judges._local:LocalModel",
}

judges: Registry[Callable[..., Client]] = Registry("judge", BUILT_IN)


def open_judge(
    address: str,
    *,
    transcripts: Path | str | Transcripts | None = None,
    client: dict[str, Any] | None = None,
    **options: Any,
) -> ModelJudge:
    """The judge of an address.

    Args:
        address: `openai:MODEL@URL` for an OpenAI-compatible endpoint, `transformers:FOLDER` for a model here,
            `reward:FOLDER` for a reward model
        transcripts: The folder in which calls are recorded.
        client: Options of the way to the model: for `openai`, `key` (the environment variable's name) and `at_once`.
        options: Those of `ModelJudge`: parameters, patience, price, budget, replay, …
    """
    kind, separator, rest = address.partition(":")
    if not separator or not rest:
        raise BadInputError(
            f"A judge is written KIND:MODEL, such as openai:gpt-4o or transformers:FOLDER; got '{address}'."
        )
    if options.get("replay") and isinstance(transcripts, Path | str) and not Path(transcripts).is_dir():
        raise BadInputError(f"There are no transcripts to replay at '{transcripts}'.")
    recorded = transcripts if isinstance(transcripts, Transcripts) else Transcripts(transcripts)
    return ModelJudge(judges.get(kind)(rest, **(client or {})), transcripts=recorded, **options)
