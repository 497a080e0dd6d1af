"""From the words a detector was asked back to the phrases of the question."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from editgauge.models.answers import Detections


def together(found: Iterable[Detections]) -> Detections:
    """The objects of several answers as one, most confident first."""
    parts = [Detections.none(), *found]
    confidences = np.concatenate([part.confidences for part in parts])
    order = np.argsort(-confidences, kind="stable").tolist()
    phrases = [phrase for part in parts for phrase in part.phrases]
    words = [word for part in parts for word in part.words]
    places = [part.places for part in parts if len(part)]
    known = [each for each in places if each is not None]
    return Detections(
        np.concatenate([part.boxes for part in parts])[order],
        confidences[order],
        tuple(phrases[place] for place in order),
        tuple(words[place] for place in order),
        np.concatenate(known)[order] if known and len(known) == len(places) else None,
    )


def answered(found: Detections, words: Mapping[str, str]) -> Detections:
    """The objects under the phrases as they were asked; one that answers two phrases is there for each.

    Args:
        found: objects under the model's words
        words: the model's word for each phrase
    """
    return together(_called(found.of(word), phrase) for phrase, word in words.items())


def _called(found: Detections, phrase: str) -> Detections:
    return Detections(found.boxes, found.confidences, (phrase,) * len(found), found.words, found.places)
