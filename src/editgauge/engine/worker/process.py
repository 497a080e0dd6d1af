"""A worker process: receives tasks as pickles on standard input, answers with records on standard output.

Started as `python -m editgauge.engine.worker.process`, so that a user's script needs no guard around its main part.
It works at many tasks at once: while one waits for perception, the next is taken up.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from editgauge._util import profiling
from editgauge._util.profiling import write_part
from editgauge.engine.options import choose
from editgauge.engine.record.judge_usage import leave_tally
from editgauge.engine.schedule.local import READY, REFUSED, Setup
from editgauge.engine.worker.memory import MemoryGate, set_up_worker
from editgauge.engine.worker.perception import RunPerception
from editgauge.engine.worker.scoring import ScoringTask, score_task
from editgauge.errors import EditGaugeError

PARENT_IS_GONE = (EOFError, OSError, pickle.UnpicklingError)
"""What reading from the pipe raises then: at its end, when it is closed, or in the middle of a message."""


async def _serve(setup: Setup, tasks_in: BinaryIO, answers_out: BinaryIO) -> None:
    def send(number: int, content: object) -> None:
        pickle.dump((number, content), answers_out)
        answers_out.flush()

    try:
        chosen = {protocol.name: protocol for protocol in choose(setup.protocols, setup.models)}
        see, gate = RunPerception(setup.models, setup.cache, setup.jury, setup.transcripts), MemoryGate()
    except EditGaugeError as error:
        send(REFUSED, str(error))
        return
    loop, waiting = asyncio.get_running_loop(), asyncio.Queue[tuple[int, ScoringTask] | None]()
    in_hand: set[int] = set()

    def listen() -> None:
        message: tuple[int, ScoringTask] | None
        while True:
            try:
                message = pickle.load(tasks_in)  # noqa: S301
            except PARENT_IS_GONE:
                message = None
            if message is None and in_hand:
                os._exit(1)  # the parent is gone, and with it the receiver of the scores
            if message is not None:
                in_hand.add(message[0])
            loop.call_soon_threadsafe(waiting.put_nowait, message)
            if message is None:
                return

    async def answer(number: int, task: ScoringTask) -> None:
        try:
            scored = await score_task(task, [chosen[name] for name in task.protocols], see, gate)
        except EditGaugeError as error:
            send(REFUSED, str(error))
            return
        in_hand.remove(number)
        send(number, scored)

    send(READY, None)
    threading.Thread(target=listen, daemon=True).start()
    with recorded(setup.profile):
        async with see, asyncio.TaskGroup() as group:
            while (message := await waiting.get()) is not None:
                group.create_task(answer(*message))
    leave_tally(setup.tallies, see.questions)


def as_worker() -> tuple[BinaryIO, BinaryIO]:
    """Makes this process one of several that share the cores; the pipes from and to its parent.

    Ctrl-C is the parent's business: it closes the pipe.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    set_up_worker()
    # What a plug-in prints must not land between the answers, nor a program it starts read the tasks away.
    tasks, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    return tasks, answers


def main() -> None:
    """Serves until standard input ends."""
    tasks, answers = as_worker()
    try:
        setup: Setup = pickle.load(tasks)  # noqa: S301 - both ends of the pipe are this program
    except PARENT_IS_GONE:
        os._exit(1)
    try:
        asyncio.run(_serve(setup, tasks, answers))
    except* BrokenPipeError:
        os._exit(1)


@contextmanager
def recorded(folder: Path | None) -> Iterator[None]:
    """Leaves what this process did in the folder of a profile, if there is one. Needs a running event loop."""
    if folder is None:
        yield
        return
    recording = profiling.start()
    try:
        yield
    finally:
        profiling.stop()
        write_part(folder, recording.snapshot())


if __name__ == "__main__":
    main()
