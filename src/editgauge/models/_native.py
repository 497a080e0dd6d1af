"""Let models look at images in native resolution, and report what they return in the frame of the resized image.

Protocols compare pixels, so they are given the edited image in the source's size. A detector that looked at that copy
would miss what shrinking hides, such as a row of cars in an image of 1024 pixels that was reduced to 256.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar, cast

import cv2
import numpy as np

from editgauge._util.images import native_pixels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from editgauge._util.images import Pixels
    from editgauge.models.answers import ClassMap, Detections, Faces, Instances, Poses, SegmentPrompt, TextLines

Answer = TypeVar("Answer")
Method = TypeVar("Method", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Frame:
    """Sizes of an image that models see in native resolution, as width x height."""

    size: tuple[int, int]
    native_size: tuple[int, int]

    @property
    def scale(self) -> NDArray[np.float32]:
        """Native pixels per pixel: x, y, x, y."""
        across, down = self.native_size[0] / self.size[0], self.native_size[1] / self.size[1]
        return np.array([across, down, across, down], np.float32)


def unchanged(_: Frame, answer: Answer) -> Answer:
    """Return an answer about the image as a whole."""
    return answer


def rescale_detections(frame: Frame, detections: Detections) -> Detections:
    """Return the boxes in the frame of the resized image."""
    return replace(detections, boxes=detections.boxes / frame.scale)


def rescale_masks(frame: Frame, masks: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the masks in the size of the resized image."""
    width, height = frame.size
    if not len(masks):
        return np.zeros((0, height, width), np.bool_)
    return np.stack(
        [cv2.resize(mask.astype(np.uint8), frame.size, interpolation=cv2.INTER_NEAREST) > 0 for mask in masks]
    )


def rescale_instances(frame: Frame, instances: Instances) -> Instances:
    """Return boxes and masks in the frame of the resized image."""
    return replace(
        instances,
        detections=rescale_detections(frame, instances.detections),
        masks=rescale_masks(frame, instances.masks),
    )


def rescale_classes(frame: Frame, classes: ClassMap) -> ClassMap:
    """Return the class map in the size of the resized image."""
    labels = cv2.resize(classes.labels, frame.size, interpolation=cv2.INTER_NEAREST)
    return replace(classes, labels=np.asarray(labels, np.uint8))


def rescale_text(frame: Frame, lines: TextLines) -> TextLines:
    """Return the outlines of text in the frame of the resized image."""
    return replace(lines, polygons=lines.polygons / frame.scale[:2])


def rescale_faces(frame: Frame, faces: Faces) -> Faces:
    """Return boxes and landmarks in the frame of the resized image."""
    return replace(faces, boxes=faces.boxes / frame.scale, points=faces.points / frame.scale[:2])


def rescale_poses(frame: Frame, poses: Poses) -> Poses:
    """Return boxes and joints in the frame of the resized image."""
    return replace(poses, boxes=poses.boxes / frame.scale, joints=poses.joints / frame.scale[:2])


def rescale_map(frame: Frame, shares: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return a map of numbers in the size of the resized image."""
    return np.asarray(cv2.resize(shares, frame.size, interpolation=cv2.INTER_LINEAR), np.float32)


def native_prompt(frame: Frame, prompt: SegmentPrompt) -> SegmentPrompt:
    """Return the boxes and points of a prompt in native pixels."""
    boxes = None if prompt.boxes is None else prompt.boxes * frame.scale
    points = None if prompt.points is None else prompt.points * frame.scale[:2]
    return replace(prompt, boxes=boxes, points=points)


def native_box(frame: Frame, box: Sequence[float] | None) -> Sequence[float] | None:
    """Return a box in native pixels."""
    return None if box is None else (np.asarray(box, np.float32) * frame.scale).tolist()


def in_native_resolution(
    restore: Callable[[Frame, Any], Any], convert: Callable[[Frame, Any], Any] | None = None
) -> Callable[[Method], Method]:
    """Decorate a method that asks about an image to ask about its native pixels, if it has some.

    Args:
        restore: brings the answer into the frame of the resized image.
        convert: brings the first argument after the image into native pixels.
    """

    def decorate(ask: Method) -> Method:
        @wraps(ask)
        async def ask_native(self: Any, image: Pixels, *args: Any, **options: Any) -> Any:
            native = native_pixels(image)
            if native is None:
                return await ask(self, image, *args, **options)
            frame = Frame((image.shape[1], image.shape[0]), (native.shape[1], native.shape[0]))
            if convert is not None and args:
                args = (convert(frame, args[0]), *args[1:])
            return restore(frame, await ask(self, native, *args, **options))

        return cast(Method, ask_native)

    return decorate
