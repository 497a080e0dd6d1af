"""What only this server can have written: a keyed hash under everything that comes back from a browser."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import threading
import time
from pathlib import Path

from editgauge._util.files import write_bytes

KEY_FILE = "web.key"
KEY_BYTES = 32
SIGNED_OUT_FILE = "web.signed-out"


class Signer:
    """Makes and checks seals with a key that stays the same when the server starts again."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    @classmethod
    def of(cls, folder: Path) -> Signer:
        """Load the study's signing key, created at the first start and readable only by its owner."""
        path = folder / KEY_FILE
        if not path.exists():
            _write_once(path, secrets.token_bytes(KEY_BYTES))
        return cls(path.read_bytes())

    def seal(self, purpose: str, *words: str) -> str:
        """Sign these words for one purpose.

        >>> Signer(b"key").seal("a", "b", "c") == Signer(b"key").seal("a", "bc")
        False
        """
        message = b"".join(len(word).to_bytes(8, "big") + word for word in (w.encode() for w in (purpose, *words)))
        return hmac.new(self._key, message, hashlib.sha256).hexdigest()[:40]

    def holds(self, seal: str, purpose: str, *words: str) -> bool:
        """Whether the seal was made by us for these words; takes the same time whatever the answer."""
        return hmac.compare_digest(seal.encode(), self.seal(purpose, *words).encode())


class RevokedSessions:
    """The sessions that their owner ended, remembered in a file of the study until they would have ended anyway."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / SIGNED_OUT_FILE
        self._lock = threading.Lock()

    def add(self, session: str, until: int) -> None:
        """End a session on all servers of the study."""
        with self._lock:
            lasting = {name: end for name, end in self._read().items() if end > time.time()}
            lines = "".join(f"{end} {name}\n" for name, end in {**lasting, session: until}.items())
            write_bytes(self._file, lines.encode(), mode=0o600)

    def holds(self, session: str) -> bool:
        """Whether the session was ended."""
        return session in self._read()

    def _read(self) -> dict[str, int]:
        try:
            rows = (line.split(" ", 1) for line in self._file.read_text("utf-8").splitlines())
            return {row[1]: int(row[0]) for row in rows if len(row) == 2}
        except FileNotFoundError:
            return {}


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
