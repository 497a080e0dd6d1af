"""GroundingDINO (Liu et al. 2023): a detector that reads all phrases of a question together with the image.

Image and text are mixed from the first layers on, so nothing can be computed ahead: `look` keeps the pixels. The
phrases are joined to one text, `a cat. a cup.`; the network says for every box how well it fits each token, and a
phrase is as sure as its most confident token. Box threshold and text threshold of the original are then one number,
unless a text threshold is set.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from editgauge.errors import UnscorableError
from editgauge.models.answers import Detections, Features
from editgauge.models.hub._network import Boxes, Network, corners, numbers

if TYPE_CHECKING:
    from editgauge._util.images import Pixels

MIN_CONFIDENCE = 0.01
ENDS = ".?"
"""These end a phrase for the network, wherever they stand."""


class GroundingDetector(Network):
    """Role `detector`: open-vocabulary detection of phrases."""

    role = "detector"
    kinds: ClassVar[Mapping[str, str]] = {
        "grounding-dino": "GroundingDinoForObjectDetection",
        "mm-grounding-dino": "MMGroundingDinoForObjectDetection",
    }
    words_are_independent = False
    vocabulary = None
    operating_point = 0.1
    """As in the PixLens paper; its released code uses 0.3."""
    text_threshold: float = 0.0
    """How well every token of a phrase must fit a box; the original package names a box by the tokens over it."""

    def word_for(self, phrase: str) -> str:
        """Return the phrase, without the separator of the network."""
        if not phrase.strip(ENDS + " ") or set(phrase.strip(ENDS + " ")) & set(ENDS):
            raise UnscorableError(
                "unknown_word", f"GroundingDINO takes one phrase without full stops, and was given '{phrase}'"
            )
        return phrase

    def look(self, images: Sequence[Pixels]) -> list[Features]:
        """Return the pixels unchanged; the network needs the phrases, too."""
        return [{"pixels": image} for image in images]

    def find(self, questions: Sequence[tuple[Features, tuple[str, ...]]]) -> list[Detections]:
        """Return the matches of each word, most confident first. One pass per question: images of different
        shape would have to be padded, and the padding changes what the backbone sees.
        """
        return [self._answer(features["pixels"], words) for features, words in questions]

    def _answer(self, image: Pixels, words: tuple[str, ...]) -> Detections:
        parts = [self._forward(image, group) for group in self._groups(words)]
        if not parts:
            return Detections.none()
        sure = np.concatenate([sure.ravel() for sure, _ in parts])
        boxes = np.concatenate([np.repeat(boxes, sure.shape[1], axis=0) for sure, boxes in parts])
        answered = [
            word for (_, boxes), group in zip(parts, self._groups(words), strict=True) for word in group * len(boxes)
        ]
        order = [index for index in np.argsort(-sure, kind="stable").tolist() if sure[index] >= MIN_CONFIDENCE]
        labels = tuple(answered[index] for index in order)
        return Detections(boxes[order], sure[order], labels, labels)

    def _forward(self, image: Pixels, words: tuple[str, ...]) -> tuple[NDArray[np.float32], Boxes]:
        """Return the confidence of every box for every word, and the boxes."""
        text, spans = joined(words)
        tokens = self.tokenizer(text, return_tensors="pt", return_offsets_mapping=True)
        offsets = tokens.pop("offset_mapping")[0].tolist()
        inputs = self.image_processor([image], return_tensors="pt")
        with self.thinking():
            outputs = self.network(**tokens.to(self.device), **inputs.to(self.device))
        fits = numbers(outputs.logits[0].float().sigmoid())
        sure = np.stack([self._sure(fits[:, tokens_within(offsets, span)]) for span in spans], axis=1)
        height, width = image.shape[:2]
        return sure, corners(numbers(outputs.pred_boxes[0]), (width, height))

    def _sure(self, fits: NDArray[np.float32]) -> NDArray[np.float32]:
        """How sure each box is of a phrase: as of its most confident token, if every token is over the text
        threshold.
        """
        surest = fits.max(axis=1, initial=0)
        return np.where(fits.min(axis=1, initial=1) >= self.text_threshold, surest, np.float32(0))

    def _groups(self, words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        """Group the words into as few prompts as fit the network."""
        longest = self.network.config.max_text_len
        group: tuple[str, ...] = ()
        for word in words:
            if group and len(self.tokenizer(joined((*group, word))[0])["input_ids"]) > longest:
                yield group
                group = ()
            group = (*group, word)
        if group:
            yield group

    def _settings(self) -> dict[str, str | int | float]:
        settings: dict[str, str | int | float] = {"operating_point": self.operating_point, "faintest": MIN_CONFIDENCE}
        return settings | ({"text_threshold": self.text_threshold} if self.text_threshold else {})


def joined(words: Sequence[str]) -> tuple[str, list[tuple[int, int]]]:
    """Join the words to one prompt and return the span of each.

    >>> joined(["A cat", "a cup."])
    ('a cat. a cup.', [(0, 5), (7, 12)])
    """
    text, spans = "", []
    for word in words:
        bare = word.strip(ENDS + " ").lower()
        spans.append((len(text), len(text) + len(bare)))
        text += f"{bare}. "
    return text.rstrip(), spans


def tokens_within(spans: Sequence[Sequence[int]], span: tuple[int, int]) -> list[int]:
    """Return the indices of the tokens inside a text span; start and end marks are empty and never match."""
    return [token for token, (start, stop) in enumerate(spans) if span[0] <= start < stop <= span[1]]
