"""What was answered lately, kept in memory."""

from __future__ import annotations

import threading
from collections import OrderedDict

from editgauge.models.cache.packing import Answer, size_of


class Memory:
    """The answers used last, as many as fit into some bytes. Several threads may use it."""

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._bytes = 0
        self._kept: OrderedDict[str, tuple[Answer, int]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: str) -> Answer | None:
        """The answer, if it is still here."""
        with self._lock:
            if key not in self._kept:
                return None
            self._kept.move_to_end(key)
            return self._kept[key][0]

    def put(self, key: str, answer: Answer) -> None:
        """Keeps it, and lets go of those that were not used for longest."""
        size = size_of(answer)
        with self._lock:
            _, before = self._kept.pop(key, (None, 0))
            self._kept[key] = answer, size
            self._bytes += size - before
            while self._bytes > self._most and len(self._kept) > 1:
                _, (_, gone) = self._kept.popitem(last=False)
                self._bytes -= gone
