"""What only this server can have written: a keyed hash under everything that comes back from a browser."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from pathlib import Path

KEY_FILE = "web.key"
KEY_BYTES = 32


class Seals:
    """Makes and checks seals with a key that stays the same when the server starts again."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    @classmethod
    def of(cls, folder: Path) -> Seals:
        """The seals of a study; its key is made at the first start, readable by its owner alone."""
        path = folder / KEY_FILE
        if not path.exists():
            _write_once(path, secrets.token_bytes(KEY_BYTES))
        return cls(path.read_bytes())

    def seal(self, purpose: str, *words: str) -> str:
        """The seal of these words for one purpose: it opens nothing else.

        >>> Seals(b"key").seal("a", "b", "c") == Seals(b"key").seal("a", "bc")
        False
        """
        message = b"".join(len(word).to_bytes(8, "big") + word for word in (w.encode() for w in (purpose, *words)))
        return hmac.new(self._key, message, hashlib.sha256).hexdigest()[:40]

    def holds(self, seal: str, purpose: str, *words: str) -> bool:
        """Whether the seal was made by us for these words; takes the same time whatever the answer."""
        return hmac.compare_digest(seal.encode(), self.seal(purpose, *words).encode())


def _write_once(path: Path, key: bytes) -> None:
    """Two servers that start at once agree on one key: a link appears whole or not at all, and only once."""
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(key)
        try:
            path.hardlink_to(draft)
        except FileExistsError:
            return
    finally:
        draft.unlink(missing_ok=True)
