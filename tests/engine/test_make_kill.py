"""Making outcomes is killed in the middle, again and again; continued, it ends as if nothing had happened."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from editgauge._util.images import read_image

pytestmark = pytest.mark.slow

SCRIPT = str(Path(sys.executable).with_name("editgauge"))
SEED, KILLS, EDITS, SEEDS = 20260314, 3, 8, 2
PATIENCE = 600
"""Seconds after which a test gives up waiting; none depends on how fast anything is."""


@pytest.fixture
def words(tmp_path: Path, make_benchmark: Callable[..., Path]) -> Callable[[str], list[str]]:
    make_benchmark(tmp_path / "photos", edits=EDITS, size=96)
    told = ["--option", "wait=0.05", "--form", "instruction", "--seeds", str(SEEDS), "--quiet"]
    return lambda out: [SCRIPT, "edit", "photos", "--method", "mirrored", "--out", out, *told]


def listed(folder: Path) -> list[dict[str, object]]:
    """The list without its times."""
    lines = map(json.loads, (folder / "outcomes.jsonl").read_text("utf-8").splitlines())
    return [{key: value for key, value in line.items() if key != "seconds"} for line in lines]


def test_killed_and_continued_it_ends_as_if_nothing_had_happened(
    tmp_path: Path, plugin: Path, words: Callable[[str], list[str]]
) -> None:
    environment, chance = {**os.environ, "PYTHONPATH": str(plugin)}, random.Random(SEED)
    out = tmp_path / "disturbed"
    for moment in sorted(chance.sample(range(1, EDITS * SEEDS - 3), KILLS)):
        with subprocess.Popen(words("disturbed"), cwd=tmp_path, env=environment) as process:
            deadline = time.monotonic() + PATIENCE
            while process.poll() is None and len(list(out.glob("*.png"))) < moment:
                assert time.monotonic() < deadline, "nothing happens"
                time.sleep(0.002)
            time.sleep(chance.uniform(0, 0.03))
            process.send_signal(signal.SIGKILL)
        assert process.returncode == -signal.SIGKILL, f"it ended before it was killed; seed {SEED}"
        assert all(read_image(file).size for file in out.glob("*.png")), "no half pictures"
        pictures = {file.name for file in out.glob("*.png")}
        assert {str(line["image_path"]) for line in listed(out)} <= pictures
    for name in ("disturbed", "whole"):
        subprocess.run(words(name), cwd=tmp_path, env=environment, check=True, timeout=PATIENCE)
    whole = tmp_path / "whole"
    assert listed(out) == listed(whole)
    assert len(listed(out)) == EDITS * SEEDS
    assert {file.name: file.read_bytes() for file in out.glob("*.png")} == {
        file.name: file.read_bytes() for file in whole.glob("*.png")
    }
    assert sorted(file.name for file in out.iterdir()) == sorted(file.name for file in whole.iterdir())


def test_stopped_by_hand_it_says_how_to_continue(
    tmp_path: Path, plugin: Path, words: Callable[[str], list[str]]
) -> None:
    environment = {**os.environ, "PYTHONPATH": str(plugin)}
    with subprocess.Popen(
        words("stopped"), cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True
    ) as process:
        deadline = time.monotonic() + PATIENCE
        while process.poll() is None and not list((tmp_path / "stopped").glob("*.png")):
            assert time.monotonic() < deadline, "nothing happens"
            time.sleep(0.002)
        process.send_signal(signal.SIGINT)
        told = process.communicate(timeout=PATIENCE)[1]
    assert process.returncode == 130
    assert told == "\nStopped. What is done is in stopped. Run the same command again to continue.\n"
    assert len(list((tmp_path / "stopped").glob("*.png"))) < EDITS * SEEDS
