"""The verb `score`: one source image, one instruction, one edited image."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from editgauge.core.concurrency import run_async
from editgauge.core.edit_types import read_edit_type
from editgauge.core.errors import BadInput, UnknownName
from editgauge.core.images import Picture, load_image
from editgauge.core.masks import MaskFile
from editgauge.core.options import JudgeOptions, ModelOptions, Pairs
from editgauge.core.types import Edit, Item, Outcome, Position, Relation, ScoreSpec
from editgauge.engine.judges import read_jury
from editgauge.engine.options import choose_with_models
from editgauge.engine.worker.perception import RunPerception
from editgauge.engine.worker.scoring import color_notes, item_rows, prepare
from editgauge.models.cache import place
from editgauge.protocols import Protocol

if TYPE_CHECKING:
    from editgauge.core.run import Row


@dataclass(frozen=True, slots=True)
class Verdict:
    """One score with everything needed to read it."""

    protocol: str
    name: str
    value: float | None
    status: Literal["scored", "unscored"]
    reason: str | None
    higher_is_better: bool
    range: tuple[float, float]
    evidence: tuple[dict[str, Any], ...]


def score(
    before: str | Path,
    after: str | Path,
    instruction: str,
    *,
    edit_type: str = "unspecified",
    subject: str | None = None,
    from_: str | None = None,
    to: str | None = None,
    position: str | None = None,
    anchor: str | None = None,
    mask: str | Path | None = None,
    protocol: Sequence[str] = ("preservation",),
    models: str | None = None,
    model: Pairs = (),
    judge: str | Pairs = (),
    prompts: str | Path | None = None,
) -> list[Verdict]:
    """Score one edited image.

    Example:
        $ editgauge score before.png after.png "make the cat black" --edit-type color --subject cat --to black
        >>> editgauge.score("before.png", "after.png", "make the cat black", edit_type="color", subject="cat")

    Args:
        before: source image.
        after: edited image.
        instruction: the instruction of the edit.
        edit_type: one of `editgauge list edit-types`.
        subject: the object the edit is about.
        from_: what it was before.
        to: what it should be afterwards.
        position: where it should be: left, right, above, below, on or center.
        anchor: the object that `position` is relative to.
        mask: image whose bright pixels may change; the rest should stay.
        protocol: how to score; repeat for several protocols.
    """
    jury = read_jury(JudgeOptions(judge=judge, prompts=prompts))
    chosen, choice = choose_with_models(protocol, ModelOptions(models=models, model=model), jury.addresses)
    edit = Edit(
        id="edit",
        source=Picture("source", Path(before)),
        type=read_edit_type(edit_type),
        instruction=instruction,
        subject=subject,
        from_=from_,
        to=to,
        position=_position(position, anchor),
        mask=MaskFile(Path(mask)) if mask else None,
    )
    outcome = Outcome(edit_id=edit.id, method="given", image=Path(after))
    source, edited = load_image(Path(before)), load_image(Path(after))
    item = prepare(edit, outcome, source.pixels, edited.pixels, color_notes(source.notes, edited.notes))
    sight = RunPerception(choice.models, place(), jury)
    return run_async(_verdicts(chosen, item, sight))


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
            raise BadInput("--anchor needs --position: left, right, above, below, on or center.")
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
