"""Room for decoded pictures: hundreds of items may wait for models, and memory stays bounded."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

MOST_BYTES = 400_000_000
"""Of decoded pictures in one process: 250 items of 512 x 512, or one of 64 megapixels and whatever came before it."""


class MemoryGate:
    """Lets items in, in their order, as long as those inside hold fewer bytes than there is room for."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most = most_bytes
        self._held = 0
        self._changed = asyncio.Condition()

    @asynccontextmanager
    async def entered(self) -> AsyncIterator[Callable[[int], None]]:
        """Waits until there is room. Whoever is inside says how many bytes it holds until it leaves."""
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
