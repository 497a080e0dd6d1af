"""How a process handles memory that was freed."""

from __future__ import annotations

import ctypes
import sys

LARGEST = 32 << 20
"""Arrays up to this many bytes come from memory that is kept; 32 MB is the most that the C library takes."""
KEPT = 128 << 20
"""Bytes that may be kept when freed."""
_TRIM, _MMAP = -1, -3
"""M_TRIM_THRESHOLD and M_MMAP_THRESHOLD of <malloc.h>."""


def keep_freed_memory() -> None:
    """Keeps some freed memory instead of handing it back and asking for it again, page by page, for the next array.

    A picture's arrays take some megabytes each and are made and dropped all the time: up to a sixth of the time of a
    pixel protocol goes into fresh pages otherwise. Does nothing where the C library is not glibc.
    """
    if sys.platform == "linux":
        set_option = getattr(ctypes.CDLL(None), "mallopt", None)
        if set_option:
            set_option(_MMAP, LARGEST)
            set_option(_TRIM, KEPT)
