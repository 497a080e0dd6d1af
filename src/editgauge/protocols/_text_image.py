"""The two texts of an edit: what its source image shows, and what the edited one should show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from editgauge.errors import BadInputError, UnscorableError
from editgauge.methods.prompts import render
from editgauge.types import Edit

Side = Literal["source", "target"]


@dataclass(frozen=True, slots=True)
class EditText:
    """A text about one of the two pictures, and where it comes from."""

    side: Side
    words: str
    origin: str

    @property
    def source_note(self) -> str:
        """What the evidence says about it.

        >>> EditText("target", "a black cat", "the edit's own caption").source_note
        'Target text: "a black cat" (the edit\\'s own caption).'
        """
        return f'{self.side.capitalize()} text: "{self.words}" ({self.origin}).'


def edit_text(edit: Edit, side: Side) -> EditText:
    """What one of the pictures shows, or should show; raises `UnscorableError` when neither a caption nor the parts tell."""
    caption = edit.source_caption if side == "source" else edit.target_caption
    if caption and caption.strip():
        return EditText(side, caption.strip(), "the edit's own caption")
    try:
        prompt = render(edit, "captions" if side == "source" else "caption")
    except BadInputError as error:
        why = " ".join(str(error).split())
        raise UnscorableError(
            "not_applicable", f"the edit has no {side}_caption, and none can be made: {why}"
        ) from error
    words = (prompt.source or "") if side == "source" else prompt.text
    return EditText(side, words, f"from the edit's parts, by the template {prompt.templates[-1]}")


Vectors = NDArray[np.floating]
Floats = NDArray[np.float64]

DUST = 1e-6
"""A shorter difference of two unit vectors is rounding: it points nowhere."""


def cosine(one: Vectors, other: Vectors) -> float:
    """How much two vectors point the same way, from -1 to 1.

    >>> cosine(np.array([1.0, 0.0]), np.array([3.0, 0.0]))
    1.0
    """
    return float(np.clip(units(one) @ units(other), -1.0, 1.0))


def units(vectors: Vectors) -> Floats:
    """The vectors, or the one vector, with the length 1."""
    exact = np.asarray(vectors, dtype=np.float64)
    lengths = np.linalg.norm(exact, axis=-1, keepdims=True)
    if not np.all(lengths > 0):
        raise ValueError("a vector of length 0 (or of no numbers) has no direction")
    return np.asarray(exact / lengths)


def directional(source_image: Vectors, edited_image: Vectors, source_text: Vectors, target_text: Vectors) -> float:
    """Did the picture change in the direction in which the text changed? Directional CLIP (AugCLIP, eq. 1-2).

    The vectors are unit vectors. Two pictures, or two texts, that are the same have no direction: `UnscorableError`.

    >>> x, y, z = np.eye(3)
    >>> round(directional(x, y, x, y), 6), round(directional(x, y, x, z), 6)
    (1.0, 0.5)
    """
    return cosine(
        _step(source_image, edited_image, "the edited image is the source image to this embedder"),
        _step(source_text, target_text, "the target text is the source text to this embedder"),
    )


def attribute_mean(attributes: Vectors, weights: Floats | None = None) -> Floats:
    """The mean of attributes, each times its weight if there are weights (AugCLIP, eq. 13 and 14).

    >>> attribute_mean(np.eye(2), np.array([1.0, 3.0])).tolist()
    [0.5, 1.5]
    """
    if len(attributes) == 0:
        raise ValueError("no attributes: there is no mean")
    exact = np.asarray(attributes, dtype=np.float64)
    return np.asarray((exact if weights is None else exact * weights[:, np.newaxis]).mean(axis=0))


def effects(source_image: Vectors, ideal: Vectors, attributes: Vectors) -> Floats:
    """How much more each attribute fits the ideal edit than the source image (AugCLIP, eq. 11 and 12).

    >>> effects(np.array([1.0, 0.0]), np.array([0.0, 1.0]), np.eye(2)).tolist()
    [-1.0, 1.0]
    """
    named = units(attributes)
    return np.asarray(named @ units(ideal) - named @ units(source_image))


def _step(before: Vectors, after: Vectors, otherwise: str) -> Floats:
    step = np.asarray(after, dtype=np.float64) - np.asarray(before, dtype=np.float64)
    if np.linalg.norm(step) < DUST:
        raise UnscorableError("not_applicable", f"{otherwise}: there is no direction to compare")
    return np.asarray(step)
