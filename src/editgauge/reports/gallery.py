"""The gallery: every edit with its pictures, scores and evidence, as JSON that the page draws a few edits at a time.

Plain HTML for thousands of edits would be hundreds of thousands of elements; as data they open at once, and filters
and pages stay quick.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any

from editgauge.core.evidence import Box, Evidence, Note, Region
from editgauge.core.progress import progress
from editgauge.core.run import Key, Run
from editgauge.reports import words
from editgauge.reports.marks import outline
from editgauge.reports.outcomes import ScoredOutcome, Why
from editgauge.reports.pictures import Absent, Album, Decoded, decode, difference

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from editgauge.reports.tables import ScoreTable

FACTS = ("subject", "from", "to", "position", "source_caption", "target_caption")
"""Parts of an edit that are shown beside its instruction."""
MOST_THREADS = 8
"""Each holds a few decoded pictures, so that many cores must not mean much memory."""

Json = dict[str, Any]


class Gallery:
    """Makes the gallery's data and pictures."""

    def __init__(self, run: Run, outcomes: Mapping[str, Sequence[ScoredOutcome]], tables: Sequence[ScoreTable]) -> None:
        self.run = run
        self.outcomes = outcomes
        self.decimals = {(table.protocol, table.spec.name): table.decimals for table in tables}
        scores = (score for group in outcomes.values() for outcome in group for score in outcome.scores.values())
        self.whys = {why: place for place, why in enumerate(dict.fromkeys(s for s in scores if isinstance(s, Why)))}

    def data(self, album: Album, headlines: Sequence[tuple[str, str]], quiet: bool) -> Json:
        """Everything the page draws the gallery from; writes the pictures."""
        with (
            progress("pictures", len(self.outcomes), quiet=quiet) as advance,
            ThreadPoolExecutor(
                min(os.cpu_count() or 1, MOST_THREADS)
            ) as threads,  # decoding, scaling and encoding leave Python's lock
        ):
            edits = []
            for drawn in threads.map(partial(self._edit, album), self.outcomes):
                edits.append(drawn)
                advance()
        return {
            "scores": [
                {"name": name, "protocol": protocol, "headline": (protocol, name) in headlines}
                for protocol, name in self.decimals
            ],
            "unscored": list(self.whys),
            "edits": edits,
        }

    def _edit(self, album: Album, name: str) -> Json:
        edit, outcomes = self.run.edits.get(name, {}), self.outcomes[name]
        source = album.source(outcomes[0].source) if outcomes else Absent("This edit has not been scored yet.")
        drawn = [self._outcome(album, outcome, source) for outcome in outcomes]
        marks = [mark for _, evidence in drawn for mark in evidence if mark.get("on") == "source"]
        return {
            "id": name,
            "type": edit.get("type", ""),
            "instruction": edit.get("instruction", ""),
            "facts": [[words.spaced(part), _said(edit[part])] for part in FACTS if part in edit],
            "source": album.place(source),
            "frame": _frame(source),
            "marks": _each_once(marks),
            "outcomes": [outcome for outcome, _ in drawn],
        }

    def _outcome(self, album: Album, outcome: ScoredOutcome, source: Decoded | Absent) -> tuple[Json, list[Json]]:
        """The outcome, and its evidence on either picture."""
        edited = decode(outcome.edited) if outcome.edited else Absent("The method gave no image.")
        evidence = _each_once([_mark(piece) for piece in self._evidence(outcome)])
        drawn = {
            "method": outcome.method,
            "seed": outcome.seed,
            "status": outcome.status,
            "edited": album.place(edited),
            "values": [self._value(key, outcome.scores.get(key)) for key in self.decimals],
            "marks": [mark for mark in evidence if mark.get("on") == "edited"],
            "notes": [mark["note"] for mark in evidence if "note" in mark],
        }
        if isinstance(source, Decoded) and isinstance(edited, Decoded):
            heat = Decoded(difference(source.pixels, edited.pixels), changed=False)
            drawn["difference"] = album.place(heat)
        return drawn, evidence

    def _evidence(self, outcome: ScoredOutcome) -> list[Evidence]:
        keys = (Key(outcome.edit, outcome.method, outcome.seed, protocol) for protocol in outcome.protocols)
        found = (pieces for key in keys for pieces in self.run.evidence(key).values())
        return [piece for pieces in found for piece in pieces]

    def _value(self, key: tuple[str, str], score: float | Why | None) -> str | int | None:
        """A number as text, the place of the reason among all reasons, or nothing."""
        if score is None:
            return None
        if isinstance(score, Why):
            return self.whys[score]
        return words.number(score, self.decimals[key])


def _mark(piece: Evidence) -> Json:
    match piece:
        case Box():
            sure = "" if piece.confidence is None else f" {piece.confidence:.2f}"
            sides = (piece.left, piece.top, piece.right - piece.left, piece.bottom - piece.top)
            return {"on": piece.on, "box": [round(side, 1) for side in sides], "label": piece.label + sure}
        case Region():
            return {"on": piece.on, "outline": outline(piece.mask), "label": piece.label}
        case Note():
            return {"note": piece.text}


def _frame(source: Decoded | Absent) -> list[int] | None:
    """Width and height of the picture that evidence is measured in."""
    return [source.pixels.shape[1], source.pixels.shape[0]] if isinstance(source, Decoded) else None


def _each_once(marks: Sequence[Json]) -> list[Json]:
    return list({repr(mark): mark for mark in marks}.values())


def _said(value: Any) -> str:
    return " ".join(str(part) for part in value.values() if part) if isinstance(value, dict) else str(value)
