"""The verb `see`: what a profile's models see in one picture."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from editgauge._util.batching import run_async
from editgauge._util.drawing import draw
from editgauge._util.images import ImageLike, Pixels, read_image, write_png
from editgauge.engine._options import pairs
from editgauge.errors import BadInputError, UnscorableError
from editgauge.evidence import Evidence
from editgauge.models.answers import JOINTS, ClassScores, Detections, Faces, Instances, Poses, SegmentPrompt, TextLines
from editgauge.models.perception import ModelService, Perception
from editgauge.models.profiles import choose_models, describe
from editgauge.options import Pairs, document_options

MAX_CLASSIFIED_BOXES = 10
"""This many objects, most confident first, are shown to the classifier individually."""
Area = tuple[float, float, float, float]
"""Left, top, right, bottom in pixels."""


@dataclass(frozen=True, slots=True)
class SeenObject:
    """One object."""

    phrase: str
    word: str
    """What the model calls it."""
    confidence: float
    box: Area
    share: float | None
    """How much of the picture its outline covers; None where no model draws outlines."""
    classes: dict[str, float]
    """What the classifier calls it, likeliest first; empty without a classifier, and for all but the most confident
    objects."""


@dataclass(frozen=True, slots=True)
class SeenText:
    """One line of text."""

    text: str
    confidence: float
    box: Area


@dataclass(frozen=True, slots=True)
class SeenFace:
    """One face; what it expresses is None where it is too small or hidden."""

    confidence: float
    box: Area
    smile: float | None
    open_mouth: float | None
    closed_eyes: float | None
    turned: float | None
    """To the person's left, in degrees."""


@dataclass(frozen=True, slots=True)
class SeenPose:
    """One person."""

    confidence: float
    box: Area
    joints: dict[str, tuple[float, float]]
    """Where each joint is that was seen; left and right are the person's."""


@dataclass(frozen=True, slots=True)
class ImageDetections:
    """What was seen, what was not, and what could not be determined."""

    detected: tuple[SeenObject, ...]
    not_detected: tuple[str, ...]
    cannot_tell: dict[str, str]
    """Phrase to the reason."""
    classes: dict[str, float]
    """What the classifier calls the image_classes picture, likeliest first."""
    named: dict[str, float]
    """Phrases that only the classifier knows, with the highest probability that the picture or an object got."""
    text: tuple[SeenText, ...] | None
    """None when it was not asked for."""
    faces: tuple[SeenFace, ...] | None
    """None when it was not asked for."""
    poses: tuple[SeenPose, ...] | None
    """None when it was not asked for."""
    models: dict[str, dict[str, Any]]
    remarks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Answers:
    """The models' answers about one image."""

    objects: dict[str, Instances | Detections | UnscorableError]
    image_classes: ClassScores | None
    boxes: list[ClassScores]
    """Of the most confident objects."""
    text: TextLines | None
    faces: Faces | None
    poses: Poses | None


@document_options
def see(
    image: ImageLike,
    phrases: Sequence[str] = (),
    *,
    models: str = "lite",
    model: Pairs = (),
    least: float | None = None,
    out: str | Path | None = None,
    text: bool = False,
    faces: bool = False,
    pose: bool = False,
) -> ImageDetections:
    """Show what the models detect in an image: boxes, outlines and confidence.

    A detector with a closed vocabulary says which words it does not know and which synonym it used.

    Example:
        $ editgauge see kitchen.jpg cat cup --out seen.png
        >>> editgauge.see("kitchen.jpg", ["cat", "cup"])

    Args:
        image: image to look at.
        phrases: objects to look for; by default everything the detector knows.
        least: minimum confidence; by default the detector's own threshold.
        out: PNG file to draw the detections into.
        text: also read the text in the image.
        faces: also find faces and their expression; the profile lite-plus has a model for it.
        pose: also find people and the joints of their bodies; the profile lite-plus has a model for it.

    """
    requested = [role for role, flag in (("text_reader", text), ("face_reader", faces), ("pose_reader", pose)) if flag]
    roles = ["detector", "segmenter", "classifier", *requested]
    models_by_role = choose_models(models, pairs(model, "model", "ROLE=NAME"), roles)
    for role in ("detector", *requested):
        if role not in models_by_role.models:
            raise BadInputError(f"Nothing can be seen without a {role.replace('_', ' ')}.", models_by_role.remarks)
    picture = read_image(image)
    with ModelService(models_by_role.models) as service:
        answers = run_async(_look(service, picture, phrases, least, set(models_by_role.models)))
    if out is not None:
        write_png(draw(picture, _evidence(answers)), Path(out))
    return _sight(answers, describe(models_by_role.models), models_by_role.remarks)


async def _look(
    see: Perception, picture: Pixels, phrases: Sequence[str], least: float | None, roles: set[str]
) -> _Answers:
    """Ask for each phrase separately, so that one unknown word does not hide the other objects."""

    async def answer(phrase: str | None) -> Instances | Detections | UnscorableError:
        try:
            detections = await (see.detect(picture, phrase, least=least) if phrase else see.detect_all(picture, least))
            if not (detections.found and "segmenter" in roles):
                return detections
            return Instances(detections, await see.segment(picture, SegmentPrompt(boxes=detections.boxes)))
        except UnscorableError as unable:
            return unable

    names: list[str | None] = [*dict.fromkeys(phrases)] or [None]
    objects = await asyncio.gather(*(answer(name) for name in names))
    boxes = [
        box
        for detections in objects
        if not isinstance(detections, UnscorableError)
        for box in _detections(detections).boxes.tolist()
    ]
    if any(isinstance(detections, UnscorableError) for detections in objects) and "classifier" in roles:
        boxes += await _any_boxes(see, picture)  # where may be what the detector has no word for
    named = boxes[:MAX_CLASSIFIED_BOXES] if "classifier" in roles else []
    return _Answers(
        {name or "everything it knows": detections for name, detections in zip(names, objects, strict=True)},
        await see.classify(picture) if "classifier" in roles else None,
        list(await asyncio.gather(*(see.classify(picture, box) for box in named))),
        await see.read_text(picture) if "text_reader" in roles else None,
        await see.faces(picture) if "face_reader" in roles else None,
        await see.poses(picture) if "pose_reader" in roles else None,
    )


async def _any_boxes(see: Perception, picture: Pixels) -> list[list[float]]:
    try:
        boxes: list[list[float]] = (await see.detect_all(picture)).boxes.tolist()
    except UnscorableError:
        return []
    return boxes


def _sight(answers: _Answers, models: dict[str, dict[str, Any]], remarks: tuple[str, ...]) -> ImageDetections:
    objects = {
        name: detections for name, detections in answers.objects.items() if not isinstance(detections, UnscorableError)
    }
    unable = {
        name: detections for name, detections in answers.objects.items() if isinstance(detections, UnscorableError)
    }
    named = {name: share for name in unable if (share := _share(name, answers)) is not None}
    classes = iter(answers.boxes)
    seen_objects = [one for detections in objects.values() for one in _seen_objects(detections, classes)]
    return ImageDetections(
        detected=tuple(sorted(seen_objects, key=lambda one: -one.confidence)),
        not_detected=tuple(name for name, detections in objects.items() if not len(detections)),
        cannot_tell={name: detections.detail for name, detections in unable.items() if name not in named},
        classes=_top(answers.image_classes, 5),
        named=named,
        text=None if answers.text is None else _lines(answers.text),
        faces=None if answers.faces is None else _faces(answers.faces),
        poses=None if answers.poses is None else _poses(answers.poses),
        models=models,
        remarks=remarks,
    )


def _share(phrase: str, answers: _Answers) -> float | None:
    """Return the highest probability of a phrase in the image and its objects; None if the classifier lacks it."""
    try:
        shares = [scores.share(phrase) for scores in (answers.image_classes, *answers.boxes) if scores is not None]
    except UnscorableError:
        return None
    return round(max(shares), 4) if shares else None


def _top(scores: ClassScores | None, count: int) -> dict[str, float]:
    return {} if scores is None else {name: round(share, 4) for name, share in scores.top(count)}


def _evidence(answers: _Answers) -> list[Evidence]:
    answered = [detections for detections in answers.objects.values() if not isinstance(detections, UnscorableError)]
    more = [detections for detections in (answers.text, answers.faces, answers.poses) if detections is not None]
    return [piece for detections in (*answered, *more) for piece in detections.evidence("source")]


def _detections(answer: Instances | Detections) -> Detections:
    return answer.detections if isinstance(answer, Instances) else answer


def _seen_objects(answer: Instances | Detections, classes: Any) -> list[SeenObject]:
    objects = _detections(answer)
    shares = [float(mask.mean()) for mask in answer.masks] if isinstance(answer, Instances) else [None] * len(objects)
    rows = zip(objects.phrases, objects.words, objects.confidences, objects.boxes, shares, strict=True)
    return [
        SeenObject(phrase, word, round(float(sure), 4), _area(box), share, _top(next(classes, None), 3))
        for phrase, word, sure, box, share in rows
    ]


def _lines(lines: TextLines) -> tuple[SeenText, ...]:
    rows = zip(lines.texts, lines.confidences, lines.boxes, strict=True)
    return tuple(SeenText(text, round(float(sure), 4), _area(box)) for text, sure, box in rows)


def _faces(faces: Faces) -> tuple[SeenFace, ...]:
    rows = zip(faces.smile, faces.open_mouth, faces.closed_eyes, faces.angles[:, 0], strict=True)
    read = [[None if math.isnan(value) else round(float(value), 3) for value in row] for row in rows]
    return tuple(
        SeenFace(round(float(sure), 4), _area(box), *values)
        for sure, box, values in zip(faces.confidences, faces.boxes, read, strict=True)
    )


def _poses(poses: Poses) -> tuple[SeenPose, ...]:
    rows = zip(poses.confidences, poses.boxes, poses.joints, poses.visible, strict=True)
    return tuple(
        SeenPose(
            round(float(sure), 4),
            _area(box),
            {
                name: (round(float(joint[0]), 1), round(float(joint[1]), 1))
                for name, joint, is_seen in zip(JOINTS, joints, visible, strict=True)
                if is_seen
            },
        )
        for sure, box, joints, visible in rows
    )


def _area(box: Any) -> Area:
    left, top, right, bottom = np.round(box, 1).tolist()
    return left, top, right, bottom
