"""How long the models of this machine take for an answer: what was measured, kept in the cache folder."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from editgauge.core.fetch import cache_root
from editgauge.core.files import write_json
from editgauge.engine.forecast.usage import ModelEffort

FILE = "calibration.json"


class ModelSpeeds:
    """Seconds for an answer, by model, revision, device and kind of question.

    Kept is the least that was measured in any plan, because other work on the machine can only add to it.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or cache_root() / FILE
        self._measured = _read(self.path)

    def add(self, seats: Sequence[ModelEffort]) -> None:
        """Takes in what these models did, and keeps it."""
        for seat in seats:
            for question, work in seat.work.items():
                key, each = _key(seat, question), work.seconds / work.asked
                self._measured[key] = min(each, self._measured.get(key, each))
        write_json(self.path, self._measured)

    def seconds_each(self, seat: ModelEffort, question: str) -> float:
        """Of one answer to a kind of question that was asked here."""
        return self._measured[_key(seat, question)]


def _key(seat: ModelEffort, question: str) -> str:
    return f"{question} by {seat.identity}"


def _read(path: Path) -> dict[str, float]:
    """What was measured before; a file that cannot be read is measured anew."""
    try:
        stored = json.loads(path.read_text("utf-8"))
        return {str(key): float(seconds) for key, seconds in stored.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}
