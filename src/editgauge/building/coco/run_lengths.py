"""COCO's compressed run lengths: a text that stands for the lengths of runs down the columns of a mask."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import numpy as np

from editgauge.core.masks import BoolMask

FIRST = 48
"""The sign '0' stands for 0; each sign holds five bits, and a sixth that says whether more follow."""


def read_counts(text: str) -> list[int]:
    """The run lengths that a compressed text stands for; raises `ValueError` when it stands for none.

    Each number is written as its difference to the one before the last, from the fourth on.

    >>> read_counts("111"), read_counts("4"), read_counts("PP1")
    ([1, 1, 1], [4], [1024])
    """
    counts: list[int] = []
    value = shift = 0
    for sign in text:
        bits = ord(sign) - FIRST
        if not 0 <= bits < 64:
            raise ValueError(f"{sign!r} is no sign of compressed run lengths")
        value |= (bits & 31) << shift
        shift += 5
        if bits & 32:
            continue
        if bits & 16:
            value -= 1 << shift
        counts.append(value + (counts[-2] if len(counts) > 2 else 0))
        value = shift = 0
    if shift or any(count < 0 for count in counts):
        raise ValueError("the compressed run lengths are cut off or damaged")
    return counts


def rendered(counts: Sequence[int], width: int, height: int) -> BoolMask:
    """The mask of run lengths, the first of them outside; raises `ValueError` when they do not fill the picture."""
    if sum(counts) != width * height:
        raise ValueError(f"the run lengths cover {sum(counts)} pixels of {width} x {height}")
    flat = np.zeros(width * height, dtype=np.bool_)
    ends = list(accumulate(counts))
    for start, end in zip(ends[0::2], ends[1::2], strict=False):
        flat[start:end] = True
    return np.ascontiguousarray(flat.reshape((height, width), order="F"))
