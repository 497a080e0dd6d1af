"""Caches that keep the most recently used values."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class LRUCache(Generic[Key, Value]):
    """Thread-safe mapping that evicts the least recently used entries.

    Args:
        max_size: maximum total size of all values.
        size_of: size of one value; without it every value counts 1, and `max_size` is the number of entries.

    >>> cache = LRUCache[str, int](max_size=2)
    >>> for key in "abac":
    ...     _ = cache.get_or_create(key, lambda: ord(key))
    >>> cache.get("a"), cache.get("b"), len(cache)
    (97, None, 2)

    """

    def __init__(self, max_size: int, size_of: Callable[[Value], int] = lambda _: 1) -> None:
        self.max_size = max_size
        self.size = 0
        self._size_of = size_of
        self._entries: OrderedDict[Key, Value] = OrderedDict()
        self._lock = threading.RLock()

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: object) -> bool:
        return key in self._entries

    def get(self, key: Key) -> Value | None:
        """Return the value and mark it as used, or None."""
        with self._lock:
            if key in self._entries:
                self._entries.move_to_end(key)
            return self._entries.get(key)

    def put(self, key: Key, value: Value) -> None:
        """Store a value and evict the oldest ones; a value larger than the cache is not stored."""
        size = self._size_of(value)
        with self._lock:
            self.pop(key)
            if size > self.max_size:
                return
            self._entries[key] = value
            self.size += size
            while self.size > self.max_size:
                self.pop(next(iter(self._entries)))

    def get_or_create(self, key: Key, create: Callable[[], Value]) -> Value:
        """Return the stored value, or create and store it; `create` runs outside the lock."""
        value = self.get(key)
        if value is None:
            value = create()
            self.put(key, value)
        return value

    def pop(self, key: Key) -> Value | None:
        """Remove and return a value, or return None."""
        with self._lock:
            value = self._entries.pop(key, None)
            if value is not None:
                self.size -= self._size_of(value)
            return value

    def clear(self) -> None:
        """Remove all values."""
        with self._lock:
            self._entries.clear()
            self.size = 0
