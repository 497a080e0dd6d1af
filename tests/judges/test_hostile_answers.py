"""No answer, however long or odd, keeps a reader busy: all of them together stay far below a limit of CPU time."""

from __future__ import annotations

import subprocess
import sys

import pytest

LIMIT = 60
"""Seconds of CPU time for all readers and all answers; they need about five on a slow machine."""
PROGRAM = """
import contextlib, resource, sys
from pydantic import BaseModel
from editgauge._util.endpoints import retry_after
from editgauge.judges._questions import FreeText, PairwiseAnswer, Scale, Structured, YesNo
from editgauge.judges._parsing import is_refusal, read_object, spoken
from editgauge.judges._endpoint import is_filter, same_model
from editgauge.protocols.difference._triplets import first_change, read_triplets

class Said(BaseModel):
    a: str | None
    b: list[str]

resource.setrlimit(resource.RLIMIT_CPU, (int(sys.argv[1]), int(sys.argv[1]) + 1))
LENGTH = 100_000
FORMS = [YesNo(), Scale(1, 5), PairwiseAnswer(), Structured(Said), FreeText()]
READERS = [form.read for form in FORMS] + [
    is_refusal, read_object, spoken, retry_after, is_filter, read_triplets, first_change,
    lambda text: same_model("gpt-4o", text),
]
UNITS = [
    "As an AI language model, ", "I am sorry, but ", "sorry ", "unfortunately, ", "I cannot see any image ", "the ",
    "<think>", "</think>", "<think>a</think>", "<answer>", "<|im_end|>", "<|", "```json\\n", "```", "\\n```\\n{",
    "{", "}", "{}", "[", '{"a":', '{"a":1},', "{'", '"', "'", "\\\\", '\\\\"', "/*", "//", "#", ",", "true,", "-", " ",
    "the final answer ", "answer: ", "answer is ", "yes ", "yes, ", "no, ", "yes\\n", "1", "1.", "1 ", "1/", "1 of ",
    "a ", "\\n",
    "\\t", "\\\\boxed{", "\\\\boxed{yes}", "**", "first ", "the first edit is ", "rating: 4\\n", "\\x00", "\\u2028",
    "and the cat was replaced by ", "was added and ", "is now ", "changed from a to ", "image 1 shows a dog. ",
]
read = 0
for unit in UNITS:
    for before, after in (("", ""), ('{"answer": "', '"}')):
        text = (before + unit * (LENGTH // len(unit)))[: LENGTH - len(after)] + after
        for reader in READERS:
            for part in (text, text[:40_000]):  # the readers do not look at the longer one, the shorter is read
                with contextlib.suppress(ValueError):
                    reader(part)
                read += 1
print(read)
"""


@pytest.mark.slow
def test_reading_takes_linear_time_whatever_the_answer() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(LIMIT)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"more than {LIMIT} s of CPU time, or an error:\n{done.stderr[-2000:]}"
    assert int(done.stdout) > 3000
