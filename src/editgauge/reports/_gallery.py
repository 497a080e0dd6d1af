"""The gallery: evidence of a run as drawing instructions, outcomes with scores, verdicts and images."""

from __future__ import annotations

import base64
import json
import os
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cv2
import numpy as np
from PIL import Image

from editgauge._render import text as words
from editgauge._render.svg import outline
from editgauge._util.drawing import colored
from editgauge._util.progress import progress
from editgauge.edit_types import UNSPECIFIED
from editgauge.errors import BadRunError
from editgauge.evidence import Arrow, Box, Curves, Evidence, Heat, Note, Region, Scatter, from_json, to_json
from editgauge.reports._outcomes import ScoredOutcome
from editgauge.reports.images import Album, EmbeddedAlbum

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from editgauge.protocols.verdict import Verdict
    from editgauge.reports.context import Context
    from editgauge.results import Run, ScoreRecord

Json = dict[str, Any]
Owner = tuple[str, str, int]
"""Edit, method, seed."""


class Marks:
    """Evidence of all outcomes as drawing instructions and notes."""

    def __init__(self, run: Run, edits: Collection[str] | None = None) -> None:
        self.problem = ""
        """Why the evidence cannot be read; empty if it can."""
        self.protocols: list[str] = []
        """Protocols with evidence; pieces refer to them by index."""
        self._of: dict[Owner, dict[int, dict[int, None]]] = {}
        self._distinct: list[Json] = []
        try:
            self._read(run, edits)
        except BadRunError as error:
            self.problem = str(error)

    def of(self, edit: str, method: str, seed: int) -> list[Json]:
        """Return the distinct pieces of evidence of one outcome, with the indices of their protocols in `by`."""
        pieces = self._of.get((edit, method, seed), {})
        return [{**self._distinct[index], "by": list(by)} for index, by in pieces.items()]

    def _read(self, run: Run, edits: Collection[str] | None) -> None:
        indices: dict[str, int] = {}
        for key, name, text in run.iter_evidence(edits):
            if text not in indices:
                indices[text] = len(self._distinct)
                self._distinct.append(_mark(text, name))
            if key.protocol not in self.protocols:
                self.protocols.append(key.protocol)
            pieces = self._of.setdefault((key.edit, key.method, key.seed), {})
            pieces.setdefault(indices[text], {})[self.protocols.index(key.protocol)] = None


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
            return {"map": as_data_url(piece), "of": piece.on, "signed": piece.signed, "label": piece.label}
        case Arrow():
            ends = (piece.from_x, piece.from_y, piece.to_x, piece.to_y)
            return {"on": piece.on, "arrow": [round(float(end), 1) for end in ends], "label": piece.label}
        case Curves():
            return {"curves": [[name, list(values)] for name, values in piece.rows], "label": piece.label}
        case Scatter():
            return to_json(piece)
        case Note():
            return {"note": str(piece.text)}


def merge_marks(marks: Iterable[Json]) -> list[Json]:
    """Merge equal marks, in order; a merged mark is by all its protocols."""
    distinct: dict[str, Json] = {}
    for mark in marks:
        merged = distinct.setdefault(repr({**mark, "by": None}), {**mark, "by": []})
        merged["by"] = sorted({*merged["by"], *mark["by"]})
    return list(distinct.values())


STEPS = 32
"""Color levels on either side of 0."""


def as_data_url(heat: Heat) -> str:
    """Encode the map as a data URL: a PNG with a palette, one byte per number."""
    levels = np.arange(-STEPS if heat.signed else 0, STEPS + 1)
    palette = colored((levels / STEPS)[np.newaxis], signed=heat.signed)[0]
    picture = Image.fromarray((np.rint(heat.map * STEPS) - levels[0]).clip(0, len(levels) - 1).astype(np.uint8))
    picture.putpalette(palette[:, :3].tobytes())
    png = BytesIO()
    picture.save(png, "PNG", optimize=True, transparency=palette[:, 3].tobytes())
    return f"data:image/png;base64,{base64.b64encode(png.getvalue()).decode()}"


FACTS = ("subject", "from", "to", "position", "source_caption", "target_caption")
"""Fields of an edit to display in addition to its instruction."""
MAX_THREADS = 8
"""Each holds a few decoded images: a limit on memory."""
MAX_EMBEDDED_OUTCOMES = 1_500
"""Outcomes whose images a single file holds: about thirty megabytes, which a browser still opens quickly."""
DIGITS = 7
"""Significant digits: more than are displayed, so that sorting separates values that look equal."""
ROLES = ("source", "edited", "difference")


class Gallery:
    """Builder of the gallery's data and images."""

    def __init__(self, context: Context, album: Album, *, with_pictures: Collection[str] | None = None) -> None:
        self.context = context
        self.album = album
        self.with_pictures = with_pictures
        """The edits whose images are included; None for all."""
        self.marks = Marks(context.run, context.sample)
        self.keys = {(table.protocol, table.spec.name): table.decimals for table in context.tables}
        unscored = (record for outcome in context.outcomes for record in outcome.unscored)
        reasons = dict.fromkeys((str(record.reason), record.detail) for record in unscored)
        self.reasons = {reason: index for index, reason in enumerate(reasons)}
        """Reason and detail of missing scores, by which values of the page refer to them."""

    def data(self, *, quiet: bool) -> Json:
        """Write the images and return the data that the page draws the gallery from."""
        edits, distinct = [], dict[str, int]()
        pictures: list[Json] = []
        with (
            progress("pictures", len(self.context.by_edit), quiet=quiet) as advance,
            ThreadPoolExecutor(min(os.cpu_count() or 1, MAX_THREADS)) as threads,  # the work leaves Python's lock
        ):
            for drawn in threads.map(self._edit, self.context.by_edit):
                for holder in (drawn, *drawn["outcomes"]):
                    for role in [role for role in ROLES if role in holder]:
                        text = repr(holder[role])
                        if text not in distinct:
                            distinct[text] = len(pictures)
                            pictures.append(holder[role])
                        holder[role] = distinct[text]
                edits.append(drawn)
                advance()
        embedded = (
            {"embedded": dict(sorted(self.album.embedded.items()))} if isinstance(self.album, EmbeddedAlbum) else {}
        )
        scores = [self._score(*key) for key in self.keys]
        content = {"scores": scores, "protocols": self.marks.protocols, "unscored": list(self.reasons)}
        return {**content, "pictures": pictures, "edits": edits, **embedded}

    def _score(self, protocol: str, name: str) -> Json:
        entry = {
            "name": self.context.titles[protocol, name],
            "key": f"{protocol}/{name}",
            "decimals": self.keys[protocol, name],
        }
        spec = self.context.run.spec(protocol, name)
        entry |= {"higher": spec.higher_is_better, "question": spec.question or ""}
        return {**entry, "headline": (protocol, name) in self.context.headlines}

    def _edit(self, name: str) -> Json:
        edit, outcomes = self.context.run.edits.get(name, {}), self.context.by_edit[name]
        evidence = [self.marks.of(name, outcome.method, outcome.seed) for outcome in outcomes]
        on_source = merge_marks(mark for marks in evidence for mark in marks if mark.get("on") == "source")
        return {
            "id": name,
            "type": edit.get("type", ""),
            "instruction": edit.get("instruction", ""),
            "reading": describe_parse(edit),
            **({"groups": edit["groups"]} if edit.get("groups") else {}),
            "facts": [
                *([words.spaced(part), _field_text(edit[part])] for part in FACTS if part in edit),
                *([words.spaced(name), value] for name, value in edit.get("groups", {}).items()),
                *_parse_facts(edit),
                *([OWN_SOURCES] if len({outcome.source.path for outcome in outcomes}) > 1 else []),
            ],
            "source": self._source(name, outcomes),
            **({"inputs": self._inputs(name)} if name in self.context.run.inputs else {}),
            "marks": on_source,
            "outcomes": [self._outcome(outcome, marks) for outcome, marks in zip(outcomes, evidence, strict=True)],
        }

    def _source(self, name: str, outcomes: list[ScoredOutcome]) -> Json:
        if not outcomes:
            return {"problem": "This edit has not been scored yet."}
        return self.album.source(outcomes[0].source) if self._has_pictures(name) else {"problem": NOT_EMBEDDED}

    def _inputs(self, name: str) -> list[Json]:
        """Return the further source images with their roles."""
        inputs = self.context.run.inputs[name]
        if not self._has_pictures(name):
            return [{"role": image["role"], "picture": {"problem": NOT_EMBEDDED}} for image in inputs]
        return [{"role": image["role"], "picture": self.album.further(Path(image["path"]))} for image in inputs]

    def _outcome(self, outcome: ScoredOutcome, marks: list[Json]) -> Json:
        drawn: Json = {
            "method": outcome.method,
            "status": outcome.status,
            "edited": {"problem": "The method gave no image."},
            "values": [self._value(outcome.scores.get(key)) for key in self.keys],
        }
        if outcome.edited and self.context.has_verdicts:
            drawn["verdict"] = _verdict(outcome.verdict)
        if outcome.edited and not self._has_pictures(outcome.edit):
            drawn["edited"] = {"problem": NOT_EMBEDDED}
        elif outcome.edited:
            edited, heat = self.album.edited(outcome.source, outcome.edited)
            drawn |= {"edited": edited} | ({"difference": heat} if heat else {})
        more = {
            "seed": outcome.seed,
            "marks": [mark for mark in marks if mark.get("on") == "edited"],
            "notes": [mark for mark in marks if "note" in mark],
            "curves": [mark for mark in marks if "curves" in mark],
            "scatters": [mark for mark in marks if "scatter" in mark],
            "maps": [mark for mark in marks if "map" in mark],
            "damaged": [mark["damaged"] for mark in marks if "damaged" in mark],
        }
        return drawn | {key: value for key, value in more.items() if value}

    def _has_pictures(self, edit: str) -> bool:
        return self.with_pictures is None or edit in self.with_pictures

    def _value(self, record: ScoreRecord | None) -> float | list[int] | None:
        """Return a number, the index of the reason, or nothing."""
        if record is None:
            return None
        if record.value is None:
            return [self.reasons[str(record.reason), record.detail]]
        return float(f"{record.value:.{DIGITS}g}")


def _verdict(verdict: Verdict) -> Json:
    answers: Json = {
        "done": verdict.done,
        "kept": verdict.kept,
        "quality": verdict.quality,
        "confidence": verdict.confidence,
        "because": [verdict.done_because, verdict.kept_because, verdict.quality_because],
    }
    return answers | ({"precision": list(verdict.precision)} if verdict.precision else {})


OWN_SOURCES = ["source image", "that of the first outcome; every method starts from its own previous output"]
NOT_EMBEDDED = "No image: this file holds only those of the worst edits."


def worst_edits(context: Context, most_outcomes: int) -> list[str]:
    """Return the worst edits by the first headline score, up to a total number of outcomes.

    An edit counts by its worst outcome; one without that score comes last.
    """
    badness: dict[str, float] = {}
    if context.headlines:
        key = context.headlines[0]
        sign = -1 if context.run.spec(*key).higher_is_better else 1
        for edit, outcomes in context.by_edit.items():
            values = [value for outcome in outcomes if (value := outcome.value(key)) is not None]
            if values:
                badness[edit] = max(sign * value for value in values)
    order = sorted(context.by_edit, key=lambda edit: -badness.get(edit, float("-inf")))
    selected, room = [], most_outcomes
    for edit in order:
        room -= len(context.by_edit[edit])
        if room < 0:
            break
        selected.append(edit)
    return selected


def describe_parse(edit: Json) -> str:
    """Return how certain the parse of the instruction is; empty where the benchmark states what the edit asks for."""
    steps = edit["reading"]["steps"] if edit.get("reading") else []
    if any(step["edit_type"] == UNSPECIFIED for step in steps):
        return "not parsed"
    return "" if not steps else "certain" if all(step["sure"] for step in steps) else "uncertain"


def _parse_facts(edit: Json) -> list[list[str]]:
    """Return how the instruction was parsed, and its steps if it has several."""
    reading = edit.get("reading")
    if not reading:
        return []
    steps = reading["steps"]
    facts = [["instruction parsed", f"by {reading['how']}, {describe_parse(edit)}"]]
    if len(steps) > 1:
        named = (" ".join(filter(None, (words.spaced(s["edit_type"]), s["subject"], s["to"]))) for s in steps)
        facts.append(["steps", "; ".join(named)])
    return facts


def _field_text(value: Any) -> str:
    if not isinstance(value, dict):
        return str(value)
    parts = sorted(value.items(), key=lambda part: part[0] != "relation")  # "next to shore"
    return " ".join(str(text) for _, text in parts if text)
