"""A real vision-language model of random weights, served over a real socket. What it says is noise."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from editgauge._util.images import Pixels
from editgauge.judges import (
    FAULTS,
    Answer,
    LabeledImage,
    Parameters,
    Question,
    ask_scale,
    ask_text,
    ask_yes_no,
    open_judge,
)
from editgauge.judges._local import LocalModel
from editgauge.judges._questions import FreeText
from editgauge.judges._transcripts import read_transcripts
from editgauge.judges.prompts import RenderedPrompt
from tests.endpoint import MODEL, Served
from tests.judges.test_local import save_tiny

pytestmark = pytest.mark.slow


def pixels_of(url: str) -> Pixels:
    encoded = np.frombuffer(base64.b64decode(url.partition(",")[2]), np.uint8)
    decoded = cv2.imdecode(encoded, cv2.IMREAD_COLOR)
    assert decoded is not None
    return np.asarray(cv2.cvtColor(decoded, cv2.COLOR_BGR2RGB), np.uint8)


def test_a_tiny_model_is_asked_over_a_socket(
    served: Served, ask: Callable[..., list[Any]], picture: Callable[[int], Pixels], tmp_path: Path
) -> None:
    model = LocalModel(str(save_tiny(tmp_path / "tiny")))
    seen: list[Pixels] = []

    def answer(text: str, times: int) -> dict[str, Any]:
        content = served.requests[-1]["messages"][0]["content"]
        parts = content if isinstance(content, list) else []
        shown = tuple(LabeledImage("It:", pixels_of(part["image_url"]["url"])) for part in parts if "image_url" in part)
        seen.extend(each.pixels for each in shown)
        question = Question(words=RenderedPrompt("x", 1, text), form=FreeText(), images=shown)
        said = asyncio.run(model.send(question, Parameters(max_tokens=6), 60.0))
        return {**said, "model": MODEL}

    served.plan = answer
    transcripts = tmp_path / "transcripts"
    judge = open_judge(f"openai:{MODEL}@{served.url}", transcripts=transcripts, client={"at_once": 1})
    shown = LabeledImage("It:", picture(3))
    ends = "bad", "good"
    answers = ask(
        judge, ask_text("Which cat ?", shown), ask_yes_no("cat ?", shown), ask_scale("cat ?", 1, 5, *ends, shown)
    )
    assert all(isinstance(each, Answer) or each.fault in FAULTS for each in answers)
    assert (seen[0] == picture(3)).all(), "PNG loses nothing on the way"
    calls = list(read_transcripts(transcripts))
    assert len(calls) >= 3
    assert all(call.body is not None and call.model == MODEL and call.prompt_tokens for call in calls)
