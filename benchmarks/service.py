"""The score service against calling `score` in a loop: requests per second, latency, memory, as measured in one run.

    python benchmarks/service.py [--pairs 24] [--soak-seconds 0]

The loop calls `editgauge.score` in this process, which loads its models for each call, as a user's script would. The
service gets the same pairs from several clients at once. Answers are not remembered from one to the other: every pair
is a new picture. `--soak-seconds 600` sends mixed good and bad requests and prints statuses and memory.
"""

from __future__ import annotations

import argparse
import base64
import os
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import count

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ["EDITGAUGE_CACHE_BYTES"] = "0"

import httpx
import numpy as np
import psutil
import skimage.data
import uvicorn

import editgauge
from editgauge.core.http import server_config
from editgauge.core.images import Pixels, png_bytes
from editgauge.look.scorer import Scorer
from editgauge.serving.app import make_app

CLIENTS = 8


def pair(number: int) -> tuple[Pixels, Pixels]:
    """A cat and a darker cat, with a pixel that makes them new to every cache."""
    cat = np.ascontiguousarray(skimage.data.chelsea()[:300, :400])
    cat[number % 300, number // 300 % 400] ^= 1
    return cat, (cat * 0.6).astype(np.uint8)


def body(number: int) -> dict[str, object]:
    before, after = (base64.b64encode(png_bytes(pixels)).decode() for pixels in pair(number))
    return {"sources": [before], "outcome": after, "instruction": "Make the cat darker."}


def in_a_loop(pairs: int) -> float:
    began = time.perf_counter()
    for number in range(pairs):
        editgauge.score(*pair(number), "Make the cat darker.")
    return pairs / (time.perf_counter() - began)


def over_http(address: str, pairs: int) -> tuple[float, list[float]]:
    seconds: list[float] = []

    def ask(number: int) -> None:
        since = time.perf_counter()
        httpx.post(f"{address}/v1/score", json=body(number), timeout=600).raise_for_status()
        seconds.append(time.perf_counter() - since)

    began = time.perf_counter()
    with ThreadPoolExecutor(CLIENTS) as clients:
        list(clients.map(ask, range(10_000, 10_000 + pairs)))
    return pairs / (time.perf_counter() - began), sorted(seconds)


def soak(address: str, seconds: float) -> None:
    """Mixed good and bad requests; prints how each kind was answered, and how memory moved."""
    bad = [{}, {"sources": ["x"], "outcome": "x", "instruction": "x"}, {**body(0), "outcome": "bm8gaW1hZ2U="}]
    statuses: dict[tuple[str, int], int] = {}
    process, until = psutil.Process(), time.monotonic() + seconds
    with ThreadPoolExecutor(CLIENTS) as clients:

        def ask(number: int) -> tuple[str, int]:
            content = bad[number % 3] if number % 2 else body(number)
            kind = "bad" if number % 2 else "good"
            return kind, httpx.post(f"{address}/v1/score", json=content, timeout=600).status_code

        for start in count(0, 4 * CLIENTS):
            for answer in clients.map(ask, range(start, start + 4 * CLIENTS)):
                statuses[answer] = statuses.get(answer, 0) + 1
            if start % (40 * CLIENTS) == 0:
                print(f"{process.memory_info().rss / 1e6:.0f} MB after {sum(statuses.values())} requests", flush=True)
            if time.monotonic() > until:
                break
    print({f"{kind} {status}": number for (kind, status), number in sorted(statuses.items())})


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=24)
    parser.add_argument("--soak-seconds", type=float, default=0)
    given = parser.parse_args()
    plain = in_a_loop(given.pairs)
    with Scorer() as scorer, socket.create_server(("127.0.0.1", 0)) as listening:
        scorer.warm_up().result()
        address = f"http://127.0.0.1:{listening.getsockname()[1]}"
        server = uvicorn.Server(server_config(make_app(scorer)))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        served, seconds = over_http(address, given.pairs)
        if given.soak_seconds:
            soak(address, given.soak_seconds)
        server.should_exit = True
        thread.join()
    percentile = {share: seconds[min(len(seconds) - 1, int(share / 100 * len(seconds)))] for share in (50, 95, 99)}
    print(f"`score` in a loop: {plain:.2f} a second; the service: {served:.2f} a second; ratio {served / plain:.1f}")
    print("latency " + ", ".join(f"p{share} {value:.2f} s" for share, value in percentile.items()))


if __name__ == "__main__":
    main()
