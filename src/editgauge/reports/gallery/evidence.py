"""The evidence of a run, ready to be drawn: read in one pass, every distinct piece decoded once."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import cv2

from editgauge.core.errors import BadRun
from editgauge.core.evidence import Arrow, Box, Curves, Evidence, Heat, Note, Region, Scatter, from_json, to_json
from editgauge.render.svg import outline
from editgauge.reports.gallery.maps import as_address

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from editgauge.core.run import Run

Json = dict[str, Any]
Owner = tuple[str, str, int]
"""Edit, method, seed."""


class Marks:
    """What to draw on the pictures of every outcome, and what to say beside them."""

    def __init__(self, run: Run, edits: Collection[str] | None = None) -> None:
        self.problem = ""
        """Why no evidence can be shown at all, if so."""
        self._of: dict[Owner, dict[int, None]] = {}
        self._distinct: list[Json] = []
        try:
            self._read(run, edits)
        except BadRun as error:
            self.problem = str(error)

    def of(self, edit: str, method: str, seed: int) -> list[Json]:
        """Everything about one outcome, each piece once."""
        return [self._distinct[place] for place in self._of.get((edit, method, seed), ())]

    def _read(self, run: Run, edits: Collection[str] | None) -> None:
        places: dict[str, int] = {}
        for key, name, text in run.all_evidence(edits):
            if text not in places:
                places[text] = len(self._distinct)
                self._distinct.append(_mark(text, name))
            self._of.setdefault((key.edit, key.method, key.seed), {})[places[text]] = None


def _mark(text: str, name: str) -> Json:
    try:
        return _drawn(from_json(json.loads(text)))
    except (ValueError, KeyError, TypeError, AttributeError, cv2.error) as error:
        problem = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        return {"damaged": f"A piece of evidence for {name} is damaged and cannot be shown ({problem})."}


def _drawn(piece: Evidence) -> Json:
    match piece:
        case Box():
            sure = "" if piece.confidence is None else f" {piece.confidence:.2f}"
            sides = (piece.left, piece.top, piece.right - piece.left, piece.bottom - piece.top)
            return {"on": piece.on, "box": [round(float(side), 1) for side in sides], "label": piece.label + sure}
        case Region():
            return {"on": piece.on, "outline": outline(piece.mask), "label": piece.label}
        case Heat():
            return {"map": as_address(piece), "of": piece.on, "signed": piece.signed, "label": piece.label}
        case Arrow():
            ends = (piece.from_x, piece.from_y, piece.to_x, piece.to_y)
            return {"on": piece.on, "arrow": [round(float(end), 1) for end in ends], "label": piece.label}
        case Curves():
            return {"curves": [[name, list(values)] for name, values in piece.rows], "label": piece.label}
        case Scatter():
            return to_json(piece)
        case Note():
            return {"note": str(piece.text)}


def each_once(marks: Iterable[Json]) -> list[Json]:
    """Without repetition, in order."""
    return list({repr(mark): mark for mark in marks}.values())
