"""The score service against calling `score` in a loop: requests per second, processor time, latency, memory.

    python benchmarks/service.py [--pairs 24] [--soak-seconds 0]

Two kinds of work, both of pictures that no cache has seen: every pair another source image, and groups of eight
outcomes of one source image, as in reinforcement learning or when methods are compared. Both are done by

- `editgauge.score` in a loop, which loads its models for each call,
- `editgauge.Scorer` in a loop, whose models stay loaded,
- the service, asked by eight clients at once.

Answers are kept on disk as always, so the loop looks at a source image once too. Processor time hardly depends on what
else the machine does; requests per second do. `--soak-seconds 600` sends mixed good and bad requests and prints how
each kind was answered, and the memory of the process.
"""

from __future__ import annotations

import argparse
import base64
import socket
import threading
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import count, islice
from typing import Any

import httpx
import numpy as np
import psutil
import skimage.data
import uvicorn

import editgauge
from editgauge.core.http import server_config
from editgauge.core.images import Pixels, png_bytes
from editgauge.look.scorer import Scorer
from editgauge.serving.app import ServiceLimits, make_app

CLIENTS = 8
INSTRUCTION = "Make the cat darker."
Pair = tuple[Pixels, Pixels]


@dataclass(frozen=True, slots=True)
class Speed:
    """How fast some pairs were scored."""

    per_second: float
    processor_seconds: float
    """Of one pair."""


def pairs(number: int, outcomes_per_source: int) -> list[Pair]:
    """Cats and darker cats, with a little noise that makes them new to every cache."""
    return list(islice(_pairs(outcomes_per_source), number))


def _pairs(outcomes_per_source: int) -> Iterator[Pair]:
    noise = np.random.default_rng()
    while True:
        cat = skimage.data.chelsea()[:300, :400] // 2 + noise.integers(0, 2, (300, 400, 3), dtype=np.uint8) + 60
        for _ in range(outcomes_per_source):
            yield cat, (cat * noise.uniform(0.4, 0.8)).astype(np.uint8)


def body(pair: Pair) -> dict[str, Any]:
    source, outcome = (base64.b64encode(png_bytes(pixels)).decode() for pixels in pair)
    return {"sources": [source], "outcome": outcome, "instruction": INSTRUCTION}


def speed_of(work: Callable[[], object], number: int) -> Speed:
    since, processor = time.perf_counter(), time.process_time()
    work()
    return Speed(number / (time.perf_counter() - since), (time.process_time() - processor) / number)


def in_turn(score: Callable[[Pixels, Pixels, str], object], work: Sequence[Pair]) -> None:
    for pair in work:
        score(*pair, INSTRUCTION)


def over_http(address: str, bodies: Sequence[dict[str, Any]], seconds: list[float]) -> None:
    """Asks for all of them; `seconds` gets the time of each request."""

    def ask(content: dict[str, Any]) -> float:
        since = time.perf_counter()
        httpx.post(f"{address}/v1/score", json=content, timeout=900).raise_for_status()
        return time.perf_counter() - since

    with ThreadPoolExecutor(CLIENTS) as clients:
        seconds.extend(clients.map(ask, bodies))


def soak(address: str, seconds: float) -> None:
    """Mixed good and bad requests; prints how each kind was answered, and how memory moved."""
    good, statuses = _pairs(CLIENTS), Counter[str]()
    process, until = psutil.Process(), time.monotonic() + seconds
    picture = png_bytes(next(good)[0])
    bad: dict[str, dict[str, Any]] = {
        "empty": {},
        "not base64": {"sources": ["§"], "outcome": "§", "instruction": "x"},
        "text file": {**body(next(good)), "outcome": base64.b64encode(b"no image").decode()},
        "cut file": {**body(next(good)), "outcome": base64.b64encode(picture[: len(picture) // 2]).decode()},
        "picture bomb": {**body(next(good)), "outcome": base64.b64encode(bomb(picture)).decode()},
        "wrong type": {**body(next(good)), "edit_type": "nonsense"},
    }

    def ask(kind: str, content: dict[str, Any]) -> str:
        return f"{kind}: {httpx.post(f'{address}/v1/score', json=content, timeout=900).status_code}"

    with ThreadPoolExecutor(2 * CLIENTS) as clients:
        for turn in count(1):
            requests = [("good", body(pair)) for pair in islice(good, CLIENTS)] + list(bad.items())
            statuses.update(clients.map(ask, *zip(*requests, strict=True)))
            over = time.monotonic() > until
            if turn % 10 == 1 or over:
                megabytes = process.memory_info().rss / 1e6
                print(
                    f"{megabytes:.0f} MB, {process.num_threads()} threads after {statuses.total()} requests", flush=True
                )
            if over:
                break
    print(", ".join(f"{answer} x {number}" for answer, number in sorted(statuses.items())))


def bomb(png: bytes) -> bytes:
    """The same small file, whose header claims 60,000 x 60,000 pixels."""
    header = png[12:16] + (60_000).to_bytes(4) * 2 + png[24:29]
    return png[:12] + header + zlib.crc32(header).to_bytes(4) + png[33:]


@contextmanager
def online(scorer: Scorer) -> Iterator[str]:
    """The address of a service with these models."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = uvicorn.Server(server_config(make_app(scorer, limits=ServiceLimits(seconds=900))))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        server.should_exit = True
        thread.join()


def show(name: str, speed: Speed, loop: Speed) -> None:
    ratios = speed.per_second / loop.per_second, loop.processor_seconds / speed.processor_seconds
    print(
        f"  {name:<24} {speed.per_second:6.2f} a second ({ratios[0]:4.1f} x), "
        f"{speed.processor_seconds:5.2f} CPU seconds each ({ratios[1]:4.1f} x less)",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=24)
    parser.add_argument("--soak-seconds", type=float, default=0)
    options = parser.parse_args()
    with Scorer() as scorer:
        scorer.warm_up().result()
        for pair in pairs(1, 1):
            scorer.score(*pair, INSTRUCTION)
        with online(scorer) as address:
            for group in (1, 8):
                print("every pair another source" if group == 1 else f"{group} outcomes of each source")
                work = pairs(options.pairs, group)
                loop = speed_of(partial(in_turn, editgauge.score, work), len(work))
                show("`score` in a loop", loop, loop)
                work = pairs(options.pairs, group)
                show(
                    "`Scorer` in a loop",
                    speed_of(partial(in_turn, scorer.score, work), len(work)),
                    loop,
                )
                bodies = [body(each) for each in pairs(options.pairs, group)]
                seconds: list[float] = []
                show("the service", speed_of(partial(over_http, address, bodies, seconds), len(bodies)), loop)
                shares = zip((50, 95, 99), np.percentile(seconds, (50, 95, 99)), strict=True)
                print("  latency " + ", ".join(f"p{share} {value:.2f} s" for share, value in shares))
            if options.soak_seconds:
                soak(address, options.soak_seconds)


if __name__ == "__main__":
    main()
