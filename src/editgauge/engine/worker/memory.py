"""Memory of a worker process: a bounded amount of decoded pictures, however many items wait for models."""

from __future__ import annotations

import asyncio
import ctypes
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import cv2

MOST_BYTES = 32_000_000
"""Of decoded pictures in one process: 20 items of 512 x 512, enough to fill batches and to keep a judge busy, or one
large item and whatever came before it. What an item measures takes a multiple of its pictures until it is scored."""
LARGE_PAIR = 24_000_000
"""Bytes of two decoded pictures of 4 megapixels. What is larger takes gigabytes while it is measured (up to 175 bytes
per pixel), so only one of these is let in at a time."""


def bytes_of_work(decoded: int) -> int:
    """How much room an item takes whose two pictures have that many bytes.

    >>> bytes_of_work(1_572_864), bytes_of_work(60_000_000)
    (1572864, 60000000)
    """
    return decoded if decoded <= LARGE_PAIR else max(decoded, MOST_BYTES)


class MemoryGate:
    """Lets items in, in their order, as long as those inside hold fewer bytes than there is room for."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most = most_bytes
        self._held = 0
        self._changed = asyncio.Condition()

    @asynccontextmanager
    async def entered(self) -> AsyncIterator[Callable[[int], None]]:
        """Wait until there is room. A holder says how many bytes it needs until it leaves."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._held < self._most)
        mine = 0

        def hold(size: int) -> None:
            nonlocal mine
            mine += size
            self._held += size

        try:
            yield hold
        finally:
            self._held -= mine
            async with self._changed:
                self._changed.notify_all()


LARGEST = 32 << 20
"""Arrays up to this many bytes come from memory that is kept; 32 MB is the most that the C library takes."""
KEPT = 128 << 20
"""Bytes that may be kept when freed."""
_TRIM, _MMAP = -1, -3
"""M_TRIM_THRESHOLD and M_MMAP_THRESHOLD of <malloc.h>."""


def set_up_worker() -> None:
    """Sets up a process that is one of several on its machine, before it decodes the first picture."""
    _keep_freed_memory()
    cv2.setNumThreads(1)  # processes share the cores; threads of one library inside each would only fight for them


def _keep_freed_memory() -> None:
    """Keeps some freed memory instead of handing it back and asking for it again, page by page, for the next array.

    A picture's arrays take some megabytes each and are made and dropped all the time: up to a sixth of the time of a
    pixel protocol goes into fresh pages otherwise. Does nothing where the C library is not glibc.
    """
    if sys.platform == "linux":
        set_option = getattr(ctypes.CDLL(None), "mallopt", None)
        if set_option:
            set_option(_MMAP, LARGEST)
            set_option(_TRIM, KEPT)
