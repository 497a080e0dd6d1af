"""Edits proposed for any photograph, from what is seen in it; each with a recipe for its right outcome."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath

from editgauge.audits.proposals import words
from editgauge.audits.proposals.edits import PROPOSALS, Draft, Drawing
from editgauge.audits.proposals.scene import Photograph, look_at, understood
from editgauge.benchmarks.wording import instruction
from editgauge.types import Edit

__all__ = ["Photograph", "look_at", "propose", "understood"]


def propose(photo: Photograph, other_photos: Sequence[Photograph] = (), seed: int = 0) -> list[Edit]:
    """One edit of every type that the photograph allows; things to add are taken from the others.

    What is drawn by chance is the same for the same seed.
    """
    edits = []
    for kind, draw in PROPOSALS.items():
        draft = draw(Drawing(photo, other_photos, seed, kind))
        if draft is not None:
            edits.append(_edit(photo, kind, draft))
    return edits


def _edit(photo: Photograph, kind: str, draft: Draft) -> Edit:
    before, after = words.captions(kind, draft.subject, draft.from_, draft.to, draft.position)
    text = f"Remove the {draft.which} {draft.subject}."
    if draft.which is None:
        text = instruction(kind, draft.subject or "picture", draft.from_, draft.to or "", draft.position)
    stem = re.sub(r"[^\w-]", "-", PurePosixPath(photo.picture.name).stem)
    return Edit(
        id=f"{stem}-{kind}",
        source=photo.picture,
        type=kind,
        instruction=text,
        subject=draft.subject,
        from_=draft.from_,
        to=draft.to,
        position=draft.position,
        source_caption=before,
        target_caption=after,
        mask=draft.recipe.footprint(),
        objects=words.named([(cutout.name, cutout.outline) for cutout in photo.things]),
        recipe=draft.recipe,
    )
