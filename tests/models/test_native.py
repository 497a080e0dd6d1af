"""Models look at an edited image in native resolution, and answer in the source's frame."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from skimage import data

from editgauge._util.images import ImageFile, Pixels
from editgauge.engine._scoring import build_item, score_protocol
from editgauge.evidence import Box
from editgauge.models import _native
from editgauge.models._native import in_native_resolution
from editgauge.models.answers import ClassMap, Detections, Faces, Poses, SegmentPrompt, TextLines
from editgauge.models.perception import ModelService
from editgauge.models.profiles import choose_models
from editgauge.models.weights import available
from editgauge.protocols import Protocol
from editgauge.types import Edit, Item, Outcome, Score, ScoreSpec

WEIGHTS = ("efficientdet-lite2", "u2netp")
needs_weights = pytest.mark.skipif(
    not all(map(available, WEIGHTS)), reason="NOT TESTED: run `editgauge models pull lite`"
)
CAT: Callable[[], Pixels] = data.chelsea
EDIT = Edit(id="e", source=ImageFile("p", Path("/p")), type="object_addition", instruction="add a cat", to="cat")


def sheet(photo: Pixels) -> Pixels:
    """The photograph small, in a corner of a large white sheet."""
    large = np.full((900, 1200, 3), 255, np.uint8)
    large[600:900, 0:451] = photo
    return large


@pytest.fixture(scope="module")
def item() -> Item:
    large = sheet(CAT())
    small = np.asarray(Image.fromarray(large).resize((120, 90)), np.uint8)
    return build_item(EDIT, Outcome(edit_id="e", method="m", image=Path("/o")), small, large)


def test_an_outcome_of_the_source_s_size_has_no_other_pixels(item: Item) -> None:
    same = build_item(EDIT, item.outcome, item.source, item.source)

    assert same.original is None
    assert same.as_made is same.edited
    assert item.as_made.shape == (900, 1200, 3)


class Detecting(Protocol):
    """Looks for a cat in the edited picture."""

    name, about, paper, version = "detecting", "", "", "1"
    scores = (ScoreSpec("edit", True, (0.0, 1.0)),)

    async def score(self, item: Item, see: Any) -> dict[str, Score]:
        seen = await see.detect(item.edited, "cat", compete=True)
        return {"edit": Score(1.0, seen.evidence("edited"))}


class OneCat:
    """A detector that sees a cat in the whole of every picture, and remembers the pictures' sizes."""

    def __init__(self) -> None:
        self.shapes: list[tuple[int, ...]] = []

    @in_native_resolution(_native.rescale_detections)
    async def detect(self, image: Pixels, *_: str, **__: object) -> Detections:
        self.shapes.append(image.shape)
        height, width = image.shape[:2]
        return Detections(np.array([[0, 0, width, height]], np.float32), np.ones(1, np.float32), ("cat",), ("cat",))


def test_protocols_of_score_and_run_look_at_the_outcome_in_its_own_size(item: Item) -> None:
    see = OneCat()

    (row,) = asyncio.run(score_protocol(Detecting(), item, see))  # type: ignore[abstract,arg-type]

    assert see.shapes == [(900, 1200, 3)]
    (box,) = row.evidence
    assert isinstance(box, Box)
    assert (box.left, box.top, box.right, box.bottom) == (0.0, 0.0, 120.0, 90.0)


def test_faces_bodies_text_and_classes_lie_in_the_source_s_frame(item: Item) -> None:
    corner = np.array([[600.0, 450.0]], np.float32)  # the middle of the picture of 1200 x 900

    class Everything:
        @in_native_resolution(_native.rescale_text)
        async def read_text(self, image: Pixels) -> TextLines:
            return TextLines(("open",), np.tile(corner, (1, 4, 1)), np.ones(1, np.float32))

        @in_native_resolution(_native.rescale_faces)
        async def faces(self, image: Pixels) -> Faces:
            none = np.zeros((1, 0), np.float32)
            boxes, points = np.tile(corner, (1, 2)), np.tile(corner, (1, 5, 1))
            return Faces(
                boxes=boxes,
                confidences=np.ones(1, np.float32),
                points=points,
                vectors=none,
                expressions=none,
                angles=none,
            )

        @in_native_resolution(_native.rescale_poses)
        async def poses(self, image: Pixels) -> Poses:
            boxes, joints = np.tile(corner, (1, 2)), np.tile(corner, (1, 26, 1))
            return Poses(
                boxes=boxes,
                confidences=np.ones(1, np.float32),
                joints=joints,
                joint_confidences=np.ones((1, 26), np.float32),
            )

        @in_native_resolution(_native.rescale_classes)
        async def classes(self, image: Pixels) -> ClassMap:
            return ClassMap(np.ones(image.shape[:2], np.uint8), ("sky", "sea"))

    see = Everything()

    assert asyncio.run(see.read_text(item.edited)).boxes.tolist() == [[60, 45, 60, 45]]
    faces, poses = asyncio.run(see.faces(item.edited)), asyncio.run(see.poses(item.edited))
    assert faces.boxes.tolist() == poses.boxes.tolist() == [[60, 45, 60, 45]]
    assert faces.points[0, 0].tolist() == poses.joints[0, 0].tolist() == [60, 45]
    assert asyncio.run(see.classes(item.edited)).labels.shape == (90, 120)
    assert asyncio.run(see.read_text(item.source)).boxes.tolist() == [[600, 450, 600, 450]]


@needs_weights
def test_what_shrinking_hides_is_seen_and_lies_in_the_source_s_frame(item: Item) -> None:
    models = choose_models("lite", {}, ("detector", "segmenter")).models
    with ModelService(models) as service:
        see = service
        hidden = asyncio.run(service.detect(np.array(item.edited), "cat"))
        seen = asyncio.run(see.instances(item.edited, "cat"))
        masks = asyncio.run(see.segment(item.edited, SegmentPrompt(boxes=seen.detections.boxes)))
        source = asyncio.run(see.detect(item.source, "cat"))

    height, width = item.source.shape[:2]
    assert seen.detections.found
    assert float(seen.detections.confidences[0]) > max(hidden.confidences.tolist(), default=0.0)
    left, top, right, bottom = seen.detections.boxes[0].tolist()
    assert 0 <= left < right <= width * 0.45
    assert height * 0.6 <= top < bottom <= height + 0.5
    assert seen.masks.shape == masks.shape == (len(seen), height, width)
    assert not source.found or float(source.confidences[0]) < float(seen.detections.confidences[0])
