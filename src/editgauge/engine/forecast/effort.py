"""What work takes on this machine, as busy as it is now: of wall time, of the cores, and until anything begins."""

from __future__ import annotations

import hashlib
import resource
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

SECONDS_OF_A_LOOK = 0.5
"""For so long threads are kept busy to see how much of the machine they get."""
A_LITTLE_WORK = bytes(1 << 20)
HELPERS = ("ask-pool", "asyncio")
"""How the names of threads begin that compute outside the event loop; models have threads of other names."""


@dataclass(frozen=True, slots=True)
class Effort:
    """What a piece of work took."""

    seconds: float
    """Wall time."""
    cpu: float
    """Of all threads of the process together."""
    own: float = 0.0
    """Of these, what was no model's: decoding, metrics and rules, outside the event loop too."""

    def without(self, other: Effort) -> Effort:
        """What is left when the other is taken away; never less than nothing."""
        return Effort(
            max(0.0, self.seconds - other.seconds), max(0.0, self.cpu - other.cpu), max(0.0, self.own - other.own)
        )

    def __add__(self, other: Effort) -> Effort:
        return Effort(self.seconds + other.seconds, self.cpu + other.cpu, self.own + other.own)

    def scaled(self, share: float) -> Effort:
        """A share of it."""
        return Effort(self.seconds * share, self.cpu * share, self.own * share)

    def eased(self, share: float) -> Effort:
        """The same if others had not used the machine too, so that a busy thread got but a share of a core."""
        return Effort(self.seconds * share, self.cpu, self.own)


def so_far() -> Effort:
    """What this process has taken so far; called in the thread that runs the event loop."""
    return Effort(time.perf_counter(), time.process_time(), time.thread_time() + _of_helpers())


def expected(work: Effort, times: float, processes: int, cores: float) -> float:
    """Seconds of wall time for that many times the work, divided between processes that get that many cores.

    The work was measured in one process, models with all their threads. Processes can divide it, so that it takes as
    much less time as there are processes; but not less than the cores need for it.

    >>> expected(Effort(seconds=10, cpu=10), 6, processes=2, cores=2.0)
    30.0
    >>> expected(Effort(seconds=10, cpu=20), 6, processes=2, cores=2.0)
    60.0
    """
    return times * max(work.cpu / cores, work.seconds / processes)


def free_cores(threads: int) -> float:
    """How many cores that many busy threads get now, while others use the machine too; never more than threads."""
    deadline = time.perf_counter() + SECONDS_OF_A_LOOK
    with ThreadPoolExecutor(threads) as pool:
        shares = list(pool.map(_share_until, [deadline] * threads))
    return sum(shares)


def most_memory() -> int:
    """The most memory, in bytes, that this process ever had."""
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _share_until(deadline: float) -> float:
    """How much of a core this thread gets; hashing leaves the interpreter to the others."""
    began, own = time.perf_counter(), time.thread_time()
    while time.perf_counter() < deadline:
        hashlib.sha256(A_LITTLE_WORK)
    return (time.thread_time() - own) / max(time.perf_counter() - began, 1e-9)


def _of_helpers() -> float:
    """CPU seconds of the threads that compute outside the event loop; where no thread has a clock, nothing."""
    clock_of = getattr(time, "pthread_getcpuclockid", None)
    if clock_of is None:
        return 0.0
    helpers = [each for each in threading.enumerate() if each.name.startswith(HELPERS) and each.ident]
    return sum(time.clock_gettime(clock_of(each.ident)) for each in helpers)
