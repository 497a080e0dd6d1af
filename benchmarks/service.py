"""The score service against calling `score` in a loop: requests per second, processor time, latency; and a long soak.

    python benchmarks/service.py [--sources 32] [--outcomes 8] [--clients 16]
    python benchmarks/service.py --soak-seconds 600

The load is that of reinforcement learning, or of a comparison of methods: photographs of the built-in sample with their
instructions, and several outcomes of each. An outcome is a right or a destroyed edit with a little noise of its own, as
PNG; sources get noise too, so no cache has seen any picture. The models are warm: both sides have scored before. Every
way of working gets pictures of its own:

- the loop calls `editgauge.score` outcome after outcome in one process, as one would without a service. It makes its
  models for each call; the answers of models about a source image are kept on disk and found there;
- one `editgauge.Scorer` does the same with models that stay loaded;
- the service is `editgauge serve` with its defaults, asked by some clients at once over HTTP, one outcome a request.

Pictures are encoded before the clock starts. Processor time is that of the processes that score and serve, without
that of the clients. `--soak-seconds` sends mixed good and bad requests instead, and prints how each kind was answered,
and the memory of the service.
"""

from __future__ import annotations

import argparse
import base64
import random
import socket
import subprocess
import sys
import threading
import time
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from itertools import cycle
from typing import Any, NamedTuple

import httpx
import numpy as np
import psutil

import editgauge
from editgauge._util.images import Pixels, load_image, png_bytes, read_image
from editgauge.benchmarks import open_benchmark
from editgauge.errors import CannotEditError
from editgauge.methods.reference.editors import recipe_of
from editgauge.methods.reference.operations import apply_recipe
from editgauge.types import Edit

TOKEN = "a-token-for-the-benchmark"
NOISE = np.random.default_rng()


class Triple(NamedTuple):
    """What is scored."""

    source: bytes
    outcome: bytes
    instruction: str


class Speed(NamedTuple):
    """How fast some triples were scored."""

    per_second: float
    processor_seconds: float
    """Of one triple."""


def triples(sources: int, outcomes: int) -> list[Triple]:
    """So many source images with so many outcomes each, unknown to every cache."""
    edits = [edit for edit in open_benchmark("sample").edits if edit.type != "background"]
    return [triple for _, edit in zip(range(sources), cycle(edits), strict=False) for triple in _group(edit, outcomes)]


def _group(edit: Edit, outcomes: int) -> Iterator[Triple]:
    source = _noisy(read_image(edit.source.path))
    with suppress(CannotEditError):
        right = apply_recipe(recipe_of(edit, source), source)
        for number in range(outcomes):
            outcome = right if number % 4 else source[::-1]
            yield Triple(png_bytes(source), png_bytes(_noisy(outcome)), edit.instruction)


def _noisy(pixels: Pixels) -> Pixels:
    noise = NOISE.integers(-2, 3, pixels.shape, np.int16)
    noisy: Pixels = np.clip(pixels + noise, 0, 255).astype(np.uint8)
    return noisy


def body(triple: Triple) -> dict[str, Any]:
    source, outcome = (base64.b64encode(each).decode() for each in triple[:2])
    return {"sources": [source], "outcome": outcome, "instruction": triple.instruction}


def of_loop(score: Any, work: Sequence[Triple]) -> Speed:
    since, processor = time.perf_counter(), time.process_time()
    for triple in work:
        score(*triple)
    return Speed(len(work) / (time.perf_counter() - since), (time.process_time() - processor) / len(work))


class Service:
    """`editgauge serve` on a free port, in a process of its own."""

    def __init__(self, address: str, process: psutil.Process) -> None:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        self.address, self._process = address, process
        self.http = httpx.Client(base_url=address, headers=headers, timeout=900)

    def speed(self, work: Sequence[Triple], clients: int, seconds: list[float]) -> Speed:
        """`seconds` gets the time of each request."""
        bodies = [body(triple) for triple in work]

        def ask(content: dict[str, Any]) -> float:
            since = time.perf_counter()
            self.http.post("/v1/score", json=content).raise_for_status()
            return time.perf_counter() - since

        since, processor = time.perf_counter(), self.processor_seconds()
        with ThreadPoolExecutor(clients) as threads:
            seconds.extend(threads.map(ask, bodies))
        took, processor = time.perf_counter() - since, self.processor_seconds() - processor
        return Speed(len(work) / took, processor / len(work))

    def processes(self) -> list[psutil.Process]:
        return [self._process, *self._process.children(recursive=True)]

    def processor_seconds(self) -> float:
        return sum(sum(each.cpu_times()[:2]) for each in self.processes())

    def megabytes(self) -> float:
        return sum(each.memory_info().rss for each in self.processes()) / 1e6


@contextmanager
def online(*options: str) -> Iterator[Service]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "editgauge", "serve", "--port", str(port), "--timeout", "900", *options]
    process = subprocess.Popen(command, env={**psutil.Process().environ(), "EDITGAUGE_SERVE_TOKENS": TOKEN})
    try:
        service = Service(f"http://127.0.0.1:{port}", psutil.Process(process.pid))
        while not _is_ready(service.http):
            if process.poll() is not None:
                raise SystemExit("The service ended before it was ready.")
            time.sleep(0.2)
        yield service
    finally:
        process.terminate()
        process.wait()


def _is_ready(http: httpx.Client) -> bool:
    try:
        return http.get("/readyz").is_success
    except httpx.TransportError:
        return False


def compare(sources: int, outcomes: int, clients: int) -> None:
    """Print the throughput of every variant and the latency of the service."""
    number = f"{sources} source images with {outcomes} outcomes each"
    print(f"{number}; {clients} clients at once; {psutil.cpu_count()} cores", flush=True)
    first = triples(1, 1)
    of_loop(editgauge.score, first)
    loop = of_loop(editgauge.score, triples(sources, outcomes))
    show("`score` in a loop", loop, loop)
    with editgauge.Scorer() as scorer:
        of_loop(scorer.score, first)
        show("`Scorer` in a loop", of_loop(scorer.score, triples(sources, outcomes)), loop)
    with online("--quiet") as service:
        service.speed(triples(2, 2), clients, [])
        seconds: list[float] = []
        show("the service", service.speed(triples(sources, outcomes), clients, seconds), loop)
    shares = zip((50, 95, 99), np.percentile(seconds, (50, 95, 99)), strict=True)
    print("  latency " + ", ".join(f"p{share} {value:.2f} s" for share, value in shares))


def show(name: str, speed: Speed, loop: Speed) -> None:
    ratios = speed.per_second / loop.per_second, loop.processor_seconds / speed.processor_seconds
    print(
        f"  {name:<20} {speed.per_second:6.2f} a second ({ratios[0]:4.1f} x), "
        f"{speed.processor_seconds:5.2f} CPU seconds each ({ratios[1]:4.1f} x less)",
        flush=True,
    )


class Soak:
    """Mixed good and bad requests; counts how each kind was answered, and watches memory."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.answers = Counter[str]()
        self._lock = threading.Lock()
        self._triples = triples(8, 4)
        first, picture = body(self._triples[0]), self._triples[0].outcome
        self._bad: dict[str, dict[str, Any]] = {
            "empty": {},
            "not base64": {**first, "outcome": "§"},
            "text file": {**first, "outcome": base64.b64encode(b"no image").decode()},
            "cut file": {**first, "outcome": base64.b64encode(picture[: len(picture) // 2]).decode()},
            "picture bomb": {**first, "outcome": base64.b64encode(bomb(picture)).decode()},
            "unknown type": {**first, "edit_type": "nonsense"},
            "two sources": {**first, "sources": first["sources"] * 2},
        }

    def _good(self) -> dict[str, Any]:
        """Return a request that was not sent before, so that no cached answer is measured."""
        triple = random.choice(self._triples)
        return body(triple._replace(outcome=png_bytes(_noisy(load_image(triple.outcome).pixels))))

    def run(self, seconds: float, clients: int) -> None:
        """Send requests until the time is over and print memory about twenty times."""
        until = time.monotonic() + seconds
        threads = [threading.Thread(target=self._client, args=(until,)) for _ in range(clients)]
        for thread in threads:
            thread.start()
        for _ in range(20):
            self._print_memory()
            time.sleep(seconds / 20)
        for thread in threads:
            thread.join()
        self._print_memory()
        print(", ".join(f"{answer} x {number}" for answer, number in sorted(self.answers.items())))

    def _print_memory(self) -> None:
        processes = len(self.service.processes())
        scored = self.answers["good: 200"]
        print(
            f"{self.service.megabytes():6.0f} MB in {processes} processes after {self.answers.total()} requests, "
            f"{scored} of them scored",
            flush=True,
        )

    def _client(self, until: float) -> None:
        kinds = [*self._bad, *["good"] * len(self._bad), "wrong token", "no such page", "slow client", "disconnect"]
        while time.monotonic() < until:
            kind = random.choice(kinds)
            answer = self._ask(kind)
            with self._lock:
                self.answers[f"{kind}: {answer}"] += 1

    def _ask(self, kind: str) -> str:
        http = self.service.http
        if kind in self._bad or kind == "good":
            content = self._bad[kind] if kind in self._bad else self._good()
            return str(http.post("/v1/score", json=content).status_code)
        if kind == "wrong token":
            return str(http.post("/v1/score", json={}, headers={"Authorization": "Bearer wrong"}).status_code)
        if kind == "no such page":
            return str(http.get("/v2/score").status_code)
        return self._by_hand(slow=kind == "slow client")

    def _by_hand(self, *, slow: bool) -> str:
        """Act as a client that sends single bytes slowly, or disconnects during scoring."""
        request = httpx.Request("POST", "http://here/v1/score", json=self._good())
        lines = ["POST /v1/score HTTP/1.1", "Host: here", f"Authorization: Bearer {TOKEN}"]
        lines += ["Content-Type: application/json", f"Content-Length: {len(request.content)}"]
        host, port = self.service.address.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as connection:
            connection.sendall("\r\n".join([*lines, "", ""]).encode())
            if slow:
                for byte in request.content[:20]:
                    connection.sendall(bytes([byte]))
                    time.sleep(0.05)
                return "left in the middle"
            connection.sendall(request.content)
        return "left before the answer"


def bomb(png: bytes) -> bytes:
    """Return the same small file with a header that claims 60,000 x 60,000 pixels."""
    header = png[12:16] + (60_000).to_bytes(4) * 2 + png[24:29]
    return png[:12] + header + zlib.crc32(header).to_bytes(4) + png[33:]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sources", type=int, default=32)
    parser.add_argument("--outcomes", type=int, default=8)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--soak-seconds", type=float, default=0)
    options = parser.parse_args()
    if options.soak_seconds:
        with online("--quiet", "--items", "1000") as service:
            Soak(service).run(options.soak_seconds, options.clients)
    else:
        compare(options.sources, options.outcomes, options.clients)


if __name__ == "__main__":
    main()
