"""Scores one outcome: decodes the pictures, asks the protocols, turns whatever happens into records."""

from __future__ import annotations

import json
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from PIL import Image

from editgauge import evidence
from editgauge._util import profiling
from editgauge._util.images import (
    WORKING_PIXELS,
    Pixels,
    at_working_size,
    load_image,
    require_measurable,
    resized,
    working_size,
)
from editgauge._util.masks import BoolMask, require_inside
from editgauge._util.text import as_utf8
from editgauge.engine.worker.memory import bytes_of_work
from editgauge.errors import BadImageError, FatalError, UnscorableError
from editgauge.models.identity import identity
from editgauge.models.own_pixels import in_own_pixels
from editgauge.models.service import ModelService
from editgauge.results import ImageStamp, Record, Row
from editgauge.types import Edit, Item, Outcome, Score, ScoreSpec, Unscored

if TYPE_CHECKING:
    from collections.abc import Sequence

    from editgauge.engine.worker.memory import MemoryGate
    from editgauge.protocols import JudgingPerception, Part, Protocol

ROUNDING = 1e-6
"""How far a score may leave its range before it is called a mistake."""


ONE_SOURCE = Unscored("not_applicable", "the edit has several source pictures, and the protocol compares with one")
Images = tuple[ImageStamp, ImageStamp | None, ImageStamp | None]


@dataclass(frozen=True, slots=True)
class ScoringTask:
    """One outcome to be scored by some protocols."""

    place: int
    edit: Edit
    outcome: Outcome
    protocols: tuple[str, ...]


class ScoredTask(NamedTuple):
    """What became of one outcome."""

    records: list[Record]
    """One per protocol."""
    parts: dict[str, Part | Unscored]
    """What each protocol that scores whole sets keeps of it; empty where it could not be looked at."""


async def score_task(
    task: ScoringTask, protocols: Sequence[Protocol], see: JudgingPerception, gate: MemoryGate
) -> ScoredTask:
    """One record per protocol, and its part in sets.

    Nothing an image or a protocol does can raise: it becomes unscored with its reason.
    """
    async with gate.entered() as hold:
        source = _decoded(task.edit.source.path)
        edited = _decoded(task.outcome.image) if task.outcome.image else None
        reference = _decoded(task.edit.reference.path) if task.edit.reference else None
        stamps = source.stamp, edited.stamp if edited else None, reference.stamp if reference else None
        item = _item(task, source, edited)
        if isinstance(item, Unscored):
            return ScoredTask([_record(task, protocol, stamps, _nothing(protocol, item)) for protocol in protocols], {})
        hold(bytes_of_work(item.pixel_bytes))
        records = [_record(task, protocol, stamps, await item_rows(protocol, item, see)) for protocol in protocols]
        parts = {protocol.name: await part_of(protocol, item, see) for protocol in protocols if protocol.sets}
        return ScoredTask(records, parts)


async def part_of(protocol: Protocol, item: Item, see: JudgingPerception) -> Part | Unscored:
    """What the protocol keeps of one outcome for its sets, or why it keeps nothing; only `FatalError` is raised."""
    if item.inputs and not protocol.takes_inputs:
        return ONE_SOURCE
    try:
        return await protocol.part(item, _seen_by(protocol, see, item))
    except FatalError:
        raise
    except UnscorableError as unable:
        return Unscored(unable.reason, unable.detail)
    except Exception as error:
        return crash(error)


def crashed(task: ScoringTask, protocols: Sequence[Protocol], why: str) -> ScoredTask:
    """The records of an outcome whose scoring took the whole process down."""
    stamps, nothing = stamps_of(task), Unscored("crashed", why)
    return ScoredTask([_record(task, protocol, stamps, _nothing(protocol, nothing)) for protocol in protocols], {})


async def item_rows(protocol: Protocol, item: Item, see: JudgingPerception) -> tuple[Row, ...]:
    """The protocol's scores, complete and as promised: what it cannot tell, forgets or gets wrong is unscored.

    Only `FatalError` is raised: every further item would meet the same, and the user can fix it.
    """
    if item.inputs and not protocol.takes_inputs:
        return _nothing(protocol, ONE_SOURCE)
    try:
        scores = await profiling.stepped(protocol.name, protocol.score(item, _seen_by(protocol, see, item)))
        if not isinstance(scores, Mapping):
            raise TypeError(f"the protocol gave {type(scores).__name__} instead of scores by name")
        return tuple(_noted(_row(spec, scores.get(spec.name)), item.notes) for spec in protocol.scores)
    except FatalError:
        raise
    except UnscorableError as unable:
        return _nothing(protocol, Unscored(unable.reason, unable.detail))
    except Exception as error:
        return _nothing(protocol, crash(error))


def _seen_by(protocol: Protocol, see: JudgingPerception, item: Item) -> JudgingPerception:
    """With the models of the protocol's own paper, where a run has several for one role; outcomes in their own size."""
    chosen = see.for_protocol(protocol.name) if isinstance(see, ModelService) else see
    return in_own_pixels(chosen, item.edited, item.original)


def prepare(edit: Edit, outcome: Outcome, source: Pixels, edited: Pixels, notes: Sequence[str] = ()) -> Item:
    """The item with both pictures in the source's size and the edit's mask drawn; all protocols share it, read-only.

    Pictures over `WORKING_PIXELS` are scaled down first, which the notes say. Raises `BadImageError` for a picture that is
    too small or too narrow to be measured, and for a mask that does not fit.
    """
    require_measurable(source, "source image")
    require_measurable(edited, "edited image")
    was = None if edited.shape == source.shape else (edited.shape[1], edited.shape[0])
    mask = _mask(edit, source)
    scaled = [*_scaling_note("Source image", source), *_scaling_note("Edited image", edited)]
    source, edited = at_working_size(source), at_working_size(edited)
    height, width = source.shape[:2]
    same_size = resized(edited, width, height)
    reference = _reference(edit, width, height)
    inputs = tuple(at_working_size(_pixels(each.picture.path)) for each in edit.inputs)
    first = resized(_pixels(edit.first_source.path), width, height) if edit.first_source else None
    unchanged = None if mask is None else _unchanged(edit, mask)
    for array in (source, edited, same_size, mask, reference, first, unchanged, *inputs):
        if array is not None:
            array.setflags(write=False)
    return Item(
        edit=edit,
        outcome=outcome,
        source=source,
        edited=same_size,
        mask=mask,
        reference=reference,
        inputs=inputs,
        first=first,
        unchanged=unchanged,
        resized_from=was,
        original=None if was is None else edited,
        notes=(*notes, *scaled),
    )


def _mask(edit: Edit, source: Pixels) -> BoolMask | None:
    """The edit's mask, drawn in the source's own pixels and brought to its working size."""
    if edit.mask is None:
        return None
    height, width = source.shape[:2]
    require_inside(edit.mask, width, height)
    mask = edit.mask.render(width, height)
    size = working_size(width, height)
    if size == (width, height):
        return mask
    return np.asarray(Image.fromarray(mask).resize(size, Image.Resampling.NEAREST), dtype=bool)


def _scaling_note(name: str, pixels: Pixels) -> list[str]:
    height, width = pixels.shape[:2]
    size = working_size(width, height)
    return [] if size == (width, height) else [f"{name}: scaled from {width} x {height} to {size[0]} x {size[1]}."]


def _reference(edit: Edit, width: int, height: int) -> Pixels | None:
    """The ground truth, for protocols that compare with it; one that cannot be read leaves the others as they are."""
    pixels = _decoded(edit.reference.path).pixels if edit.reference else None
    return None if pixels is None else resized(pixels, width, height)


def _pixels(path: Path) -> Pixels:
    """The picture in a file; raises `BadImageError` when it cannot be read."""
    decoded = _decoded(path)
    if decoded.pixels is None:
        raise BadImageError(decoded.problem)
    return decoded.pixels


def _unchanged(edit: Edit, mask: BoolMask) -> BoolMask | None:
    """What is outside the masks of all turns so far; None when one of them has none."""
    height, width = mask.shape
    outside = ~mask
    for before in edit.masks_before:
        if before is None:
            return None
        outside &= ~before.render(width, height)
    return outside


def stamps_of(task: ScoringTask) -> Images:
    """The files of a task as they are now: the source, the outcome and the ground truth."""
    outcome, reference = task.outcome.image, task.edit.reference
    return (
        stamp(task.edit.source.path),
        stamp(outcome) if outcome else None,
        stamp(reference.path) if reference else None,
    )


def stamp(path: Path) -> ImageStamp:
    """The file as it is now, by its absolute path: a run may be continued and verified from another folder."""
    return ImageStamp.of(path.absolute())


@dataclass(frozen=True, slots=True)
class _Decoded:
    stamp: ImageStamp
    pixels: Pixels | None
    problem: str = ""
    notes: tuple[str, ...] = ()


@lru_cache(maxsize=6)
def _decoded_as_stamped(path: str, size: int, changed_ns: int) -> _Decoded:
    """Outcomes of one source image are scored one after another, so a few pictures are enough to remember."""
    try:
        with profiling.span("decode", "pictures"):
            image = load_image(Path(path))
    except BadImageError as problem:
        return _Decoded(ImageStamp(path, size, changed_ns), None, str(problem))
    image.pixels.setflags(write=False)
    return _Decoded(ImageStamp(path, size, changed_ns, identity(image.pixels)), image.pixels, notes=image.notes)


def _decoded(path: Path) -> _Decoded:
    now = stamp(path)
    decoded = _decoded_as_stamped(now.path, now.size, now.changed_ns)
    if decoded.pixels is not None and decoded.pixels.size > 3 * WORKING_PIXELS:
        _decoded_as_stamped.cache_clear()  # six pictures of 50 megapixels would take 900 MB
    return decoded


def _item(task: ScoringTask, source: _Decoded, edited: _Decoded | None) -> Item | Unscored:
    """What the protocols are to score, or why there is nothing to score."""
    if edited is None:
        return Unscored("missing_outcome", task.outcome.absence or "")
    if edited.stamp.size < 0:
        return Unscored("missing_outcome", edited.problem)
    if source.pixels is None or edited.pixels is None:
        return Unscored("unreadable_image", source.problem or edited.problem)
    try:
        notes = color_notes(source.notes, edited.notes)
        return prepare(task.edit, task.outcome, source.pixels, edited.pixels, notes)
    except BadImageError as problem:
        return Unscored("unreadable_image", str(problem))
    except Exception as error:
        return crash(error)


def crash(error: Exception) -> Unscored:
    """What failed, and where, as the reason for having no score."""
    where = traceback.extract_tb(error.__traceback__)[-1]
    return Unscored("crashed", f"{type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})")


def _nothing(protocol: Protocol, why: Unscored) -> tuple[Row, ...]:
    return tuple(_row(spec, why) for spec in protocol.scores)


def _row(spec: ScoreSpec, score: object) -> Row:
    """Holds a protocol to its promise: a number inside the score's range, and evidence that can be stored."""
    if isinstance(score, Unscored):
        return Row(spec.name, None, score.reason, as_utf8(score.detail), _stored(score.evidence))
    if not isinstance(score, Score):
        what = "no score" if score is None else f"{type(score).__name__} instead of a score"
        return _row(spec, Unscored("crashed", f"the protocol gave {what} named '{spec.name}'"))
    value, (low, high) = float(score.value), spec.range
    if not low - ROUNDING <= value <= high + ROUNDING:
        return _row(spec, Unscored("crashed", f"the protocol gave {value}, outside its own range {low} to {high}"))
    return Row(spec.name, value, evidence=_stored(score.evidence))


def _stored(pieces: Sequence[evidence.Evidence]) -> tuple[dict[str, object], ...]:
    """Plain JSON values, whatever kind of numbers the protocol calculates with."""
    text = json.dumps([evidence.to_json(piece) for piece in pieces], default=float, allow_nan=False)
    return tuple(json.loads(text))


def color_notes(source: Sequence[str], edited: Sequence[str]) -> list[str]:
    """What the loader did to the colors of either picture, as sentences for the evidence."""
    return [f"Source image: {note}." for note in source] + [f"Edited image: {note}." for note in edited]


def _noted(row: Row, notes: Sequence[str]) -> Row:
    """The row with notes on how the pictures were read."""
    return replace(row, evidence=(*row.evidence, *({"note": note} for note in notes))) if notes else row


def _record(task: ScoringTask, protocol: Protocol, images: Images, rows: tuple[Row, ...]) -> Record:
    source, edited, reference = images
    return Record(
        place=task.place,
        edit=task.edit.id,
        edit_type=task.edit.type,
        source=task.edit.origin,
        method=task.outcome.method,
        seed=task.outcome.seed,
        protocol=protocol.name,
        source_image=source,
        edited_image=edited,
        rows=rows,
        reference_image=reference,
    )
