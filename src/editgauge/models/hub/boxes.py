"""Boxes and masks as arrays, in the forms that networks give and want them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Boxes = NDArray[np.float32]


def corners(boxes: Boxes, frame: tuple[int, int]) -> Boxes:
    """Boxes given by center and size, as fractions of a frame (width, height), by their corners in pixels."""
    center, half = boxes[:, :2], boxes[:, 2:] / 2
    scale = np.array([*frame, *frame], np.float32)
    return np.asarray(np.concatenate([center - half, center + half], axis=1) * scale, dtype=np.float32)


def around(masks: NDArray[np.bool_]) -> Boxes:
    """The smallest box around each mask; none of the masks is empty."""
    rows, columns = np.asarray(masks.any(axis=2)), np.asarray(masks.any(axis=1))
    height, width = masks.shape[1:]
    sides = (
        columns.argmax(axis=1),
        rows.argmax(axis=1),
        width - columns[:, ::-1].argmax(axis=1),
        height - rows[:, ::-1].argmax(axis=1),
    )
    return np.stack(sides, axis=1).astype(np.float32)


def overlap(boxes: Boxes, others: Boxes) -> NDArray[np.float32]:
    """Intersection over union of every box with every other: len(boxes) x len(others)."""
    low = np.maximum(boxes[:, None, :2], others[None, :, :2])
    high = np.minimum(boxes[:, None, 2:], others[None, :, 2:])
    shared = np.clip(high - low, 0, None).prod(axis=2)
    total = _area(boxes)[:, None] + _area(others)[None] - shared
    return np.asarray(np.divide(shared, total, out=np.zeros_like(shared), where=total > 0), dtype=np.float32)


def _area(boxes: Boxes) -> NDArray[np.float32]:
    return np.asarray(np.clip(boxes[:, 2:] - boxes[:, :2], 0, None).prod(axis=1), dtype=np.float32)
