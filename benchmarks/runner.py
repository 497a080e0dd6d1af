"""Speed of the pixel protocol: items a second on one and two processes, and growth of time and memory with the load.

    python benchmarks/runner.py [--items 200] [--growth 100,1000,10000]

Every figure is measured in this run on this machine; ratios are what to compare.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import cv2
import numpy as np
import psutil
import skimage.data

BLUE, SIDE = (30, 60, 200), 512


def make_benchmark(folder: Path, items: int, side: int) -> None:
    """`items` edits of ten source images, and one method's outcomes: a tinted copy of each source."""
    images, outcomes = folder / "bench" / "images", folder / "outcomes"
    images.mkdir(parents=True)
    outcomes.mkdir()
    photo = cv2.cvtColor(skimage.data.astronaut(), cv2.COLOR_RGB2BGR)
    for number in range(10):
        picture = cv2.resize(np.roll(photo, 37 * number, axis=1), (side, side), interpolation=cv2.INTER_AREA)
        cv2.imwrite(str(images / f"{number}.png"), picture)
        cv2.imwrite(str(folder / f"{number}.png"), cv2.addWeighted(picture, 0.8, np.full_like(picture, BLUE), 0.2, 0))
    box = [side // 4, side // 4, side // 2, side // 2]
    with (folder / "bench" / "edits.jsonl").open("w") as lines:
        for number in range(items):
            told = {"id": f"e{number}", "source": f"images/{number % 10}.png", "type": "color", "mask": {"box": box}}
            lines.write(json.dumps({**told, "instruction": "make it blue"}) + "\n")
            os.link(folder / f"{number % 10}.png", outcomes / f"e{number}.png")


def measure(folder: Path, processes: int) -> tuple[float, float]:
    """Seconds and peak memory (MB, all processes together) of one whole `editgauge run`."""
    out = folder / "run"
    shutil.rmtree(out, ignore_errors=True)
    command = [
        sys.executable,
        "-m",
        "editgauge",
        "run",
        str(folder / "bench"),
        "--outcomes",
        f"m={folder / 'outcomes'}",
    ]
    started = time.perf_counter()
    process = subprocess.Popen([*command, "--out", str(out), "--processes", str(processes), "--quiet"])
    peak = [0]
    watcher = threading.Thread(target=watch, args=(process.pid, peak))
    watcher.start()
    if process.wait() != 0:
        sys.exit("the run failed")
    watcher.join()
    return time.perf_counter() - started, peak[0] / 1e6


def watch(pid: int, peak: list[int]) -> None:
    while psutil.pid_exists(pid):
        try:
            parent = psutil.Process(pid)
            family = [parent, *parent.children(recursive=True)]
            if parent.status() == psutil.STATUS_ZOMBIE:
                return
            peak[0] = max(peak[0], sum(one.memory_info().rss for one in family))
        except psutil.Error:
            pass
        time.sleep(0.05)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--items", type=int, default=200)
    options.add_argument("--growth", default="100,1000,10000")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        make_benchmark(folder, chosen.items, SIDE)
        print(f"preservation, {chosen.items} items of {SIDE} x {SIDE}, start-up included")
        base = 0.0
        for processes in (1, 2):
            seconds, memory = measure(folder, processes)
            rate = chosen.items / seconds
            base = base or rate
            print(f"  {processes} process(es): {rate:6.1f} items/s  {rate / base:4.2f}x  {memory:5.0f} MB at most")
    print("growth with the number of items, 64 x 64 pixels, 2 processes")
    for items in map(int, chosen.growth.split(",")):
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            make_benchmark(folder, items, 64)
            seconds, memory = measure(folder, 2)
            print(
                f"  {items:6d} items: {seconds:6.1f} s  {1000 * seconds / items:6.2f} ms each  {memory:5.0f} MB at most"
            )


if __name__ == "__main__":
    main()
