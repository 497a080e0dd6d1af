"""The verb `see`: what a profile's models see in one picture."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from editgauge.core.concurrency import run_async
from editgauge.core.drawing import draw
from editgauge.core.errors import BadInput, CannotTell
from editgauge.core.images import Pixels, read_image, write_png
from editgauge.engine.options import pairs
from editgauge.models.answers import Detections, Instances, Prompt
from editgauge.models.interfaces import Perception
from editgauge.models.profiles import choose_models
from editgauge.models.service import Service, describe


@dataclass(frozen=True, slots=True)
class Seen:
    """One object."""

    phrase: str
    word: str
    """What the model calls it."""
    confidence: float
    box: tuple[float, float, float, float]
    """Left, top, right, bottom in pixels."""
    share: float | None
    """How much of the picture its outline covers; None where no model draws outlines."""


@dataclass(frozen=True, slots=True)
class Sight:
    """What was seen, what was not, and what could not be told."""

    seen: tuple[Seen, ...]
    not_seen: tuple[str, ...]
    cannot_tell: dict[str, str]
    """Phrase to the reason."""
    models: dict[str, dict[str, Any]]
    remarks: tuple[str, ...]


def see(
    image: str | Path,
    phrases: Sequence[str] = (),
    models: str = "lite",
    model: Mapping[str, str] | Sequence[str] = (),
    least: float | None = None,
    out: str | Path | None = None,
) -> Sight:
    """Says, and draws, what the models of a profile see in a picture.

    Args:
        image: the picture.
        phrases: what to look for; nothing given looks for all that a closed vocabulary knows.
        models: the profile: lite, paper or best.
        model: another model for a role: `{"detector": "name"}` or `["detector=name"]`.
        least: the confidence from which on something counts as seen; the detector's own when not given.
        out: where to draw it, as PNG.
    """
    chosen = choose_models(models, pairs(model, "model", "ROLE=NAME"), ["detector", "segmenter"])
    if "detector" not in chosen.models:
        raise BadInput("Nothing can be seen without a detector.", chosen.remarks)
    picture = read_image(Path(image))
    with Service(chosen.models) as service:
        looking = _look(service, picture, phrases, least, outlines="segmenter" in chosen.models)
        answers = run_async(looking)
    found = [answer for answer in answers.values() if not isinstance(answer, CannotTell)]
    if out is not None:
        write_png(draw(picture, [piece for each in found for piece in each.evidence("source")]), Path(out))
    return Sight(
        seen=tuple(sorted((one for each in found for one in _each(each)), key=lambda one: -one.confidence)),
        not_seen=tuple(name for name, each in answers.items() if not isinstance(each, CannotTell) and not len(each)),
        cannot_tell={name: each.detail for name, each in answers.items() if isinstance(each, CannotTell)},
        models=describe(chosen.models),
        remarks=chosen.remarks,
    )


async def _look(
    see: Perception, picture: Pixels, phrases: Sequence[str], least: float | None, *, outlines: bool
) -> dict[str, Instances | Detections | CannotTell]:
    """One answer per phrase, because one unknown word must not hide what the others find."""

    async def answer(phrase: str | None) -> Instances | Detections | CannotTell:
        try:
            found = await (see.detect(picture, phrase, least=least) if phrase else see.detect_all(picture, least))
            if not (found.found and outlines):
                return found
            return Instances(found, await see.segment(picture, Prompt(boxes=found.boxes)))
        except CannotTell as unable:
            return unable

    names: list[str | None] = [*dict.fromkeys(phrases)] or [None]
    answers = await asyncio.gather(*(answer(name) for name in names))
    return {name or "everything it knows": each for name, each in zip(names, answers, strict=True)}


def _each(answer: Instances | Detections) -> list[Seen]:
    found = answer.detections if isinstance(answer, Instances) else answer
    shares = [float(mask.mean()) for mask in answer.masks] if isinstance(answer, Instances) else [None] * len(found)
    rows = zip(found.phrases, found.words, found.confidences, np.round(found.boxes, 1).tolist(), shares, strict=True)
    return [
        Seen(phrase, word, round(float(sure), 4), (left, top, right, bottom), share)
        for phrase, word, sure, (left, top, right, bottom), share in rows
    ]
