"""The evidence of a run, ready to be drawn: read in one pass, every distinct piece decoded once."""

from __future__ import annotations

import base64
import json
from io import BytesIO
from typing import TYPE_CHECKING, Any

import cv2
import numpy as np
from PIL import Image

from editgauge._render.svg import outline
from editgauge._util.drawing import colored
from editgauge.errors import BadRunError
from editgauge.evidence import Arrow, Box, Curves, Evidence, Heat, Note, Region, Scatter, from_json, to_json

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from editgauge.results import Run

Json = dict[str, Any]
Owner = tuple[str, str, int]
"""Edit, method, seed."""


class Marks:
    """What to draw on the pictures of every outcome, and what to say next to them."""

    def __init__(self, run: Run, edits: Collection[str] | None = None) -> None:
        self.problem = ""
        """Why no evidence can be shown at all, if so."""
        self.protocols: list[str] = []
        """Those that left evidence; pieces name them by their places here."""
        self._of: dict[Owner, dict[int, dict[int, None]]] = {}
        self._distinct: list[Json] = []
        try:
            self._read(run, edits)
        except BadRunError as error:
            self.problem = str(error)

    def of(self, edit: str, method: str, seed: int) -> list[Json]:
        """Everything about one outcome, each piece once, with the protocols that it is `by`."""
        pieces = self._of.get((edit, method, seed), {})
        return [{**self._distinct[place], "by": list(by)} for place, by in pieces.items()]

    def _read(self, run: Run, edits: Collection[str] | None) -> None:
        places: dict[str, int] = {}
        for key, name, text in run.iter_evidence(edits):
            if text not in places:
                places[text] = len(self._distinct)
                self._distinct.append(_mark(text, name))
            if key.protocol not in self.protocols:
                self.protocols.append(key.protocol)
            pieces = self._of.setdefault((key.edit, key.method, key.seed), {})
            pieces.setdefault(places[text], {})[self.protocols.index(key.protocol)] = None


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
    """Without repetition, in order; what several protocols drew is by all of them."""
    distinct: dict[str, Json] = {}
    for mark in marks:
        known = distinct.setdefault(repr({**mark, "by": None}), {**mark, "by": []})
        known["by"] = sorted({*known["by"], *mark["by"]})
    return list(distinct.values())


STEPS = 32
"""Levels on either side of 0; on a photo no eye sees a finer step."""


def as_address(heat: Heat) -> str:
    """The map as the address of a picture that holds itself: a PNG with a palette, one byte for each number."""
    levels = np.arange(-STEPS if heat.signed else 0, STEPS + 1)
    palette = colored((levels / STEPS)[np.newaxis], heat.signed)[0]
    picture = Image.fromarray((np.rint(heat.map * STEPS) - levels[0]).clip(0, len(levels) - 1).astype(np.uint8))
    picture.putpalette(palette[:, :3].tobytes())
    png = BytesIO()
    picture.save(png, "PNG", optimize=True, transparency=palette[:, 3].tobytes())
    return f"data:image/png;base64,{base64.b64encode(png.getvalue()).decode()}"
