"""The verb `score`: one source image, one instruction, one edited image."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from editgauge.core import evidence
from editgauge.core.errors import BadInput, UnknownName
from editgauge.core.images import Picture, read_image
from editgauge.core.masks import MaskFile
from editgauge.core.types import Edit, Outcome, Position, Relation, Score, ScoreSpec, Unscored, read_edit_type
from editgauge.perception.service import Service
from editgauge.protocols import protocols
from editgauge.runner.execute import pairs
from editgauge.runner.scoring import item_scores, prepare


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
    edit_type: str,
    subject: str | None = None,
    from_: str | None = None,
    to: str | None = None,
    position: str | None = None,
    anchor: str | None = None,
    mask: str | Path | None = None,
    protocol: Sequence[str] = ("preservation",),
    model: Mapping[str, str] | Sequence[str] = (),
) -> list[Verdict]:
    """Scores one edited image.

    Args:
        before: the source image.
        after: the edited image.
        instruction: what was asked for, in words.
        edit_type: one of `editgauge list edit-types`.
        subject: the object the edit is about.
        from_: what it was before.
        to: what it should be afterwards.
        position: where it should be: left, right, above, below, on or center.
        anchor: the object that `position` is relative to.
        mask: an image whose bright pixels may change; everything else should stay.
        protocol: the protocols to score with.
        model: the model for a role: `{"image_embedder": "name"}` or `["image_embedder=name"]`.
    """
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
    item = prepare(edit, outcome, read_image(Path(before)), read_image(Path(after)))
    see = Service(pairs(model, "model", "ROLE=NAME"))
    verdicts = []
    for name in dict.fromkeys(protocol):
        chosen = protocols.get(name)
        scores = asyncio.run(item_scores(chosen, item, see))
        verdicts += [_verdict(name, spec, scores[spec.name]) for spec in chosen.scores]
    return verdicts


def _position(relation: str | None, anchor: str | None) -> Position | None:
    if relation is None:
        if anchor is not None:
            raise BadInput("--anchor needs --position: left, right, above, below, on or center.")
        return None
    for known in get_args(Relation):
        if relation == known:
            return Position(known, anchor)
    raise UnknownName("position", relation, get_args(Relation), "editgauge score --help")


def _verdict(protocol: str, spec: ScoreSpec, given: Score | Unscored) -> Verdict:
    shown = tuple(evidence.to_json(piece) for piece in given.evidence)
    meaning = spec.higher_is_better, spec.range
    if isinstance(given, Score):
        return Verdict(protocol, spec.name, given.value, "scored", None, *meaning, shown)
    why = ({"note": given.detail},) if given.detail else ()
    return Verdict(protocol, spec.name, None, "unscored", given.reason, *meaning, (*why, *shown))
