"""Speed of judging: one question after the other against ours, on the same endpoint with 100 ms latency.

    python benchmarks/judges.py [--questions 200] [--latency 0.1] [--at-once 16]

The endpoint is a process of its own on this machine and answers every question after the latency, however many come at
once. Questions show two pictures of 512 x 512, and five are asked of each pair, as EditInspector does. Every figure is
measured in this run; the ratio is what to compare.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import skimage.data

from editgauge.judges import LabeledImage, Parameters, Question, ask_yes_no, open_judge
from editgauge.judges._endpoint import Dialect, request_body
from editgauge.judges._questions import DataUrls

MODEL = "bench-judge"
LEAST = 7.0
QUESTIONS_PER_PAIR = 5
ENDPOINT = """
import asyncio, json, sys

CHOICE = {"message": {"role": "assistant", "content": '{"answer": "yes"}'}, "finish_reason": "stop"}
USAGE = {"prompt_tokens": 900, "completion_tokens": 6}
BODY = json.dumps({"model": sys.argv[2], "choices": [CHOICE], "usage": USAGE}).encode()
HEAD = f"HTTP/1.1 200 OK\\r\\nContent-Type: application/json\\r\\nContent-Length: {len(BODY)}\\r\\n\\r\\n".encode()

async def serve(reader, writer):
    while head := await reader.readuntil(b"\\r\\n\\r\\n"):
        length = next(int(line[15:]) for line in head.lower().split(b"\\r\\n") if line.startswith(b"content-length:"))
        await reader.readexactly(length)
        await asyncio.sleep(float(sys.argv[1]))
        writer.write(HEAD + BODY)

async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0, limit=1 << 24)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()

asyncio.run(main())
"""


def make_questions(count: int) -> list[Question[bool]]:
    questions = []
    for number in range(count):
        before = np.roll(skimage.data.astronaut(), number // QUESTIONS_PER_PAIR, axis=1)
        shown = LabeledImage("Before:", before), LabeledImage("After:", before[:, ::-1].copy())
        questions.append(ask_yes_no(f"Is it as asked, by rule {number % QUESTIONS_PER_PAIR}?", *shown))
    return questions


def serial(url: str, questions: list[Question[bool]]) -> float:
    """Ask one question after the other with a plain HTTP client."""
    started = time.perf_counter()
    with httpx.Client(timeout=60, trust_env=False) as client:
        for question in questions:
            body = request_body(MODEL, question, Parameters(), Dialect(), DataUrls())
            answer: Any = client.post(f"{url}/chat/completions", json=body).json()
            assert json.loads(answer["choices"][0]["message"]["content"]) == {"answer": "yes"}
    return time.perf_counter() - started


def ours(url: str, questions: list[Question[bool]], folder: Path, at_once: int) -> float:
    """Ask all questions with the judge client, transcripts included."""

    async def everything() -> None:
        address = f"openai:{MODEL}@{url}"
        async with open_judge(address, transcripts=folder, client={"at_once": at_once}) as judge:
            answers = await asyncio.gather(*(judge.ask(question) for question in questions))
        assert all(answer.value for answer in answers)

    started = time.perf_counter()
    asyncio.run(everything())
    return time.perf_counter() - started


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--questions", type=int, default=200)
    options.add_argument("--latency", type=float, default=0.1)
    options.add_argument("--at-once", type=int, default=16)
    chosen = options.parse_args()
    questions = make_questions(chosen.questions)
    command = [sys.executable, "-c", ENDPOINT, str(chosen.latency), MODEL]
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as endpoint,
    ):
        try:
            assert endpoint.stdout is not None
            url = f"http://127.0.0.1:{int(endpoint.stdout.readline())}/v1"
            plain = serial(url, questions)
            first = ours(url, questions, Path(folder), chosen.at_once)
            second = ours(url, questions, Path(folder), chosen.at_once)
        finally:
            endpoint.kill()
    each = f"{chosen.questions} questions, {1000 * chosen.latency:.0f} ms latency"
    print(f"{each}, two pictures each")
    print(f"  one after the other: {plain:6.2f} s  {chosen.questions / plain:7.1f} a second")
    rate = f"{chosen.questions / first:7.1f} a second   {plain / first:.1f}x"
    print(f"  ours, {chosen.at_once:2d} at once:    {first:6.2f} s  {rate}")
    print(f"  a second run:        {second:6.2f} s  without a call")
    if plain / first < LEAST:
        sys.exit(f"less than {LEAST:g}x")


if __name__ == "__main__":
    main()
