"""What speed is worth, as one table of ratios, all measured in this run on this machine.

    python benchmarks/ratios.py [--edits 100] [--items 500] [--growth 100,1000,10000] [--only editval,…] [--out FILE.md]

- editval: our run against a plain loop that does what released scripts do: for every edit, every picture and every
  question it decodes the picture and runs the whole network. Same models, same pictures; in one process, and as
  `editgauge run` does it when told nothing; and a second run, into a new folder, which finds all answers remembered.
- pixels, regions: our metrics against scikit-image's and torchmetrics' for one pair.
- processes: the pixel protocol on two processes against one.
- growth: what an edit costs, and what the run holds in memory, with ten times as many edits.
- ray: the pixel protocol on a Ray cluster of two nodes of one core each against two local processes.
- slow: what was slow once, done in the plain way, against how it is done now.

Start-up and loading are included wherever a command is measured. A ratio above 1 speaks for us.
"""

from __future__ import annotations

import argparse
import itertools
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

import cv2
import numpy as np
import scale
import skimage.data
from pairs import pixel_metrics, region_metrics
from rows import Row, show, write
from runner import make_benchmark
from slow import slow_things

SIDE = 512
EDITS_OF_A_SOURCE = 5
WORDS = ("cat", "cup", "person", "chair", "dog")
DETECTOR, EMBEDDER = "efficientdet-lite2", "augnet"
PLAIN = """
import json, sys
from pathlib import Path
import numpy as np
from PIL import Image
from editgauge.models import models

detector, embedder = models.get({detector!r})(), models.get({embedder!r})()
for edit in map(json.loads, Path(sys.argv[1]).read_text().splitlines()):
    source, outcome = Path(sys.argv[1]).parent / edit["source"], Path(sys.argv[2]) / (edit["id"] + ".png")
    for word in (edit["to"], edit["subject"]):
        picture = np.asarray(Image.open(outcome).convert("RGB"))
        detector.find([(detector.look([picture])[0], (word,))])
    before, after = (embedder.embed([np.asarray(Image.open(path).convert("RGB"))])[0] for path in (source, outcome))
    before @ after / np.linalg.norm(before) / np.linalg.norm(after)
"""


def editval(edits: int) -> Iterator[Row]:
    """Compare a plain loop with a run in one process, on all cores, and repeated."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        make_edits(folder, edits)
        loop = [sys.executable, "-c", PLAIN.format(detector=DETECTOR, embedder=EMBEDDER)]
        loop += [str(folder / "bench" / "edits.jsonl"), str(folder / "outcomes")]
        plain, plain_on_all = took(loop, one_thread()), took(loop, {})
        words = ["--protocol", "editval", "--model", f"detector={DETECTOR}", "--model", f"image_embedder={EMBEDDER}"]
        kept = {"EDITGAUGE_CACHE_BYTES": "10e9"}
        with fresh_answers() as remembered:
            alone = kept | remembered | one_thread()
            first, second = (run(folder, name, *words, "--processes", "1", settings=alone) for name in ("1", "2"))
        with fresh_answers() as remembered:
            usual = run(folder, "usual", *words, settings=kept | remembered)
        what = f"EditVal, {edits} edits of {-(-edits // EDITS_OF_A_SOURCE)} photographs"
        yield Row(f"{what}, one thread", "one forward per question", plain, "editgauge run, 1 process", first)
        yield Row(f"{what}, all cores", "one forward per question", plain_on_all, "editgauge run", usual)
        yield Row(f"{what}, one thread", "first run", first, "second run", second)


def processes(items: int) -> Iterator[Row]:
    """One process and two."""
    with tempfile.TemporaryDirectory() as temporary:
        make_benchmark(Path(temporary), items, SIDE)
        one, two = (run(Path(temporary), f"run{n}", "--processes", str(n), settings=one_thread()) for n in (1, 2))
        yield Row(f"preservation, {items} items", "1 process", one, "2 processes", two)


def growth(sizes: list[int]) -> Iterator[Row]:
    """Compare cost per edit and memory of a run between consecutive sizes."""
    measured = []
    for edits in sizes:
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary) / "load"
            scale.make_benchmark(folder, edits)
            _, words = next(scale.steps(folder))
            measured.append((f"{edits:,} edits", edits, scale.measure(folder, words)))
    for (fewer, few, one), (more, many, other) in itertools.pairwise(measured):
        yield Row("growth: an edit, processor time", fewer, 1e3 * one.cpu / few, more, 1e3 * other.cpu / many, "ms")
        yield Row("growth: memory of the run", fewer, one.megabytes, more, other.megabytes, "MB")


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
    """Yield environment variables of a cache with all weights and no cached answers."""
    from editgauge._util.packages import cache_root

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
    """Print the table."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--edits", type=int, default=100, help="for editval")
    options.add_argument("--items", type=int, default=500, help="for processes and ray")
    options.add_argument("--growth", default="100,1000,10000", help="numbers of edits; 100000 takes two minutes more")
    options.add_argument("--only", default="editval,pixels,regions,processes,growth,ray,slow")
    options.add_argument("--out", type=Path, help="write the table here, too: Markdown, or JSON by the name")
    chosen = options.parse_args()
    parts: dict[str, Callable[[], Iterator[Row]]] = {
        "editval": lambda: editval(chosen.edits),
        "pixels": pixel_metrics,
        "regions": region_metrics,
        "processes": lambda: processes(chosen.items),
        "growth": lambda: growth([int(size) for size in chosen.growth.split(",")]),
        "ray": lambda: ray(chosen.items),
        "slow": lambda: slow_things(DETECTOR),
    }
    load = os.getloadavg()[0]
    if load > 1:
        print(f"{load:.1f} processes are at work already: seconds by the clock will be too long, ratios unsure.")
    rows: list[Row] = []
    for row in itertools.chain.from_iterable(parts[name]() for name in chosen.only.split(",")):
        print(*row.cells, sep=" | ", file=sys.stderr)
        rows.append(row)
    show(rows, load)
    if chosen.out:
        write(rows, load, chosen.out)


if __name__ == "__main__":
    main()
