"""How much of a download has come: seen on the growing files, because the clients themselves are asked to be quiet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread

from editgauge.core.fetch.carrier import Grown

SECONDS_BETWEEN_LOOKS = 0.2


@contextmanager
def watching(folders: Sequence[Path], grown: Grown | None) -> Iterator[None]:
    """Tells `grown` how many bytes more some folders hold, several times a second, until the block ends."""
    if grown is None:
        yield
        return
    done, before, most = Event(), _bytes_in(folders), 0

    def look() -> None:
        nonlocal most
        most = max(
            most, _bytes_in(folders) - before
        )  # a client that copies its draft and removes it takes nothing back
        grown(most)

    def keep_looking() -> None:
        while not done.wait(SECONDS_BETWEEN_LOOKS):
            look()

    watcher = Thread(target=keep_looking, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()
    look()


def _bytes_in(folders: Sequence[Path]) -> int:
    return sum(_size(path) for folder in folders for path in folder.rglob("*"))


def _size(path: Path) -> int:
    with suppress(OSError):  # clients rename and remove while we look
        return path.lstat().st_size if path.is_file() else 0
    return 0
