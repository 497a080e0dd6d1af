"""What speed is worth, as one table of ratios, all measured in this run on this machine.

    python benchmarks/ratios.py [--edits 30] [--items 120] [--only editval,metrics,processes,ray]

- editval: our run against a plain loop that does what released scripts do: for every edit, every picture and every
  question it decodes the picture and runs the whole network. Same models, same pictures, one process each; and a second
  run, into a new folder, which finds all answers remembered.
- metrics: our pixel metrics against scikit-image's for one pair, on the whole picture and on a part of it.
- processes: the pixel protocol on two processes against one.
- ray: the pixel protocol on a Ray cluster of two nodes of one core each against two local processes.

Start-up and loading are included wherever a command is measured. Growth with the number of edits: benchmarks/scale.py.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import cv2
import numpy as np
import skimage.data
from metrics import REFERENCES, medians_in_turns, photograph_and_noise
from rich.console import Console
from rich.table import Table
from runner import make_benchmark
from skimage.metrics import structural_similarity

from editgauge.metrics import metrics

SIDE = 512
EDITS_OF_A_SOURCE = 5
WORDS = ("cat", "cup", "person", "chair", "dog")
DETECTOR, EMBEDDER = "efficientdet-lite2", "augnet"
PLAIN = """
import json, sys
from pathlib import Path
import numpy as np
from PIL import Image
from editgauge.perception import models

detector, embedder = models.get({detector!r})(), models.get({embedder!r})()
for edit in map(json.loads, Path(sys.argv[1]).read_text().splitlines()):
    source, outcome = Path(sys.argv[1]).parent / edit["source"], Path(sys.argv[2]) / (edit["id"] + ".png")
    for word in (edit["to"], edit["subject"]):
        picture = np.asarray(Image.open(outcome).convert("RGB"))
        detector.find([(detector.look([picture])[0], (word,))])
    before, after = (embedder.embed([np.asarray(Image.open(path).convert("RGB"))])[0] for path in (source, outcome))
    before @ after / np.linalg.norm(before) / np.linalg.norm(after)
"""


class Row(NamedTuple):
    """Two ways to the same end, in seconds or milliseconds."""

    what: str
    plain: str
    plain_took: float
    ours: str
    ours_took: float
    unit: str = "s"


def editval(edits: int) -> Iterator[Row]:
    """A plain loop, our run, and our run again."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        make_edits(folder, edits)
        settings = {"EDITGAUGE_CACHE_BYTES": "10e9"} | one_thread()
        script = PLAIN.format(detector=DETECTOR, embedder=EMBEDDER)
        plain = took(
            [sys.executable, "-c", script, str(folder / "bench" / "edits.jsonl"), str(folder / "outcomes")],
            one_thread(),
        )
        with fresh_answers() as remembered:
            words = [
                "--protocol",
                "editval",
                "--model",
                f"detector={DETECTOR}",
                "--model",
                f"image_embedder={EMBEDDER}",
            ]
            first = run(folder, "first", *words, "--processes", "1", settings=settings | remembered)
            second = run(folder, "second", *words, "--processes", "1", settings=settings | remembered)
        what = f"EditVal, {edits} edits of {-(-edits // EDITS_OF_A_SOURCE)} photographs"
        yield Row(what, "one forward per question", plain, "editgauge run", first)
        yield Row(what, "first run", first, "second run", second)


def pixel_metrics() -> Iterator[Row]:
    """One pair, on one thread, processor time."""
    cv2.setNumThreads(1)
    pair = photograph_and_noise(SIDE)
    inside = np.zeros((SIDE, SIDE), np.bool_)
    inside[SIDE // 4 : -SIDE // 4, SIDE // 8 : -SIDE // 8] = True
    for name, (called, reference) in REFERENCES.items():
        ours, theirs = metrics.get(name), reference
        seconds = medians_in_turns(functools.partial(ours, *pair), functools.partial(theirs, *pair))
        yield Row(
            f"{name}, {SIDE} x {SIDE}", f"scikit-image {called}", seconds[1] * 1e3, "ours", seconds[0] * 1e3, "ms"
        )
        seconds = medians_in_turns(functools.partial(ours, *pair, inside), within(name, theirs, pair, inside))
        yield Row(f"{name}, a part of it", f"scikit-image {called}", seconds[1] * 1e3, "ours", seconds[0] * 1e3, "ms")


def within(name: str, compare: Callable[..., Any], pair: tuple[Any, Any], inside: Any) -> Callable[[], object]:
    """The way to a part of a picture with scikit-image: its pixels picked out, or the full map averaged there."""
    if name == "ssim":
        return lambda: structural_similarity(
            *pair, gaussian_weights=True, use_sample_covariance=False, data_range=1.0, channel_axis=2, full=True
        )[1][inside].mean()
    return lambda: compare(*(image[inside] for image in pair))


def processes(items: int) -> Iterator[Row]:
    """One process and two."""
    with tempfile.TemporaryDirectory() as temporary:
        make_benchmark(Path(temporary), items, SIDE)
        one, two = (run(Path(temporary), f"run{n}", "--processes", str(n), settings=one_thread()) for n in (1, 2))
        yield Row(f"preservation, {items} items", "1 process", one, "2 processes", two)


def ray(items: int) -> Iterator[Row]:
    """Two local processes, and two nodes."""
    from ray.cluster_utils import Cluster

    node = {"num_cpus": 1, "object_store_memory": 80_000_000}
    cluster = Cluster(initialize_head=True, head_node_args={**node, "include_dashboard": False})
    cluster.add_node(**node)
    try:
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            make_benchmark(folder, items, SIDE)
            local = run(folder, "local", "--processes", "2", settings=one_thread())
            words = ["--engine", "ray", "--address", cluster.address, "--processes", "2"]
            yield Row(f"preservation, {items} items", "2 processes", local, "Ray, 2 nodes", run(folder, "ray", *words))
    finally:
        cluster.shutdown()


def make_edits(folder: Path, edits: int) -> None:
    """Five edits of each source; the outcome is the source with a darkened part."""
    photos = [getattr(skimage.data, name)() for name in ("astronaut", "chelsea", "coffee", "rocket")]
    (folder / "bench").mkdir(parents=True)
    (folder / "outcomes").mkdir()
    lines = []
    for number in range(edits):
        which = number // EDITS_OF_A_SOURCE
        photo = np.roll(photos[which % len(photos)], 29 * which, axis=1)
        picture = cv2.cvtColor(cv2.resize(photo, (SIDE, SIDE), interpolation=cv2.INTER_AREA), cv2.COLOR_RGB2BGR)
        cv2.imwrite(str(folder / "bench" / f"{which}.png"), picture)
        picture[: SIDE // 4 + 8 * (number % EDITS_OF_A_SOURCE)] //= 2
        cv2.imwrite(str(folder / "outcomes" / f"e{number}.png"), picture)
        subject, to = WORDS[which % len(WORDS)], WORDS[(which + 1 + number % 3) % len(WORDS)]
        told = {"id": f"e{number}", "source": f"{which}.png", "type": "object_addition", "subject": subject, "to": to}
        lines.append(json.dumps({**told, "instruction": f"add a {to}"}) + "\n")
    (folder / "bench" / "edits.jsonl").write_text("".join(lines))


def one_thread() -> dict[str, str]:
    """So that processes are compared, not threads."""
    return dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


@contextmanager
def fresh_answers() -> Iterator[dict[str, str]]:
    """Settings for a cache that has all weights of the usual one, and no answer."""
    from editgauge.core.fetch import cache_root

    with tempfile.TemporaryDirectory() as temporary:
        for there in cache_root().iterdir():
            if there.name != "answers":
                (Path(temporary) / there.name).symlink_to(there)
        yield {"EDITGAUGE_CACHE": temporary}


def run(folder: Path, out: str, *words: str, settings: dict[str, str] | None = None) -> float:
    """Seconds of one whole `editgauge run` into a new folder."""
    shutil.rmtree(folder / out, ignore_errors=True)
    command = [sys.executable, "-m", "editgauge", "run", str(folder / "bench"), "--quiet"]
    command += ["--outcomes", f"m={folder / 'outcomes'}", "--out", str(folder / out), *words]
    return took(command, settings or {})


def took(command: list[str], settings: dict[str, str]) -> float:
    """Seconds until a command has ended."""
    started = time.perf_counter()
    subprocess.run(command, env={**os.environ, **settings}, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


def main() -> None:
    """Prints the table."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--edits", type=int, default=30, help="for editval")
    options.add_argument("--items", type=int, default=120, help="for processes and ray")
    options.add_argument("--only", default="editval,metrics,processes,ray")
    chosen = options.parse_args()
    parts: dict[str, Callable[[], Iterator[Row]]] = {
        "editval": lambda: editval(chosen.edits),
        "metrics": pixel_metrics,
        "processes": lambda: processes(chosen.items),
        "ray": lambda: ray(chosen.items),
    }
    load = os.getloadavg()[0]
    table = Table(title=f"Ratios of one run, {os.cpu_count()} cores, {load:.1f} processes at work when it began")
    for heading in ("what", "against", "took", "ours", "took", "times faster"):
        table.add_column(heading, justify="right" if heading in {"took", "times faster"} else "left")
    for name in chosen.only.split(","):
        for row in parts[name]():
            first, second = (f"{each:.2f} {row.unit}" for each in (row.plain_took, row.ours_took))
            table.add_row(row.what, row.plain, first, row.ours, second, f"{row.plain_took / row.ours_took:.2f}")
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
