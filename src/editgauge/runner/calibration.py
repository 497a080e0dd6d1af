"""How long the models of this machine take for an answer: what was measured, kept in the cache folder."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from editgauge.core.fetch import cache_root
from editgauge.core.files import write_json
from editgauge.runner.listening import ListenedTo

FILE = "calibration.json"


class Calibration:
    """Seconds and answers, by model, revision, device and kind of question. Each plan adds what it measured."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or cache_root() / FILE
        self._measured = _read(self.path)

    def add(self, seats: Sequence[ListenedTo]) -> None:
        """Takes in what these models did, and keeps it."""
        for seat in seats:
            for question, work in seat.work.items():
                seconds, answers = self._measured.get(_key(seat, question), (0.0, 0))
                self._measured[_key(seat, question)] = (seconds + work.seconds, answers + work.asked)
        write_json(self.path, self._measured)

    def seconds_each(self, seat: ListenedTo, question: str) -> float:
        """Of one answer to a kind of question that was asked here."""
        seconds, answers = self._measured[_key(seat, question)]
        return seconds / answers


def _key(seat: ListenedTo, question: str) -> str:
    card = seat.card
    return f"{card.id} {card.revision} {card.sha256[:12]} {question} on {seat.device}"


def _read(path: Path) -> dict[str, tuple[float, int]]:
    """What was measured before; a file that cannot be read is measured anew."""
    try:
        stored = json.loads(path.read_text("utf-8"))
        return {str(key): (float(seconds), int(answers)) for key, (seconds, answers) in stored.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}
