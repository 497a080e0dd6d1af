"""Speed of a study's web app: what a rater waits for, by the number of items and of raters.

    python benchmarks/study.py [--items 100 1000 10000 100000] [--raters 1 10 50] [--pages 40] [--database URL]

Each study is served by a process of its own. A rater's page is asked for (`/next` and the page it leads to) and handed
in, over HTTP; figures are medians, with ratios to the smallest study that has as many raters. Flat is right: the number
of items must not show. Raters at once share one server, so their wait grows with them. With --database each study gets
a PostgreSQL database of its own, made and dropped on the server of that URL.
"""

from __future__ import annotations

import argparse
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import numpy as np

from editgauge._util.images import write_png
from editgauge.studies import Study
from editgauge.studies.store import Database, StudyCell, StudyItem
from editgauge.studies.study import DESIGN, IMAGES, StudyManifest

if TYPE_CHECKING:
    from collections.abc import Iterator

METHODS, TYPES, RATERS = 8, 13, 3
NAMES = [f"{number:040x}.png" for number in range(8)]
DESIGN_TEXT = """
title: Speed
about: One question.
unit: outcome
instructions: Look and say.
text: "{instruction}"
questions:
  - {id: good, kind: scale, label: How good?, options: [{value: 0, label: bad}, {value: 1, label: good}]}
fast_seconds: 0
"""


def make_study(folder: Path, items: int, database: str | None) -> Study:
    """Write a study of that many items directly into the database, without copying images."""
    (folder / IMAGES).mkdir(parents=True)
    for name in NAMES:
        write_png(np.zeros((64, 64, 3), dtype=np.uint8), folder / IMAGES / name)
    (folder / DESIGN).write_text(DESIGN_TEXT, encoding="utf-8")
    told: dict[str, Any] = {"database": database} if database else {}
    manifest = StudyManifest(
        study=folder.name, editgauge="0", created="2026-01-01T00:00:00+00:00", run="none", design="speed",
        raters=RATERS, seed=0, sample="all", items=items, gold=0, **told,
    )  # fmt: skip
    manifest.save(folder)
    store = Database(manifest.url(folder))
    store.make(manifest.study)
    shuffled = np.random.default_rng(0).integers(0, 2**31, items)
    cells = min(METHODS * TYPES, items)
    with store.write() as session:
        sizes = [len(range(cell, items, cells)) for cell in range(cells)]
        session.add_all(
            StudyCell(id=c + 1, name=f"{c}", items=n, requested=n * RATERS, taken=0) for c, n in enumerate(sizes)
        )
        session.flush()
        rows = [
            {
                "key": f"item {n}", "kind": "rated", "cell_id": n % cells + 1, "shuffle": int(shuffled[n]),
                "free": RATERS, "is_open": True, "edit": f"edit {n}", "right": None,
                "content": {
                    "edit": {"instruction": f"make number {n} shine", "type": "color"},
                    "source": NAMES[n % 4],
                    "compared": [{"method": f"m{n % METHODS}", "seed": 0, "image": NAMES[4 + n % 4]}],
                },
            }
            for n in range(items)
        ]  # fmt: skip
        session.bulk_insert_mappings(StudyItem.__mapper__, rows)
    store.close()
    return Study.open(folder)


@contextmanager
def served(folder: Path) -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "editgauge", "study", "serve", str(folder), "--port", str(port)]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        address = f"http://127.0.0.1:{port}"
        try:
            for _ in range(600):
                try:
                    httpx.get(address)
                    break
                except httpx.TransportError:
                    time.sleep(0.05)
            yield address
        finally:
            process.kill()


class Rater:
    """A rater who asks for a page and hands it in, with a clock in hand."""

    def __init__(self, address: str, token: str) -> None:
        self.client = httpx.Client(base_url=address, cookies={"editgauge_rater": token}, timeout=60)

    def rate(self) -> tuple[float, float]:
        """Seconds until a page is there, and until it is handed in."""
        started = time.perf_counter()
        path = self._ask("GET", "/next").headers["location"]
        page = self._ask("GET", path)
        shown = time.perf_counter()
        seal = page.text.partition('name="form-token" value="')[2].partition('"')[0]
        self._ask("POST", path, data={"form-token": seal, "good": "1"})
        return shown - started, time.perf_counter() - shown

    def _ask(self, method: str, path: str, **options: Any) -> httpx.Response:
        response = self.client.request(method, path, **options)
        if response.status_code not in (200, 303):
            sys.exit(f"{method} {path}: {response.status_code} {response.text[:200]}")
        return response


def measure(raters: dict[int, list[Rater]], rounds: int) -> dict[int, list[tuple[float, float]]]:
    """Alternate between the studies, so that other load affects all of them equally."""
    found: dict[int, list[tuple[float, float]]] = {items: [] for items in raters}
    with ThreadPoolExecutor(max(map(len, raters.values()))) as pool:
        for number in range(rounds + 1):
            for items, people in raters.items():
                times = list(pool.map(Rater.rate, people))
                found[items] += times if number else []  # the first round warms up
    return found


@contextmanager
def new_database(url: str | None, name: str) -> Iterator[str | None]:
    if url is None:
        yield None
        return
    import psycopg

    with psycopg.connect(url, autocommit=True) as server:
        server.execute(f'CREATE DATABASE "{name}"'.encode())
        made = httpx.URL(url).copy_with(path=f"/{name}")
        try:
            yield str(made)
        finally:
            server.execute(f'DROP DATABASE "{name}" WITH (FORCE)'.encode())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, nargs="+", default=[100, 1_000, 10_000, 100_000])
    parser.add_argument("--raters", type=int, nargs="+", default=[1, 10, 50])
    parser.add_argument("--pages", type=int, default=40, help="for each row, and at least 3 for each rater")
    parser.add_argument("--database", help="a PostgreSQL URL; without it, SQLite")
    options = parser.parse_args()
    with ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        studies, addresses = {}, {}
        for items in options.items:
            database = stack.enter_context(new_database(options.database, f"speed{items}"))
            studies[items] = stack.enter_context(make_study(place / str(items), items, database))
            addresses[items] = stack.enter_context(served(place / str(items)))
        print(f"{'raters':>7} {'items':>8} {'page':>9} {'ratio':>6} {'hand in':>9} {'ratio':>6} {'slowest page':>13}")
        for count in options.raters:
            rounds = max(3, options.pages // count)
            large = [items for items in options.items if count * rounds < items * RATERS / 2]
            raters = {
                items: [Rater(addresses[items], each.token) for each in studies[items].invite(count)] for items in large
            }
            show(count, measure(raters, rounds))


def show(raters: int, found: dict[int, list[tuple[float, float]]]) -> None:
    """Medians, and their ratios to those of the smallest study."""
    first: tuple[float, float] | None = None
    for items, times in found.items():
        pages, answers = zip(*times, strict=True)
        page, answer = statistics.median(pages), statistics.median(answers)
        first = first or (page, answer)
        print(
            f"{raters:>7} {items:>8,} {page * 1e3:>6.1f} ms {page / first[0]:>6.2f} "
            f"{answer * 1e3:>6.1f} ms {answer / first[1]:>6.2f} {max(pages) * 1e3:>10.1f} ms"
        )


if __name__ == "__main__":
    main()
