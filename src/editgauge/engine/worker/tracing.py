"""Recording where the time of a worker goes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from editgauge.core.trace import timeline
from editgauge.core.trace.summary import write_part


@contextmanager
def recorded(folder: Path | None) -> Iterator[None]:
    """Leaves what this process did in the folder of a profile, if there is one. Needs a running event loop."""
    if folder is None:
        yield
        return
    recording = timeline.start()
    try:
        yield
    finally:
        timeline.stop()
        write_part(folder, recording.told())
