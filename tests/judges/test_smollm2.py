"""The whole path of a judge with a real language model: SmolLM2 behind a real OpenAI-compatible server.

It is a proof that generated answers go through, with 135 million weights that can hardly judge anything: what it
answers is never shown as a result.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from editgauge.engine.parse import parse
from editgauge.judges import ask_text, open_judge
from editgauge.judges._transcripts import read_transcripts
from editgauge.models.weights import available, weights_of

llama: Any = pytest.importorskip("xllamacpp", reason="NOT TESTED: pip install xllamacpp")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not available("smollm2"), reason="NOT TESTED: run `editgauge models pull smollm2`"),
]


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    parameters = llama.CommonParams()
    parameters.model.path = str(weights_of("smollm2").path("SmolLM2-135M-Instruct.Q4_1.gguf"))
    parameters.n_ctx = 4096
    parameters.n_parallel = 1
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = 1
    parameters.port = 0
    parameters.model_alias = {"smollm2"}  # an answer under another name is refused
    server = llama.Server(parameters)
    yield f"openai:smollm2@{server.listening_address}/v1"
    del server


async def _ask(address: str, transcripts: Path, question: Any, **options: Any) -> Any:
    async with open_judge(address, transcripts=transcripts, **options) as judge:
        return await judge.ask(question)


def test_a_generated_answer_is_kept_and_replayed_without_the_server(address: str, tmp_path: Path) -> None:
    question = ask_text("What is the capital of France? Answer in one word.")
    answer = asyncio.run(_ask(address, tmp_path, question))
    assert "paris" in answer.value.lower()
    assert answer.call.latency > 0
    assert len(list(read_transcripts(tmp_path))) == 1
    again = asyncio.run(_ask("openai:smollm2@http://127.0.0.1:9/v1", tmp_path, question, replay=True))
    assert again.value == answer.value


def test_an_instruction_is_read_by_the_model_or_by_the_rules_which_say_so(address: str) -> None:
    reading = parse("Remove the dog.", judge=address)
    assert reading.how == "judge" or "the judge gave no reading" in reading.left
    assert reading.steps
