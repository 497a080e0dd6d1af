"""A worker process: receives a setup and tasks as pickles on standard input, sends scores on standard output.

Started as `python -m editgauge.engine._worker`; it ends when its input does.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import cv2

from editgauge._util import profiling
from editgauge._util.profiling import write_part
from editgauge._util.progress import print_log
from editgauge.engine._judges import write_question_counts
from editgauge.engine._options import open_protocols
from editgauge.engine._perception import MemoryGate, RunPerception
from editgauge.engine._schedule import ALIVE, HEARTBEAT_SECONDS, READY, REFUSED, Setup
from editgauge.engine._scoring import ScoringTask, score_task
from editgauge.errors import EditGaugeError

PIPE_ERRORS = (EOFError, OSError, pickle.UnpicklingError)
"""What reading from a pipe raises when the parent is gone: at its end, when closed, or in the middle of a message."""
MMAP_THRESHOLD_BYTES = 32 << 20
"""Arrays up to this size come from memory that is reused; glibc takes no larger value."""
TRIM_THRESHOLD_BYTES = 128 << 20
"""Freed memory that the process may keep."""
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # of <malloc.h>


def configure_process() -> None:
    """Configure a process that shares the cores with others, before it decodes the first image."""
    _reuse_freed_memory()
    cv2.setNumThreads(1)  # processes share the cores; threads of one library inside each would compete for them


def _reuse_freed_memory() -> None:
    """Let glibc reuse freed memory instead of requesting fresh pages for every array.

    Arrays of an image take some megabytes each and are short-lived: without this, up to a sixth of the time of a pixel
    protocol goes into page faults. Does nothing with other C libraries.
    """
    if sys.platform == "linux":
        mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
        if mallopt:
            mallopt(_M_MMAP_THRESHOLD, MMAP_THRESHOLD_BYTES)
            mallopt(_M_TRIM_THRESHOLD, TRIM_THRESHOLD_BYTES)


def open_pipes() -> tuple[BinaryIO, BinaryIO]:
    """Configure this process as a worker and return the pipes from and to its parent.

    Ctrl-C is left to the parent, which closes the pipe.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    configure_process()
    print_log()
    # What a plug-in prints must not mix with the results, nor a program it starts read the tasks.
    tasks, results = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    return tasks, results


class MessageWriter:
    """Writes numbered messages to the parent, and regularly one that says the process is alive.

    The heartbeat has its own thread: an item may keep the event loop busy for minutes.
    """

    def __init__(self, pipe: BinaryIO) -> None:
        self._pipe = pipe
        self._lock = threading.Lock()
        threading.Thread(target=self._beat, daemon=True).start()

    def send(self, number: int, content: object) -> None:
        """Write one message."""
        with self._lock:
            pickle.dump((number, content), self._pipe, pickle.HIGHEST_PROTOCOL)
            self._pipe.flush()

    def _beat(self) -> None:
        while True:
            time.sleep(HEARTBEAT_SECONDS)
            try:
                self.send(ALIVE, None)
            except (OSError, ValueError):  # the parent is gone, or the pipe is closed
                return


async def _serve(setup: Setup, tasks: BinaryIO, results: BinaryIO) -> None:
    send = MessageWriter(results).send

    try:
        protocols = {protocol.name: protocol for protocol in open_protocols(setup.protocols, setup.models)}
        perception = RunPerception(setup.models, setup.cache, setup.judge_config, setup.transcripts)
        gate = MemoryGate()
    except EditGaugeError as error:
        send(REFUSED, str(error))
        return
    loop, queue = asyncio.get_running_loop(), asyncio.Queue[tuple[int, ScoringTask] | None]()
    in_flight: set[int] = set()

    def listen() -> None:
        message: tuple[int, ScoringTask] | None
        while True:
            try:
                message = pickle.load(tasks)  # noqa: S301 - written by our own process
            except PIPE_ERRORS:
                message = None
            if message is None and in_flight:
                os._exit(1)  # the parent is gone, and with it the receiver of the scores
            if message is not None:
                in_flight.add(message[0])
            loop.call_soon_threadsafe(queue.put_nowait, message)
            if message is None:
                return

    async def score(number: int, task: ScoringTask) -> None:
        try:
            scored = await score_task(task, [protocols[name] for name in task.protocols], perception, gate)
        except EditGaugeError as error:
            send(REFUSED, str(error))
            return
        in_flight.remove(number)
        send(number, scored)

    send(READY, None)
    threading.Thread(target=listen, daemon=True).start()
    with _profile(setup.profile):
        async with perception, asyncio.TaskGroup() as group:
            while (message := await queue.get()) is not None:
                group.create_task(score(*message))
    write_question_counts(setup.question_counts, perception.questions)


@contextmanager
def _profile(folder: Path | None) -> Iterator[None]:
    """Write a profile of this process to the folder, if there is one. Needs a running event loop."""
    if folder is None:
        yield
        return
    recording = profiling.start()
    try:
        yield
    finally:
        profiling.stop()
        write_part(folder, recording.snapshot())


def main() -> None:
    """Score tasks until standard input ends."""
    tasks, results = open_pipes()
    try:
        setup: Setup = pickle.load(tasks)  # noqa: S301 - written by our own process
    except PIPE_ERRORS:
        os._exit(1)
    try:
        asyncio.run(_serve(setup, tasks, results))
    except* BrokenPipeError:
        os._exit(1)


if __name__ == "__main__":
    main()
