"""Room for decoded pictures: hundreds of items may wait for models, and memory stays bounded."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

MOST_BYTES = 400_000_000
"""Of decoded pictures in one process: 250 items of 512 x 512, or one large item and whatever came before it."""
LARGE_PAIR = 24_000_000
"""Bytes of two decoded pictures of 4 megapixels. What is larger takes gigabytes while it is measured (up to 175 bytes
per pixel), so only one of these is let in at a time."""


def bytes_of_work(decoded: int) -> int:
    """How much room an item takes whose two pictures have that many bytes.

    >>> bytes_of_work(1_572_864), bytes_of_work(60_000_000)
    (1572864, 400000000)
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
