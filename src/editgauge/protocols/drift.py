"""The protocol `drift`: how much of the first image is left after several turns?"""

from __future__ import annotations

from asyncio import gather
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

import cv2
import numpy as np

from editgauge._util.images import Pixels, as_unit
from editgauge._util.text import format_count
from editgauge._vision.redrawn_changes import semantic_change
from editgauge.errors import UnscorableError
from editgauge.evidence import Box, Evidence, Note, Region
from editgauge.metrics.l1 import l1
from editgauge.protocols import Protocol, named_after
from editgauge.protocols._rules import attempt
from editgauge.types import Item, Score, Scores, ScoreSpec, Unscored

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from editgauge._util.masks import BoolMask
    from editgauge.models.answers import Patches
    from editgauge.models.perception import Perception

UNCHANGED = "unchanged_objects"
"""Key in an edit's extras with the labels of objects that no turn so far changes."""
NO_REGION = Unscored("not_applicable", "not every turn so far has a mask, so nothing says what should have stayed")
NO_OBJECTS = Unscored("not_applicable", "the benchmark names no object that should stay")
MIN_BOX_SIDE = 4
"""Minimum side of a box in pixels."""


class TurnDrift(Protocol):
    """Compare the outcome of a turn with the image before the first turn."""

    name = "drift"
    about = "Several turns: how much of the first source is left in the regions that no turn so far should change?"
    paper = "Chen et al. 2025, EdiVal-Agent (object consistency); outside of masks: EditGauge"
    version = "2"
    deviations: tuple[str, ...] = (
        "EdiVal finds the objects with Grounding DINO and compares them with DINOv3; here the run's detector and image "
        "embedder do.",
        "If no object is found, EdiVal counts 0; here the outcome is unscored.",
        "The edited image is resized to the source's size by Lanczos first.",
    )
    uses = ("detector", "image_embedder")

    def __init__(self, models: Mapping[str, str] = MappingProxyType({})) -> None:
        embedder = models.get("image_embedder")
        self._tokens, self._objects = named_after("unchanged_tokens", embedder), named_after("object_tokens", embedder)
        self.scores: tuple[ScoreSpec, ...] = (
            ScoreSpec(
                "unchanged_l1", True, (0.0, 1.0), "1 - mean |first - edited| outside the masks of all turns so far."
            ),
            ScoreSpec(
                self._tokens, True, (-1.0, 1.0), "Mean cosine of the patches outside the masks of all turns so far."
            ),
            ScoreSpec(
                "object_l1", True, (0.0, 1.0), "1 - mean |first - edited| in the boxes of objects that should stay."
            ),
            ScoreSpec(
                self._objects,
                True,
                (-1.0, 1.0),
                "Half cosine of the picture, half of the mean patch, in the same boxes.",
            ),
        )

    def with_models(self, models: Mapping[str, str]) -> TurnDrift:
        """Return the protocol with the embedder's name in its scores."""
        return TurnDrift(models)

    async def score(self, item: Item, perception: Perception) -> Scores:
        """Score the region outside all masks, and the objects that should stay."""
        first = item.source if item.first is None else item.first
        return await self._score_outside(first, item, perception) | await self._score_objects(first, item, perception)

    async def _score_outside(self, first: Pixels, item: Item, perception: Perception) -> dict[str, Score | Unscored]:
        if item.unchanged is None or not item.unchanged.any():
            return {"unchanged_l1": NO_REGION, self._tokens: NO_REGION}
        pixels = 1 - l1(as_unit(first), as_unit(item.edited), item.unchanged)
        evidence: tuple[Evidence, ...] = (Region("source", ~item.unchanged, "may have changed in some turn so far"),)
        tokens = await attempt(_token_similarity(first, item.edited, item.unchanged, perception))
        return {"unchanged_l1": Score(pixels, evidence), self._tokens: tokens}

    async def _score_objects(self, first: Pixels, item: Item, perception: Perception) -> dict[str, Score | Unscored]:
        names = [str(name) for name in item.edit.extras.get(UNCHANGED) or ()]
        if not names:
            return {"object_l1": NO_OBJECTS, self._objects: NO_OBJECTS}
        boxes, unknown = await _boxes(first, names, perception)
        if not boxes:
            reason = unknown or Unscored("not_detected", f"none is seen of {', '.join(names)}")
            return {"object_l1": reason, self._objects: reason}
        marks = tuple(Box("source", *box, name) for name, box in boxes)
        crops = [(_crop(first, box), _crop(item.edited, box)) for _, box in boxes]
        pixels = float(np.mean([1 - l1(as_unit(before), as_unit(after)) for before, after in crops]))
        tokens = await attempt(_object_similarity(crops, perception))
        note = Note(
            f"{format_count(len(boxes), 'box')} of {', '.join(names)} in the first picture, looked at in the last."
        )
        return {"object_l1": Score(pixels, (*marks, note)), self._objects: tokens}


LabeledBox = tuple[str, tuple[float, float, float, float]]


async def _boxes(first: Pixels, names: list[str], perception: Perception) -> tuple[list[LabeledBox], Unscored | None]:
    """Detect the objects in the first image; also return why one could not be queried."""
    boxes: list[LabeledBox] = []
    problem = None
    for name in names:
        try:
            detections = await perception.detect(first, name)
        except UnscorableError as error:
            problem = Unscored(error.reason, error.detail)
            continue
        for left, top, right, bottom in detections.boxes.tolist():
            if min(right - left, bottom - top) >= MIN_BOX_SIDE:
                boxes.append((name, (left, top, right, bottom)))
    return boxes, problem


def _crop(image: Pixels, box: tuple[float, float, float, float]) -> Pixels:
    left, top, right, bottom = (max(0, int(edge)) for edge in box)
    return np.ascontiguousarray(image[top : max(bottom, top + 1), left : max(right, left + 1)])


async def _token_similarity(
    first: Pixels, edited: Pixels, unchanged: BoolMask, perception: Perception
) -> Score | Unscored:
    """Return the mean cosine of patches entirely inside the unchanged region."""
    before, after = await gather(perception.patches(first), perception.patches(edited))
    rows, columns = before.tokens.shape[:2]
    inside_fraction = cv2.resize(unchanged.astype(np.float32), (columns, rows), interpolation=cv2.INTER_AREA)
    is_inside = np.asarray(inside_fraction > 0.999)
    if not is_inside.any():
        return Unscored("not_applicable", "no patch is entirely outside the masks of all turns so far")
    return Score(float(1 - semantic_change(before.tokens, after.tokens)[is_inside].mean()))


async def _object_similarity(crops: Sequence[tuple[Pixels, Pixels]], perception: Perception) -> Score:
    patches = await gather(*(perception.patches(image) for pair in crops for image in pair))
    return Score(float(np.mean([_similarity(*pair) for pair in zip(patches[::2], patches[1::2], strict=True)])))


def _similarity(before: Patches, after: Patches) -> float:
    """Return EdiVal's similarity: half cosine of class tokens, half cosine of mean patch tokens."""
    means = [patches.tokens.astype(np.float64).mean(axis=(0, 1)) for patches in (before, after)]
    return 0.5 * _cosine(before.class_token, after.class_token) + 0.5 * _cosine(*means)


def _cosine(one: NDArray[np.floating], two: NDArray[np.floating]) -> float:
    first, second = np.asarray(one, np.float64), np.asarray(two, np.float64)
    length = float(np.linalg.norm(first) * np.linalg.norm(second))
    return float(np.clip(first @ second / length, -1, 1)) if length else 0.0


drift = TurnDrift()
