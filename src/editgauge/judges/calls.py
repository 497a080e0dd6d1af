"""One call: what was asked, what came back, and what it took. A line of a transcript each."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from editgauge.core.errors import BadRun
from editgauge.judges.faults import MAY_PASS, Fault
from editgauge.judges.replies import Body


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A question put to a model, with all that came of it."""

    identity: str
    asked: Mapping[str, Any]
    """Model, prompt with version, text, form, hashes of the pictures, parameters, repetition."""
    endpoint: str
    body: Body | None
    """The chat completion as it was sent; None when none came."""
    model: str | None
    """The model as the endpoint calls it."""
    fault: Fault | None
    detail: str
    estimated_tokens: int
    """Of the prompt, before it was sent."""
    prompt_tokens: int | None
    """As the endpoint counted."""
    completion_tokens: int | None
    cost: float
    """With what failed attempts may have cost; 0 when no price was given."""
    latency: float
    """Seconds of the last attempt."""
    seconds: float
    """From asking to the end, with all attempts, pauses and waiting for a turn."""
    attempts: tuple[str, ...]
    """What became of each attempt, in order; the last is `answered` or the fault."""
    at: str
    """When it ended, UTC."""

    @property
    def final(self) -> bool:
        """Is it settled? What failed for a passing reason is asked again in the next run."""
        return self.fault not in MAY_PASS

    def to_line(self) -> bytes:
        """A checksum, a blank, JSON."""
        content = json.dumps(asdict(self), ensure_ascii=True, separators=(",", ":")).encode()
        return b"%08x %s\n" % (zlib.crc32(content), content)

    @classmethod
    def from_line(cls, line: bytes) -> Call:
        """The inverse of `to_line`; a torn or altered line raises `BadRun`."""
        checksum, _, content = line.rstrip(b"\n").partition(b" ")
        if not line.endswith(b"\n") or checksum != b"%08x" % zlib.crc32(content):
            raise BadRun("a line of the transcript is torn or was altered")
        try:
            stored = json.loads(content)
            return cls(**{**stored, "attempts": tuple(stored["attempts"])})
        except (ValueError, TypeError, KeyError) as error:
            raise BadRun(f"a line of the transcript holds something else than a call ({error})") from error
