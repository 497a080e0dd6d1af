"""Three looks at the place of an edit: the whole picture, the place with what is around it, and the place alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from editgauge.core.images import Pixels
from editgauge.core.masks import BoolMask

Frame = tuple[int, int, int, int]
"""left, top, right, bottom in pixels; right and bottom are no longer inside."""
Nouns = Sequence[frozenset[str]]
"""The nouns of a text, each with the words that mean the same."""
MARGIN = 0.1
"""What the closest look leaves around the mask, as a share of its sides."""
SMALLEST = 32
"""Pixels of a side under which a captioner sees nothing."""


def zoom_frames(mask: BoolMask) -> tuple[Frame, Frame, Frame]:
    """The whole picture, halfway, and close to the mask; each lies within the one before.

    The paper says "three zoom levels around the edit area" and not which: halfway is the middle of the other two.

    >>> mask = np.zeros((100, 200), bool); mask[40:80, 100:140] = True
    >>> zoom_frames(mask)
    ((0, 0, 200, 100), (48, 18, 172, 92), (96, 36, 144, 84))
    """
    rows, columns = np.nonzero(mask.any(axis=1))[0], np.nonzero(mask.any(axis=0))[0]
    if not len(rows):
        raise ValueError("an empty mask has no place to look at")
    height, width = mask.shape
    left, right = _grown(int(columns[0]), int(columns[-1]) + 1, width)
    top, bottom = _grown(int(rows[0]), int(rows[-1]) + 1, height)
    halfway = left // 2, top // 2, (right + width + 1) // 2, (bottom + height + 1) // 2
    return (0, 0, width, height), halfway, (left, top, right, bottom)


def cropped(picture: Pixels, frame: Frame) -> Pixels:
    """What is in the frame."""
    left, top, right, bottom = frame
    return np.ascontiguousarray(picture[top:bottom, left:right])


def closest_to(instruction: Nouns, captions: Sequence[str], nouns: Callable[[str], Nouns]) -> str:
    """The caption that shares most nouns with an instruction; of several, the closest look, which comes last.

    >>> split = lambda text: [frozenset([word]) for word in text.split()]
    >>> closest_to(split("dog"), ["a park", "a dog in a park", "a dog"], split)
    'a dog'
    """

    def shared(caption: str) -> int:
        said = frozenset[str]().union(*nouns(caption))
        return sum(bool(noun & said) for noun in instruction)

    return max(reversed(captions), key=shared)


def _grown(start: int, end: int, size: int) -> tuple[int, int]:
    length = max((end - start) * (1 + 2 * MARGIN), SMALLEST)
    first = max(0, min(int(np.floor((start + end - length) / 2)), int(size - length)))
    return first, min(size, int(np.ceil(first + length)))
