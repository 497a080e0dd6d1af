"""Texts of an edit, and directions in the embedding space that images and texts share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from editgauge.errors import BadInputError, UnscorableError
from editgauge.methods.prompts import render
from editgauge.metrics.embeddings import Floats, Vectors, unit_vectors
from editgauge.types import Edit

Side = Literal["source", "target"]


@dataclass(frozen=True, slots=True)
class EditText:
    """A text about the source or the edited image, and its origin."""

    side: Side
    words: str
    origin: str

    @property
    def source_note(self) -> str:
        """Text and origin as a sentence.

        >>> EditText("target", "a black cat", "the edit's own caption").source_note
        'Target text: "a black cat" (the edit\\'s own caption).'
        """
        return f'{self.side.capitalize()} text: "{self.words}" ({self.origin}).'


def edit_text(edit: Edit, side: Side) -> EditText:
    """Return the text of one image, from the caption or the edit's parts; raise `UnscorableError` without either."""
    caption = edit.source_caption if side == "source" else edit.target_caption
    if caption and caption.strip():
        return EditText(side, caption.strip(), "the edit's own caption")
    try:
        prompt = render(edit, "captions" if side == "source" else "caption")
    except BadInputError as error:
        reason = " ".join(str(error).split())
        raise UnscorableError(
            "not_applicable", f"the edit has no {side}_caption, and none can be made: {reason}"
        ) from error
    words = (prompt.source or "") if side == "source" else prompt.text
    return EditText(side, words, f"from the edit's parts, by the template {prompt.templates[-1]}")


def attribute_mean(attributes: Vectors, weights: Floats | None = None) -> Floats:
    """Return the mean of attribute vectors, weighted if there are weights (AugCLIP, eq. 13 and 14).

    >>> attribute_mean(np.eye(2), np.array([1.0, 3.0])).tolist()
    [0.5, 1.5]
    """
    if len(attributes) == 0:
        raise ValueError("no attributes: there is no mean")
    exact = np.asarray(attributes, dtype=np.float64)
    return np.asarray((exact if weights is None else exact * weights[:, np.newaxis]).mean(axis=0))


def effects(source_image: Vectors, ideal: Vectors, attributes: Vectors) -> Floats:
    """Return how much better each attribute fits the ideal edit than the source image (AugCLIP, eq. 11 and 12).

    >>> effects(np.array([1.0, 0.0]), np.array([0.0, 1.0]), np.eye(2)).tolist()
    [-1.0, 1.0]
    """
    named = unit_vectors(attributes)
    return np.asarray(named @ unit_vectors(ideal) - named @ unit_vectors(source_image))
