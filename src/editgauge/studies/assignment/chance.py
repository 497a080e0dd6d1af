"""Chance that can be repeated: the same seed and the same words give the same number on every machine."""

from __future__ import annotations

import hashlib


def draw(below: int, *words: object) -> int:
    """A number from 0 to `below` - 1, decided by the words.

    >>> draw(1000, 7, "side", "cat-black") == draw(1000, 7, "side", "cat-black")
    True
    """
    digest = hashlib.blake2b("\0".join(map(str, words)).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") % below


def is_turn(every: int, number: int, *words: object) -> bool:
    """Whether the page of this number, from 1, is the special one among its `every` neighbors.

    Each block of that many pages has exactly one, at a random position.

    >>> sum(is_turn(10, number, "seed") for number in range(1, 101))
    10
    """
    block, place = divmod(number - 1, every)
    return draw(every, *words, block) == place
