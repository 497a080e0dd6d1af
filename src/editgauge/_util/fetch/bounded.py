"""Answers of servers, unpacked with a limit: a few kilobytes of gzip can stand for gigabytes."""

from __future__ import annotations

import zlib

GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS
"""Tells zlib to see for itself which of the two headers there is."""


class TooLong(Exception):
    """An answer that is longer than allowed, damaged, or packed in a way that was not asked for."""


def bounded_body(content: bytes, packing: str, limit: int) -> bytes:
    """The content of an answer, unpacked as its `Content-Encoding` says; never more than `limit` bytes.

    >>> bounded_body(b"plain", "", 10)
    b'plain'
    """
    packing = packing.strip().lower()
    if packing in {"", "identity"}:
        return content
    if packing not in {"gzip", "deflate"}:
        raise TooLong(f"an answer packed as {packing[:20]!r}, which was not asked for")
    unpacker = zlib.decompressobj(GZIP_OR_ZLIB)
    try:
        unpacked = unpacker.decompress(content, limit)
    except zlib.error as error:
        raise TooLong(f"an answer that cannot be unpacked: {error}") from error
    if unpacker.unconsumed_tail:
        raise TooLong(f"an answer of more than {limit:,} bytes when unpacked")
    return unpacked
