"""The verb `score`: one source image, one instruction, one edited image."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import numpy as np

from editgauge.core.concurrency import run_async
from editgauge.core.edit_types import UNSPECIFIED, read_edit_type
from editgauge.core.errors import BadInput, UnknownName
from editgauge.core.images import ImageLike, Picture, load_image
from editgauge.core.masks import MaskFile, MaskPixels, bright_pixels
from editgauge.core.options import JudgeOptions, ModelOptions, Pairs
from editgauge.core.types import Edit, Item, Outcome, Position, Relation, ScoreSpec
from editgauge.engine.judges import read_jury
from editgauge.engine.options import choose_with_models, usual_protocols
from editgauge.engine.worker.perception import RunPerception
from editgauge.engine.worker.scoring import color_notes, item_rows, prepare
from editgauge.instructions.readings import complete, read_kept
from editgauge.look.result import ScoreResult, Verdict
from editgauge.look.verdict import sum_up
from editgauge.models.cache import place
from editgauge.protocols import Protocol

if TYPE_CHECKING:
    from editgauge.core.run import Row


def score(
    before: ImageLike,
    after: ImageLike,
    instruction: str,
    *,
    edit_type: str | None = None,
    subject: str | None = None,
    from_: str | None = None,
    to: str | None = None,
    position: str | None = None,
    anchor: str | None = None,
    mask: ImageLike | None = None,
    source_caption: str | None = None,
    fields: str | Path | None = None,
    protocol: Sequence[str] = (),
    models: str | None = None,
    model: Pairs = (),
    judge: str | Pairs = (),
    prompts: str | Path | None = None,
) -> ScoreResult:
    """Score one edited image.

    The verdict comes first: was the edit done, was the rest kept, are there artifacts, and how certain that is. What
    the edit asks for is read from the instruction, unless `edit_type` and its fields are given. In Python an image is
    a path, a PIL image, or an array of height x width x 3 (uint8, or floats from 0 to 1).

    Example:
        $ editgauge score before.png after.png "make the cat black"
        >>> result = editgauge.score("before.png", "after.png", "make the cat black")
        >>> result.verdict.sentence, result["edit"].value

    Args:
        before: source image.
        after: edited image.
        instruction: what the edit asks for.
        edit_type: one of `editgauge list edit-types`; by default read from the instruction.
        subject: the object the edit is about.
        from_: what it was before.
        to: what it should be afterwards.
        position: where it should be, such as left, above, on or next to.
        anchor: the object that `position` is relative to.
        mask: image whose bright pixels may change; the rest should stay. In Python also an array of bool.
        source_caption: what the source image shows; pronouns of the instruction are resolved from it.
        fields: file with readings of instructions, from `editgauge understand --file`.
        protocol: how to score; repeat for several protocols. By default: edit done, rest kept, artifacts.
    """
    jury = read_jury(JudgeOptions(judge=judge, prompts=prompts))
    wanted = ModelOptions(models=models, model=model)
    names, remark = (protocol, "") if protocol else usual_protocols(wanted)
    chosen, choice = choose_with_models(names, wanted, jury.addresses)
    edit = Edit(
        id="edit",
        source=Picture("source", _path(before)),
        type=read_edit_type(edit_type) if edit_type else UNSPECIFIED,
        instruction=instruction,
        subject=subject,
        from_=from_,
        to=to,
        position=_position(position, anchor),
        source_caption=source_caption,
        mask=_mask(mask),
    )
    edit = complete(edit, read_kept(Path(fields)) if fields else None)
    outcome = Outcome(edit_id=edit.id, method="given", image=_path(after))
    source, edited = load_image(before, "source image"), load_image(after, "edited image")
    item = prepare(edit, outcome, source.pixels, edited.pixels, color_notes(source.notes, edited.notes))
    sight = RunPerception(choice.models, place(), jury)
    scores = run_async(_verdicts(chosen, item, sight))
    return ScoreResult(scores, item, sum_up(scores, edit), remark)


def _path(image: ImageLike) -> Path:
    """Where the image is; its pixels are read apart from that."""
    return Path(image) if isinstance(image, str | Path) else Path("in memory")


def _mask(mask: ImageLike | None) -> MaskFile | MaskPixels | None:
    if mask is None or isinstance(mask, str | Path):
        return MaskFile(Path(mask)) if mask else None
    if isinstance(mask, np.ndarray) and mask.dtype == np.bool_:
        mask = mask.astype(np.uint8) * np.uint8(255)
    return MaskPixels(bright_pixels(load_image(mask, "mask").pixels, "The mask"))


async def _verdicts(chosen: Sequence[Protocol], item: Item, sight: RunPerception) -> list[Verdict]:
    async with sight as see:
        return [
            _verdict(each.name, spec, row)
            for each in chosen
            for spec, row in zip(each.scores, await item_rows(each, item, see), strict=True)
        ]


def _position(relation: str | None, anchor: str | None) -> Position | None:
    if relation is None:
        if anchor is not None:
            raise BadInput(f"--anchor needs --position: {', '.join(get_args(Relation))}.")
        return None
    for known in get_args(Relation):
        if relation == known:
            return Position(known, anchor)
    raise UnknownName("position", relation, get_args(Relation), "editgauge score --help")


def _verdict(protocol: str, spec: ScoreSpec, row: Row) -> Verdict:
    meaning = spec.higher_is_better, spec.range
    if row.value is not None:
        return Verdict(protocol, spec.name, row.value, "scored", None, *meaning, row.evidence)
    why = ({"note": row.detail},) if row.detail else ()
    return Verdict(protocol, spec.name, None, "unscored", row.reason, *meaning, (*why, *row.evidence))
