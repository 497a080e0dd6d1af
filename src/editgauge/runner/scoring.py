"""Scores one outcome: decodes the pictures, asks the protocols, turns whatever happens into records."""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from editgauge.core import evidence
from editgauge.core.errors import BadImage, CannotTell
from editgauge.core.images import Pixels, pixel_hash, read_image, resized
from editgauge.core.run import ImageStamp, Record, Row
from editgauge.core.types import Edit, Item, Outcome, Score, Scores, ScoreSpec, Unscored

if TYPE_CHECKING:
    from collections.abc import Sequence

    from editgauge.perception.interfaces import Perception
    from editgauge.protocols import Protocol


@dataclass(frozen=True, slots=True)
class Task:
    """One outcome to be scored by some protocols."""

    place: int
    edit: Edit
    outcome: Outcome
    protocols: tuple[str, ...]


async def score_task(task: Task, protocols: Sequence[Protocol], see: Perception) -> list[Record]:
    """One record per protocol. Nothing an image or a protocol does can raise: it becomes unscored with its reason."""
    source = _decoded(task.edit.source.path)
    edited = _decoded(task.outcome.image) if task.outcome.image else None
    missing = _why_missing(task.outcome, source, edited)
    records = []
    for protocol in protocols:
        if missing is None:
            assert edited is not None  # noqa: S101 - otherwise it would be missing
            scores = await _scores(protocol, task, source, edited, see)
        else:
            scores = dict.fromkeys((spec.name for spec in protocol.scores), missing)
        records.append(_record(task, protocol, source.stamp, edited.stamp if edited else None, scores))
    return records


def crashed(task: Task, protocols: Sequence[Protocol], why: str) -> list[Record]:
    """The records of an outcome whose scoring took the whole process down."""
    source = ImageStamp.of(task.edit.source.path)
    edited = ImageStamp.of(task.outcome.image) if task.outcome.image else None
    nothing = Unscored("crashed", why)
    return [
        _record(task, protocol, source, edited, dict.fromkeys((spec.name for spec in protocol.scores), nothing))
        for protocol in protocols
    ]


async def item_scores(protocol: Protocol, item: Item, see: Perception) -> Scores:
    """The protocol's scores, complete: what it cannot tell or forgets is unscored."""
    try:
        scores = await protocol.score(item, see)
    except CannotTell as unable:
        return dict.fromkeys((spec.name for spec in protocol.scores), Unscored(unable.reason, unable.detail))
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        why = f"{type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})"
        return dict.fromkeys((spec.name for spec in protocol.scores), Unscored("crashed", why))
    return {spec.name: _checked(spec, scores) for spec in protocol.scores}


def prepare(edit: Edit, outcome: Outcome, source: Pixels, edited: Pixels) -> Item:
    """The item with both pictures in the source's size and the edit's mask drawn."""
    height, width = source.shape[:2]
    was = None if edited.shape == source.shape else (edited.shape[1], edited.shape[0])
    mask = edit.mask.render(width, height) if edit.mask else None
    same_size = resized(edited, width, height)
    return Item(edit=edit, outcome=outcome, source=source, edited=same_size, mask=mask, resized_from=was)


@dataclass(frozen=True, slots=True)
class _Decoded:
    stamp: ImageStamp
    pixels: Pixels | None
    problem: str = ""


@lru_cache(maxsize=4)
def _decoded_as_stamped(path: Path, size: int, changed_ns: int) -> _Decoded:
    """Outcomes of one source image are scored one after another, so a few pictures are enough to remember."""
    try:
        pixels = read_image(path)
    except BadImage as problem:
        return _Decoded(ImageStamp(str(path), size, changed_ns), None, str(problem))
    pixels.setflags(write=False)
    return _Decoded(ImageStamp(str(path), size, changed_ns, pixel_hash(pixels)), pixels)


def _decoded(path: Path) -> _Decoded:
    stamp = ImageStamp.of(path)
    return _decoded_as_stamped(path, stamp.size, stamp.changed_ns)


def _why_missing(outcome: Outcome, source: _Decoded, edited: _Decoded | None) -> Unscored | None:
    if edited is None:
        return Unscored("missing_outcome", outcome.absence or "")
    if edited.stamp.size < 0:
        return Unscored("missing_outcome", edited.problem)
    if source.pixels is None or edited.pixels is None:
        return Unscored("unreadable_image", source.problem or edited.problem)
    return None


async def _scores(protocol: Protocol, task: Task, source: _Decoded, edited: _Decoded, see: Perception) -> Scores:
    assert source.pixels is not None  # noqa: S101 - otherwise it would be missing
    assert edited.pixels is not None  # noqa: S101
    try:
        item = prepare(task.edit, task.outcome, source.pixels, edited.pixels)
    except BadImage as problem:
        return dict.fromkeys((spec.name for spec in protocol.scores), Unscored("unreadable_image", str(problem)))
    return await item_scores(protocol, item, see)


def _checked(spec: ScoreSpec, scores: Scores) -> Score | Unscored:
    """Holds a protocol to its promise: every declared score, inside its range."""
    given = scores.get(spec.name)
    if given is None:
        return Unscored("crashed", f"the protocol gave no score named '{spec.name}'")
    low, high = spec.range
    if isinstance(given, Score) and not low - 1e-6 <= given.value <= high + 1e-6:
        return Unscored("crashed", f"the protocol gave {given.value}, outside its own range {low} to {high}")
    return given


def _record(task: Task, protocol: Protocol, source: ImageStamp, edited: ImageStamp | None, scores: Scores) -> Record:
    return Record(
        place=task.place,
        edit=task.edit.id,
        edit_type=task.edit.type,
        source=task.edit.source.name,
        method=task.outcome.method,
        seed=task.outcome.seed,
        protocol=protocol.name,
        source_image=source,
        edited_image=edited,
        rows=tuple(_row(spec.name, scores[spec.name]) for spec in protocol.scores),
    )


def _row(name: str, score: Score | Unscored) -> Row:
    pieces = tuple(evidence.to_json(piece) for piece in score.evidence)
    if isinstance(score, Score):
        return Row(name, score.value, evidence=pieces)
    return Row(name, None, score.reason, score.detail, pieces)
