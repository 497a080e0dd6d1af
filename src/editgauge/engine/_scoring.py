"""Score one item: decode the images, await the protocols, turn whatever happens into score records."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from PIL import Image

from editgauge._util import profiling
from editgauge._util.images import (
    WORKING_PIXELS,
    ImageArray,
    LoadedImage,
    Pixels,
    load_image,
    require_measurable,
    resize_image,
    to_working_size,
    working_size,
)
from editgauge._util.masks import BoolMask, require_inside
from editgauge._util.text import as_utf8
from editgauge.engine._perception import admission_bytes
from editgauge.errors import BadImageError, FatalError, UnscorableError
from editgauge.evidence import ImageNote, check_evidence
from editgauge.models.perception import ModelService
from editgauge.results import EncodedEntry, ImageStamp, JournalEntry, ScoreRecord
from editgauge.types import Edit, Item, Outcome, Score, ScoreSpec, Unscored

if TYPE_CHECKING:
    from collections.abc import Sequence

    from editgauge.engine._perception import MemoryGate
    from editgauge.protocols import JudgingPerception, Protocol, SetPart

RANGE_TOLERANCE = 1e-6
"""How far rounding may carry a score outside its range."""
SEVERAL_SOURCES = Unscored("not_applicable", "the edit has several source pictures, and the protocol compares with one")
Images = tuple[ImageStamp, ImageStamp | None, ImageStamp | None]


@dataclass(frozen=True, slots=True)
class ScoringTask:
    """One outcome to be scored by some protocols."""

    index: int
    """Position of the edit in the benchmark."""
    edit: Edit
    outcome: Outcome
    protocols: tuple[str, ...]


class ScoredTask(NamedTuple):
    """The scores of one outcome."""

    entries: list[EncodedEntry]
    """One per protocol, ready for the journal."""
    parts: dict[str, SetPart | Unscored]
    """What protocols that score sets keep of the outcome, by protocol; empty if it could not be decoded."""


async def score_task(
    task: ScoringTask, protocols: Sequence[Protocol], perception: JudgingPerception, gate: MemoryGate
) -> ScoredTask:
    """Score one outcome of a run.

    Whatever an image or a protocol does becomes a missing score with its reason; only `FatalError` is raised.
    """
    async with gate.admit() as reserve:
        source = _decode(task.edit.source.path)
        edited = _decode(task.outcome.image) if task.outcome.image else None
        reference = _decode(task.edit.reference.path) if task.edit.reference else None
        stamps = source.stamp, edited.stamp if edited else None, reference.stamp if reference else None
        item = _build_task_item(task, source, edited)
        if isinstance(item, Unscored):
            return ScoredTask(_unscored_entries(task, protocols, stamps, item), {})
        reserve(admission_bytes(item.pixel_bytes))
        scores = await score_item(item, protocols, perception)
        parts = {
            protocol.name: await extract_part(protocol, item, perception) for protocol in protocols if protocol.sets
        }
        return ScoredTask([_encode(task, name, stamps, records) for name, records in scores.items()], parts)


async def score_item(
    item: Item, protocols: Sequence[Protocol], perception: JudgingPerception
) -> dict[str, tuple[ScoreRecord, ...]]:
    """Score one item by several protocols at once; every verb that scores goes through here.

    Returns:
        Protocol to its score records, complete and in the order it declares them: what a protocol cannot tell,
        forgets or gets wrong is unscored.

    Raises:
        FatalError: every further item would meet the same error, and the user can fix it.

    """
    scores = await asyncio.gather(*(score_protocol(protocol, item, perception) for protocol in protocols))
    return dict(zip((protocol.name for protocol in protocols), scores, strict=True))


async def score_protocol(protocol: Protocol, item: Item, perception: JudgingPerception) -> tuple[ScoreRecord, ...]:
    """Score one item by one protocol, as `score_item` does."""
    if item.inputs and not protocol.takes_inputs:
        return _unscored(protocol, item.outcome, SEVERAL_SOURCES)
    try:
        scores = await profiling.stepped(protocol.name, protocol.score(item, _perception_of(protocol, perception)))
        if not isinstance(scores, Mapping):
            raise TypeError(f"the protocol gave {type(scores).__name__} instead of scores by name")
        notes = tuple(map(ImageNote, item.notes))
        return tuple(
            _complete(protocol.name, item.outcome, spec, scores.get(spec.name), notes) for spec in protocol.scores
        )
    except FatalError:
        raise
    except UnscorableError as unable:
        return _unscored(protocol, item.outcome, Unscored(unable.reason, unable.detail))
    except Exception as error:
        return _unscored(protocol, item.outcome, crash(error))


async def extract_part(protocol: Protocol, item: Item, perception: JudgingPerception) -> SetPart | Unscored:
    """Return what a protocol keeps of one outcome for its set scores, or why it keeps nothing.

    Raises:
        FatalError: every further item would meet the same error, and the user can fix it.

    """
    if item.inputs and not protocol.takes_inputs:
        return SEVERAL_SOURCES
    try:
        return await protocol.part(item, _perception_of(protocol, perception))
    except FatalError:
        raise
    except UnscorableError as unable:
        return Unscored(unable.reason, unable.detail)
    except Exception as error:
        return crash(error)


def crashed_task(task: ScoringTask, protocols: Sequence[Protocol], reason: str) -> ScoredTask:
    """Return the entries of an outcome whose scoring ended the process."""
    return ScoredTask(_unscored_entries(task, protocols, current_stamps(task), Unscored("crashed", reason)), {})


def _perception_of(protocol: Protocol, perception: JudgingPerception) -> JudgingPerception:
    """Return the perception with the models of the protocol's own paper, where a run has several for one role."""
    return perception.for_protocol(protocol.name) if isinstance(perception, ModelService) else perception


def load_item(edit: Edit, outcome: Outcome) -> Item:
    """Decode the images of an outcome and build its item.

    Raises:
        BadImageError: an image cannot be read, or a mask does not fit.

    """
    if outcome.image is None:
        raise BadImageError(outcome.absence or "there is no outcome")
    return build_item(edit, outcome, load_image(edit.source.path), load_image(outcome.image))


def build_item(
    edit: Edit, outcome: Outcome, source_image: LoadedImage | Pixels, edited_image: LoadedImage | Pixels
) -> Item:
    """Build the item that protocols score: both images in the source's size and the mask drawn, read-only.

    Images over `WORKING_PIXELS` are scaled down first. The item's notes say what was done to colors and sizes.

    Raises:
        BadImageError: an image is too small or too narrow to be measured, or a mask does not fit.

    """
    source, edited = (
        image if isinstance(image, LoadedImage) else LoadedImage(image) for image in (source_image, edited_image)
    )
    require_measurable(source.pixels, "source image")
    require_measurable(edited.pixels, "edited image")
    native_size = (edited.pixels.shape[1], edited.pixels.shape[0])
    resized_from = None if edited.pixels.shape == source.pixels.shape else native_size
    mask = _draw_mask(edit, source.pixels)
    source_pixels, edited_pixels = to_working_size(source.pixels), to_working_size(edited.pixels)
    height, width = source_pixels.shape[:2]
    same_size = resize_image(edited_pixels, width, height)
    reference = _reference(edit, width, height)
    inputs = tuple(to_working_size(_decode_pixels(image.picture.path)) for image in edit.inputs)
    first = resize_image(_decode_pixels(edit.first_source.path), width, height) if edit.first_source else None
    unchanged = None if mask is None else _unchanged(edit, mask)
    for array in (edited_pixels, mask, unchanged):
        if array is not None:
            array.setflags(write=False)
    return Item(
        edit=edit,
        outcome=outcome,
        source=ImageArray(source_pixels),
        edited=ImageArray(same_size, None if resized_from is None else edited_pixels),
        mask=mask,
        reference=None if reference is None else ImageArray(reference),
        inputs=tuple(map(ImageArray, inputs)),
        first=None if first is None else ImageArray(first),
        unchanged=unchanged,
        resized_from=resized_from,
        notes=(
            *(f"Source image: {note}." for note in source.notes),
            *(f"Edited image: {note}." for note in edited.notes),
            *_scaling_note("Source image", source.pixels),
            *_scaling_note("Edited image", edited.pixels),
        ),
    )


def _draw_mask(edit: Edit, source: Pixels) -> BoolMask | None:
    """Draw the edit's mask in the source's native pixels and bring it to the working size."""
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
    """Return the ground truth for protocols that compare with it; None if it cannot be read."""
    pixels = _decode(edit.reference.path).pixels if edit.reference else None
    return None if pixels is None else resize_image(pixels, width, height)


def _decode_pixels(path: Path) -> Pixels:
    decoded = _decode(path)
    if decoded.pixels is None:
        raise BadImageError(decoded.problem)
    return decoded.pixels


def _unchanged(edit: Edit, mask: BoolMask) -> BoolMask | None:
    """Return what is outside the masks of all turns so far; None if a turn has no mask."""
    height, width = mask.shape
    outside = ~mask
    for earlier in edit.masks_before:
        if earlier is None:
            return None
        outside &= ~earlier.render(width, height)
    return outside


def current_stamps(task: ScoringTask) -> Images:
    """Stamp the source, the outcome and the reference of a task as they are now."""
    outcome, reference = task.outcome.image, task.edit.reference
    return (
        stamp_file(task.edit.source.path),
        stamp_file(outcome) if outcome else None,
        stamp_file(reference.path) if reference else None,
    )


def stamp_file(path: Path) -> ImageStamp:
    """Stamp a file by its absolute path: a run may be continued and verified from another folder."""
    return ImageStamp.of(path.absolute())


@dataclass(frozen=True, slots=True)
class _DecodedFile:
    stamp: ImageStamp
    pixels: Pixels | None
    problem: str = ""
    notes: tuple[str, ...] = ()


@lru_cache(maxsize=6)
def _decode_cached(path: str, size: int, changed_ns: int) -> _DecodedFile:
    """Decode a file; a few are enough to remember, since outcomes of one source are scored one after another."""
    try:
        with profiling.span("decode", "pictures"):
            image = load_image(Path(path))
    except BadImageError as problem:
        return _DecodedFile(ImageStamp(path, size, changed_ns), None, str(problem))
    pixels = ImageArray(image.pixels)
    return _DecodedFile(ImageStamp(path, size, changed_ns, pixels.hash), pixels, notes=image.notes)


def _decode(path: Path) -> _DecodedFile:
    stamp = stamp_file(path)
    decoded = _decode_cached(stamp.path, stamp.size, stamp.changed_ns)
    if decoded.pixels is not None and decoded.pixels.size > 3 * WORKING_PIXELS:
        _decode_cached.cache_clear()  # six images of 50 megapixels would take 900 MB
    return decoded


def _build_task_item(task: ScoringTask, source: _DecodedFile, edited: _DecodedFile | None) -> Item | Unscored:
    if edited is None:
        return Unscored("missing_outcome", task.outcome.absence or "")
    if edited.stamp.size < 0:
        return Unscored("missing_outcome", edited.problem)
    if source.pixels is None or edited.pixels is None:
        return Unscored("unreadable_image", source.problem or edited.problem)
    try:
        images = LoadedImage(source.pixels, source.notes), LoadedImage(edited.pixels, edited.notes)
        return build_item(task.edit, task.outcome, *images)
    except BadImageError as problem:
        return Unscored("unreadable_image", str(problem))
    except Exception as error:
        return crash(error)


def crash(error: Exception) -> Unscored:
    """Describe an exception and where it was raised as the reason for a missing score."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return Unscored("crashed", f"{type(error).__name__}: {error} ({Path(frame.filename).name}:{frame.lineno})")


def _unscored(protocol: Protocol, outcome: Outcome, unscored: Unscored) -> tuple[ScoreRecord, ...]:
    return tuple(_complete(protocol.name, outcome, spec, unscored) for spec in protocol.scores)


def _complete(
    protocol: str, outcome: Outcome, spec: ScoreSpec, score: object, notes: tuple[ImageNote, ...] = ()
) -> ScoreRecord:
    """Complete a protocol's answer to a record, holding it to its promise: a value in range, evidence to be stored."""
    if score is None:
        score = Unscored("crashed", f"the protocol gave no score named '{spec.name}'")
    elif not isinstance(score, Score | Unscored):
        score = Unscored("crashed", f"the protocol gave {type(score).__name__} instead of a score named '{spec.name}'")
    value = float(score.value) if isinstance(score, Score) else None
    low, high = spec.range
    if value is not None and not low - RANGE_TOLERANCE <= value <= high + RANGE_TOLERANCE:
        score = Unscored("crashed", f"the protocol gave {value}, outside its own range {low} to {high}")
        value = None
    for piece in score.evidence:
        check_evidence(piece)
    return ScoreRecord(
        edit=outcome.edit_id,
        method=outcome.method,
        seed=outcome.seed,
        protocol=protocol,
        spec=spec,
        value=value,
        reason=score.reason if isinstance(score, Unscored) else None,
        detail=as_utf8(score.detail) if isinstance(score, Unscored) else "",
        advice=score.advice if isinstance(score, Unscored) else "",
        evidence=(*score.evidence, *notes),
    )


def _unscored_entries(
    task: ScoringTask, protocols: Sequence[Protocol], stamps: Images, unscored: Unscored
) -> list[EncodedEntry]:
    return [_encode(task, protocol.name, stamps, _unscored(protocol, task.outcome, unscored)) for protocol in protocols]


def _encode(task: ScoringTask, protocol: str, stamps: Images, scores: tuple[ScoreRecord, ...]) -> EncodedEntry:
    source, edited, reference = stamps
    return JournalEntry(
        index=task.index,
        edit=task.edit.id,
        edit_type=task.edit.type,
        source=task.edit.origin,
        method=task.outcome.method,
        seed=task.outcome.seed,
        protocol=protocol,
        source_image=source,
        edited_image=edited,
        scores=scores,
        reference_image=reference,
    ).encode()
