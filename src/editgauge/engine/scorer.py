"""Scores many edited images with models that stay loaded, in an event loop of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeVar, get_args

import numpy as np

from editgauge._util.images import ImageFile, ImageLike, LoadedImage, load_image
from editgauge._util.masks import MaskFile, MaskPixels, bright_pixels
from editgauge.edit_types import UNSPECIFIED, read_edit_type
from editgauge.engine._judges import read_judge_config
from editgauge.engine._options import default_protocols, open_protocols_with_models
from editgauge.engine._perception import MemoryGate, RunPerception, admission_bytes
from editgauge.engine._scoring import build_item, score_item
from editgauge.engine.parse import read_instruction
from editgauge.engine.result import ScoreResult
from editgauge.engine.verdict import make_verdict
from editgauge.errors import BadInputError, UnknownNameError
from editgauge.instructions import understand
from editgauge.instructions.parsed import SavedParses, complete_edit, load_parses
from editgauge.models.cache import place
from editgauge.options import JudgeOptions, ModelOptions
from editgauge.types import Edit, Item, Outcome, Position, Relation

T = TypeVar("T")
SOURCES_KEPT = 8
MOST_BYTES_OF_A_SOURCE = 4_000_000
"""Of its pixels, so that the images kept take no more than a small model."""


class Scorer:
    """Like `editgauge.score` for many images: models are loaded once, and images scored at once share their batches.

    >>> with editgauge.Scorer() as scorer:  # doctest: +SKIP
    ...     futures = [scorer.submit(before, after, text) for before, after, text in triples]
    ...     results = [future.result() for future in futures]

    Args:
        protocol: names of protocols; by default those that say whether the edit was done, the rest kept, and the image
            free of artifacts.
        models: which networks look at the images.
        judge: which language models are asked.
    """

    def __init__(
        self, protocol: Sequence[str] = (), models: ModelOptions | None = None, judge: JudgeOptions | None = None
    ) -> None:
        wanted, judge_config = models or ModelOptions(), read_judge_config(judge or JudgeOptions())
        self._jury = judge_config
        names, self.remark = (protocol, "") if protocol else default_protocols(wanted)
        self.protocols, choice = open_protocols_with_models(names, wanted, judge_config.addresses)
        self.models = choice.models
        self._see = RunPerception(choice.models, place(), judge_config)
        self._gate = MemoryGate()
        self._sources = RecentSources()

    def __enter__(self) -> Self:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="scoring", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._run(self._end()).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def score(self, before: ImageLike, after: ImageLike, instruction: str, **fields: Any) -> ScoreResult:
        """The scores of one edited image; `fields` are those of `KnownFields`, such as `subject` or `mask`."""
        return self.submit(before, after, instruction, **fields).result()

    def submit(self, before: ImageLike, after: ImageLike, instruction: str, **fields: Any) -> Future[ScoreResult]:
        """The same, without waiting for it. Cancelling the future stops the work."""
        known = KnownFields(**fields)
        kept = self._judged(instruction, known)
        return self._run(self._score(lambda: self._loaded(known.edit(before, instruction, kept), before, after)))

    def submit_edit(self, edit: Edit, before: ImageLike, after: ImageLike) -> Future[ScoreResult]:
        """The same for an edit of a benchmark, with all that is known about it."""
        return self._run(self._score(lambda: self._loaded(complete_edit(edit), before, after)))

    def warm_up(self) -> Future[ScoreResult]:
        """Load every model by scoring an image of noise; ignore its scores."""
        noise = np.random.default_rng(0).integers(0, 255, (64, 64, 3), dtype=np.uint8)
        return self.submit(noise, noise, "Remove the cat.")

    def _judged(self, instruction: str, known: KnownFields) -> SavedParses | None:
        """The judge's reading of an instruction that the rules do not understand, such as one in Chinese."""
        if not self._jury.addresses or known.edit_type or known.fields or not instruction.strip():
            return None
        captions = known.source_caption, known.target_caption
        by_rules = understand(instruction, *captions)
        if any(step.type != UNSPECIFIED for step in by_rules.steps):
            return None
        reading = read_instruction(instruction, *captions, form=None, source=None, judge_config=self._jury)
        return SavedParses({f"text {instruction}": reading}, "") if reading.how == "judge" else None

    async def _end(self) -> None:
        """Gives up what is under way, and lets models and judges go."""
        under_way = asyncio.all_tasks() - {asyncio.current_task()}
        for task in under_way:
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)
        await self._see.__aexit__()

    def _run(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def _loaded(self, edit: Edit, before: ImageLike, after: ImageLike) -> Item:
        outcome = Outcome(edit_id=edit.id, method="given", image=_path(after))
        source, edited = self._sources.load(before), load_image(after, "edited image")
        return build_item(edit, outcome, source, edited)

    async def _score(self, load: Callable[[], Item]) -> ScoreResult:
        async with self._gate.admit() as reserve:
            item = load()
            reserve(admission_bytes(item.pixel_bytes))
            scores = await score_item(item, self.protocols, self._see)
        records = [record for records in scores.values() for record in records]
        return ScoreResult(records, item, make_verdict(records, item.edit), self.remark)


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownFields:
    """What is known about an edit besides its instruction, as in `editgauge.score`; the rest is read from that."""

    edit_type: str | None = None
    subject: str | None = None
    from_: str | None = None
    to: str | None = None
    position: str | None = None
    anchor: str | None = None
    mask: ImageLike | None = None
    source_caption: str | None = None
    target_caption: str | None = None
    fields: str | Path | None = None

    def edit(self, before: ImageLike, instruction: str, kept: SavedParses | None = None) -> Edit:
        """The edit, with what was read from the instruction."""
        edit = Edit(
            id="edit",
            source=ImageFile("source", _path(before)),
            type=read_edit_type(self.edit_type) if self.edit_type else UNSPECIFIED,
            instruction=instruction,
            subject=self.subject,
            from_=self.from_,
            to=self.to,
            position=_position(self.position, self.anchor),
            source_caption=self.source_caption,
            target_caption=self.target_caption,
            mask=_mask(self.mask),
        )
        return complete_edit(edit, load_parses(Path(self.fields)) if self.fields else kept)


class RecentSources:
    """The latest source images that came as the bytes of a file: they come again with every outcome."""

    def __init__(self) -> None:
        self._known: dict[bytes, LoadedImage] = {}

    def load(self, image: ImageLike) -> LoadedImage:
        """The image, decoded."""
        if isinstance(image, bytes) and image in self._known:
            return self._known[image]
        loaded = load_image(image, "source image")
        if isinstance(image, bytes) and loaded.pixels.nbytes <= MOST_BYTES_OF_A_SOURCE:
            self._known[image] = loaded
            while len(self._known) > SOURCES_KEPT:
                del self._known[next(iter(self._known))]
        return loaded


def _path(image: ImageLike) -> Path:
    """Where the image is; its pixels are read apart from that."""
    return Path(image) if isinstance(image, str | Path) else Path("in memory")


def _mask(mask: ImageLike | None) -> MaskFile | MaskPixels | None:
    if mask is None or isinstance(mask, str | Path):
        return MaskFile(Path(mask)) if mask else None
    if isinstance(mask, np.ndarray) and mask.dtype == np.bool_:
        mask = mask.astype(np.uint8) * np.uint8(255)
    return MaskPixels(bright_pixels(load_image(mask, "mask").pixels, "The mask"))


def _position(relation: str | None, anchor: str | None) -> Position | None:
    if relation is None:
        if anchor is not None:
            raise BadInputError(f"--anchor needs --position: {', '.join(get_args(Relation))}.")
        return None
    for known in get_args(Relation):
        if relation == known:
            return Position(known, anchor)
    raise UnknownNameError("position", relation, get_args(Relation), "editgauge score --help")
