"""Score many edited images with models that stay loaded."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self, TypedDict, TypeVar, Unpack, get_args

import numpy as np

from editgauge import __version__
from editgauge._util.caching import LRUCache
from editgauge._util.images import ImageFile, ImageLike, LoadedImage, load_image
from editgauge._util.masks import MaskFile, MaskPixels, bright_pixels
from editgauge.edit_types import UNSPECIFIED, read_edit_type
from editgauge.engine._judges import read_judge_config
from editgauge.engine._options import open_scoring, roles_of
from editgauge.engine._perception import MemoryGate, RunPerception, admission_bytes
from editgauge.engine._scoring import build_item, score_item
from editgauge.engine.parse import InstructionText, parse_with_judge
from editgauge.engine.result import ScoreResult
from editgauge.errors import BadInputError, UnknownNameError
from editgauge.instructions import parse_instruction
from editgauge.instructions.parsed import SavedParses, complete_edit, load_parses
from editgauge.models import profiles
from editgauge.models._cache import cache_dir
from editgauge.options import JudgeOptions, ModelOptions, Pairs, ScorerOptions
from editgauge.protocols.verdict import make_verdict
from editgauge.results.signature import make_signature
from editgauge.types import Edit, Item, Outcome, Position, Relation

T = TypeVar("T")
MAX_CACHED_SOURCES = 8
MAX_CACHED_SOURCE_BYTES = 4_000_000
"""Decoded; so that cached images take no more than a small model."""


class EditDetails(TypedDict, total=False):
    """What is known about an edit apart from its instruction, as keywords of `score`; the rest is parsed from it."""

    edit_type: str | None
    subject: str | None
    from_: str | None
    to: str | None
    position: str | None
    anchor: str | None
    mask: ImageLike | None
    source_caption: str | None
    target_caption: str | None
    fields: str | Path | None


class Scorer:
    """Score many images: models are loaded once, and images scored at the same time share batches.

    >>> with editgauge.Scorer(models="lite") as scorer:  # doctest: +SKIP
    ...     futures = [scorer.submit(before, after, text) for before, after, text in triples]
    ...     results = [future.result() for future in futures]

    Args:
        protocol: names of protocols; by default those that say whether the edit was done, the rest kept, and the image
            free of artifacts.
        models: model profile, as in `editgauge.score`.
        model: models for single roles.
        judge: language models used as judges.
        prompts: folder or file with prompts for the judges.

    Attributes:
        protocols: the protocols that score.
        models: name of the model for each role.
        remark: which default protocols are left out, and what they need.

    """

    def __init__(
        self,
        protocol: Sequence[str] = (),
        models: str | ModelOptions | None = None,
        judge: str | Pairs | JudgeOptions | None = (),
        *,
        model: Pairs = (),
        prompts: str | Path | None = None,
    ) -> None:
        options = ScorerOptions(protocol=protocol, models=models, model=model, judge=judge, prompts=prompts)
        self._judge_config = read_judge_config(options.judge_options)
        self.protocols, choice, self.remark = open_scoring(options, self._judge_config)
        self.models = choice.models
        self._perception = RunPerception(choice.models, cache_dir(), self._judge_config)
        self._gate = MemoryGate()
        self._sources = SourceCache()

    @classmethod
    def from_options(cls, options: ScorerOptions) -> Self:
        """Create a scorer with options that are one value, as those of a service."""
        return cls(options.protocol, options.models, options.judge, model=options.model, prompts=options.prompts)

    def __enter__(self) -> Self:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="scoring", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._run(self._close()).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def score(
        self, before: ImageLike, after: ImageLike, instruction: str, **details: Unpack[EditDetails]
    ) -> ScoreResult:
        """Score one edited image; the arguments are those of `editgauge.score`."""
        return self.submit(before, after, instruction, **details).result()

    def submit(
        self, before: ImageLike, after: ImageLike, instruction: str, **details: Unpack[EditDetails]
    ) -> Future[ScoreResult]:
        """Start scoring one edited image. Cancelling the future stops the work."""
        if not isinstance(instruction, str):
            raise BadInputError(f"`instruction` must be text such as 'make the cat black', got {instruction!r}.")
        parses = self._parse_by_judge(instruction, details)
        return self._run(
            self._score(lambda: self._load(build_edit(before, instruction, details, parses), before, after))
        )

    def submit_edit(self, edit: Edit, before: ImageLike, after: ImageLike) -> Future[ScoreResult]:
        """Start scoring one outcome of an edit of a benchmark."""
        return self._run(self._score(lambda: self._load(complete_edit(edit), before, after)))

    def warm_up(self) -> Future[ScoreResult]:
        """Load every model by scoring an image of noise; ignore its scores."""
        noise = np.random.default_rng(0).integers(0, 255, (64, 64, 3), dtype=np.uint8)
        return self.submit(noise, noise, "Remove the cat.")

    def _parse_by_judge(self, instruction: str, details: EditDetails) -> SavedParses | None:
        """Let the judge parse an instruction that the rules do not understand, such as one in Chinese."""
        if not self._judge_config.addresses or not instruction.strip():
            return None
        if details.get("edit_type") or details.get("fields"):
            return None
        captions = details.get("source_caption"), details.get("target_caption")
        by_rules = parse_instruction(instruction, *captions)
        if any(step.type != UNSPECIFIED for step in by_rules.steps):
            return None
        parsed = parse_with_judge(InstructionText(instruction, *captions), self._judge_config)
        return SavedParses({f"text {instruction}": parsed}, "") if parsed.how == "judge" else None

    async def _close(self) -> None:
        """Cancel what is in flight and release models and judges."""
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._perception.__aexit__()

    def _run(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def _load(self, edit: Edit, before: ImageLike, after: ImageLike) -> Item:
        outcome = Outcome(edit_id=edit.id, method="given", image=_path_of(after))
        return build_item(edit, outcome, self._sources.load(before), load_image(after, "edited image"))

    @cached_property
    def _signatures(self) -> dict[str, str]:
        """Signature of each protocol's scores."""
        models, judges = profiles.describe(self.models), self._judge_config.describe()
        return {
            protocol.name: str(
                make_signature(
                    protocol.name,
                    protocol.version,
                    __version__,
                    {role: models[role] for role in roles_of(protocol, models)},
                    judges,
                )
            )
            for protocol in self.protocols
        }

    async def _score(self, load: Callable[[], Item]) -> ScoreResult:
        async with self._gate.admit() as reserve:
            item = load()
            reserve(admission_bytes(item.pixel_bytes))
            scores = await score_item(item, self.protocols, self._perception)
        records = [
            replace(record, signature=self._signatures[record.protocol])
            for records in scores.values()
            for record in records
        ]
        return ScoreResult(records, item, make_verdict(records), self.remark)


def build_edit(before: ImageLike, instruction: str, details: EditDetails, parses: SavedParses | None = None) -> Edit:
    """Build the edit from what is known about it and what its instruction says."""
    edit_type, fields = details.get("edit_type"), details.get("fields")
    edit = Edit(
        id="edit",
        source=ImageFile("source", _path_of(before)),
        type=read_edit_type(edit_type) if edit_type else UNSPECIFIED,
        instruction=instruction,
        subject=details.get("subject"),
        from_=details.get("from_"),
        to=details.get("to"),
        position=_parse_position(details.get("position"), details.get("anchor")),
        source_caption=details.get("source_caption"),
        target_caption=details.get("target_caption"),
        mask=_load_mask(details.get("mask")),
    )
    return complete_edit(edit, load_parses(Path(fields)) if fields else parses)


class SourceCache:
    """The latest source images that came as bytes of a file: they come again with every outcome."""

    def __init__(self) -> None:
        self._images = LRUCache[bytes, LoadedImage](MAX_CACHED_SOURCES)

    def load(self, image: ImageLike) -> LoadedImage:
        """Decode the image, or return the cached one."""
        cached = self._images.get(image) if isinstance(image, bytes) else None
        if cached is not None:
            return cached
        loaded = load_image(image, "source image")
        if isinstance(image, bytes) and loaded.pixels.nbytes <= MAX_CACHED_SOURCE_BYTES:
            self._images.put(image, loaded)
        return loaded


def _path_of(image: ImageLike) -> Path:
    return Path(image) if isinstance(image, str | Path) else Path("in memory")


def _load_mask(mask: ImageLike | None) -> MaskFile | MaskPixels | None:
    if mask is None:
        return None
    if isinstance(mask, str) and not mask:
        raise BadInputError("`mask` is empty; pass the path of an image, or leave it out.")
    if isinstance(mask, str | Path):
        return MaskFile(Path(mask))
    if isinstance(mask, np.ndarray) and mask.dtype == np.bool_:
        mask = mask.astype(np.uint8) * np.uint8(255)
    return MaskPixels(bright_pixels(load_image(mask, "mask").pixels, "The mask"))


def _parse_position(relation: str | None, anchor: str | None) -> Position | None:
    if relation is None:
        if anchor is not None:
            raise BadInputError(f"`anchor` needs `position`: {', '.join(get_args(Relation))}.")
        return None
    for name in get_args(Relation):
        if relation == name:
            return Position(name, anchor)
    raise UnknownNameError("position", relation, get_args(Relation), "editgauge score --help")
