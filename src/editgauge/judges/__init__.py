"""Ask language and vision-language models about edits, and record every call.

    async with open_judge("openai:qwen2.5-vl@http://localhost:8000/v1", transcripts="transcripts") as judge:
        answer = await judge.ask(ask_yes_no("Is there a dog in the picture?", LabeledImage("The picture:", pixels)))
        answer.value                                   # True or False, or `NoAnswerError` with the reason

A second run makes no call; with `replay=True` none is possible. Packages add kinds of judges with entry points of the
group `editgauge.judges`.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from editgauge._util.registry import Registry
from editgauge.errors import BadInputError
from editgauge.judges._cost import CallEstimate, Price
from editgauge.judges._faults import FAULTS, NoAnswerError
from editgauge.judges._interfaces import Answer, Client, Judge, JudgeCard, Judging
from editgauge.judges._judge import ModelJudge
from editgauge.judges._panel import JudgeService, combine_orders, position_bias, self_consistency
from editgauge.judges._questions import (
    Choice,
    LabeledImage,
    Parameters,
    Question,
    ask_pairwise,
    ask_scale,
    ask_structured,
    ask_text,
    ask_yes_no,
)
from editgauge.judges._retry import RetryPolicy
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
    "LabeledImage",
    "ModelJudge",
    "NoAnswerError",
    "Parameters",
    "Price",
    "Question",
    "RetryPolicy",
    "Transcripts",
    "ask_pairwise",
    "ask_scale",
    "ask_structured",
    "ask_text",
    "ask_yes_no",
    "combine_orders",
    "judges",
    "open_judge",
    "open_prompt",
    "position_bias",
    "self_consistency",
]

BUILT_IN = {
    "openai": "editgauge.judges._endpoint:open_endpoint",
    "reward": "editgauge.judges._local:RewardModel",
    "transformers": "editgauge.judges._local:LocalModel",
}

judges: Registry[Callable[..., Client]] = Registry("judge", BUILT_IN)

_VERBS = {
    "captions": "editgauge.audits.captions",
    "check": "editgauge.audits.check",
    "guess_cost": "editgauge.audits.guess_cost",
    "side_by_side": "editgauge.audits.side_by_side",
    "tables": "editgauge.audits.tables",
}
"""Functions of `editgauge judges` (`compare` is `side_by_side`) by module, loaded on first use: they are above here."""


def __getattr__(name: str) -> Any:
    """Load a function of the command group `editgauge judges` on first use."""
    if name not in _VERBS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_VERBS[name]), name)


def open_judge(
    address: str,
    *,
    transcripts: Path | str | Transcripts | None = None,
    client: dict[str, Any] | None = None,
    **options: Any,
) -> ModelJudge:
    """Open the judge of an address.

    Args:
        address: `openai:MODEL@URL` for an OpenAI-compatible endpoint, `transformers:FOLDER` for a model here,
            `reward:FOLDER` for a reward model
        transcripts: The folder in which calls are recorded.
        client: Options of the client: for `openai`, `key` (name of the environment variable) and `at_once`.
        options: Options of `ModelJudge`: parameters, retries, price, budget, replay, …

    """
    kind, separator, model = address.partition(":")
    if not separator or not model:
        raise BadInputError(
            f"A judge is written KIND:MODEL, such as openai:gpt-4o or transformers:FOLDER; got '{address}'."
        )
    if options.get("replay") and isinstance(transcripts, Path | str) and not Path(transcripts).is_dir():
        raise BadInputError(f"There are no transcripts to replay at '{transcripts}'.")
    recorded = transcripts if isinstance(transcripts, Transcripts) else Transcripts(transcripts)
    return ModelJudge(judges.get(kind)(model, **(client or {})), transcripts=recorded, **options)
