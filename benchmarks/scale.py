"""How time and memory grow with the number of edits: planning, scoring, looking again, exporting, reporting.

    python benchmarks/scale.py [--growth 100,1000,10000,100000] [--million]

Small pictures, a protocol that looks at no pixel, a model whose answers are remembered: what is measured is the house.
CPU seconds are those of all processes of a step together, which other work on the machine does not change; memory is
the most that they held together. Every figure is measured in this run on this machine.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import cv2
import numpy as np
import psutil

PICTURES, SIDE, EDITS_OF_A_SOURCE = 10, 16, 100
TYPES = ("color", "object_addition", "object_removal", "background", "style")
ENTRY_POINTS = """\
[editgauge.protocols]
scale = scale_plugin:scale
[editgauge.models]
scale-embedder = scale_plugin:MeanColor
"""


def make_benchmark(folder: Path, edits: int) -> None:
    """Write a folder benchmark of `edits` edits, a list of outcomes, and the plug-in that scores them."""
    installed = folder / "scale_plugin-1.dist-info"
    installed.mkdir(parents=True)
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: scale-plugin\nVersion: 1\n")
    (installed / "entry_points.txt").write_text(ENTRY_POINTS)
    (folder / "bench" / "images").mkdir(parents=True)
    random = np.random.default_rng(0)
    for number in range(2 * PICTURES):
        cv2.imwrite(str(folder / f"{number}.png"), random.integers(0, 256, (SIDE, SIDE, 3), np.uint8))
    for number in range(-(-edits // EDITS_OF_A_SOURCE)):
        os.link(folder / f"{number % PICTURES}.png", folder / "bench" / "images" / f"{number:06d}.png")
    with (folder / "bench" / "edits.jsonl").open("w") as lines, (folder / "outcomes.jsonl").open("w") as outcomes:
        for number in range(edits):
            source = f"images/{number // EDITS_OF_A_SOURCE:06d}.png"
            told = {"id": f"edit-{number:07d}", "source": source, "type": TYPES[number % len(TYPES)]}
            lines.write(json.dumps({**told, "instruction": f"make it number {number}"}) + "\n")
            image = f"{PICTURES + number % PICTURES}.png"
            outcomes.write(json.dumps({"id": told["id"], "image_path": image}) + "\n")


def steps(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """Return the measured commands; each runs in its own process."""
    run = ["run", str(folder / "bench"), "--outcomes", f"m={folder / 'outcomes.jsonl'}", "--protocol", "scale"]
    run += ["--model", "image_embedder=scale-embedder", "--out", str(folder / "run"), "--quiet"]
    yield "run", run
    yield "again", run
    yield "export", ["export", str(folder / "run"), "--format", "csv", "--out", str(folder / "scores.csv")]
    yield "report", ["report", str(folder / "run"), "--out", str(folder / "report"), "--quiet"]


class Figures(NamedTuple):
    """What one command took, all its processes together."""

    seconds: float
    cpu: float
    megabytes: float


def measure(folder: Path, words: list[str]) -> Figures:
    """Run one command."""
    paths = [str(folder), str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    environment["EDITGAUGE_CACHE"] = str(folder / "cache")
    started, before = time.perf_counter(), cpu_of_children()
    process = subprocess.Popen([sys.executable, "-m", "editgauge", *words], env=environment, stdout=subprocess.DEVNULL)
    peak = [0]
    watcher = threading.Thread(target=watch, args=(process.pid, peak))
    watcher.start()
    if process.wait() != 0:
        sys.exit(f"{words[0]} failed")
    watcher.join()
    return Figures(time.perf_counter() - started, cpu_of_children() - before, peak[0] / 1e6)


def cpu_of_children() -> float:
    """CPU seconds of all processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def watch(pid: int, peak: list[int]) -> None:
    """Watch the memory of a process and its children until it ends."""
    while psutil.pid_exists(pid):
        try:
            parent = psutil.Process(pid)
            if parent.status() == psutil.STATUS_ZOMBIE:
                return
            family = [parent, *parent.children(recursive=True)]
            peak[0] = max(peak[0], sum(one.memory_info().rss for one in family))
        except psutil.Error:
            pass
        time.sleep(0.2)


def folder_size(folder: Path) -> float:
    """Megabytes of all files."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


def main() -> None:
    """Print a row for every number of edits."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--growth", default="100,1000,10000,100000")
    options.add_argument("--million", action="store_true", help="1,000,000 edits instead")
    options.add_argument("--keep", type=Path, help="make everything here, and leave it")
    chosen = options.parse_args()
    print(f"{'edits':>9}  {'step':<7} {'seconds':>8} {'CPU s':>8} {'CPU ms each':>12} {'MB at most':>11}")
    for edits in [1_000_000] if chosen.million else map(int, chosen.growth.split(",")):
        with tempfile.TemporaryDirectory() as temporary:
            folder = (chosen.keep or Path(temporary)) / str(edits)
            make_benchmark(folder, edits)
            for name, words in steps(folder):
                took = measure(folder, words)
                row = f"{took.seconds:8.1f} {took.cpu:8.1f} {1000 * took.cpu / edits:12.3f} {took.megabytes:11.0f}"
                print(f"{edits:9,d}  {name:<7} {row}", flush=True)
            sizes = ", ".join(f"{name} {folder_size(folder / name):.1f} MB" for name in ("bench", "run", "report"))
            print(f"{'':9}  on disk: {sizes}")


if __name__ == "__main__":
    main()
