"""OWL-ViT and OWLv2: detectors for any phrase, which see an image once and are then asked at almost no cost.

Minderer et al. 2022, 2023. An image becomes one embedding and one box per patch; a phrase becomes one embedding; how
well they fit depends on those two alone. So `look` keeps what the patches show and their boxes, and `find` compares:
the network's class head, in two halves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from scipy.special import expit

from editgauge.models.answers import Detections, Features, Vector
from editgauge.models.hub._network import Network, corners, numbers, row_of

if TYPE_CHECKING:
    from editgauge._util.images import Pixels

MIN_CONFIDENCE = 0.01
"""What is less sure is left out: every patch answers every phrase, and nearly all of them with nothing."""
NO_DIVISION_BY_ZERO = 1e-6
"""Added to lengths by the network itself, so that it is added here."""


class OwlDetector(Network):
    """Role `detector`: open-vocabulary detection of phrases."""

    role = "detector"
    kinds: ClassVar[Mapping[str, str]] = {"owlvit": "OwlViTForObjectDetection", "owlv2": "Owlv2ForObjectDetection"}
    words_are_independent = True
    """What it answers to a phrase does not depend on the other phrases of the question."""
    vocabulary = None
    operating_point = 0.1
    """As in the EditVal and PixLens papers."""

    def word_for(self, phrase: str) -> str:
        """Return the phrase: the vocabulary is open."""
        return phrase

    def look(self, images: Sequence[Pixels]) -> list[Features]:
        """Encode each image: per patch an embedding, a logit scale and a box."""
        with self.thinking():
            from torch.nn.functional import elu

            maps = self.network.image_embedder(pixel_values=self.prepared(images))[0]
            patches = maps.flatten(1, 2)
            head = self.network.class_head
            image_classes = head.dense0(patches).float()
            features = {
                "shown": numbers(image_classes / (image_classes.norm(dim=-1, keepdim=True) + NO_DIVISION_BY_ZERO)),
                "shift": numbers(head.logit_shift(patches)),
                "scale": numbers(elu(head.logit_scale(patches)) + 1),
            }
            boxes = numbers(self.network.box_predictor(patches, maps))
        return [
            {"boxes": corners(boxes[index], self._frame(image)), **row_of(features, index)}
            for index, image in enumerate(images)
        ]

    def find(self, questions: Sequence[tuple[Features, tuple[str, ...]]]) -> list[Detections]:
        """Score every patch for every word; return detections, most confident first."""
        self._remember({word for _, words in questions for word in words})
        return [self._compare(features, words) for features, words in questions]

    def _compare(self, features: Features, words: tuple[str, ...]) -> Detections:
        if not words:
            return Detections.none()
        likeness = features["shown"] @ np.stack([self._embeddings[word] for word in words]).T
        sure = np.asarray(expit((likeness + features["shift"]) * features["scale"]), np.float32)
        indices, which = np.nonzero(sure >= MIN_CONFIDENCE)
        order = np.argsort(-sure[indices, which], kind="stable")
        indices, which = indices[order], which[order]
        answered = tuple(words[item] for item in which.tolist())
        return Detections(
            features["boxes"][indices], sure[indices, which], answered, answered, indices.astype(np.int32)
        )

    def _remember(self, words: set[str]) -> None:
        """Embed new words and remember them; each costs a pass of the text tower."""
        if new := sorted(words - self._embeddings.keys()):
            with self.thinking():
                longest = self.network.config.text_config.max_position_embeddings
                tokens = self.tokenizer(
                    new, padding="max_length", truncation=True, max_length=longest, return_tensors="pt"
                ).to(self.device)
                towers = self.network.owlvit if self.network.config.model_type == "owlvit" else self.network.owlv2
                embedded = towers.get_text_features(**tokens).pooler_output.float()
                unit = embedded / embedded.norm(dim=-1, keepdim=True)
            self._embeddings.update(zip(new, numbers(unit / (1 + NO_DIVISION_BY_ZERO)), strict=True))

    @cached_property
    def _embeddings(self) -> dict[str, Vector]:
        return {}

    def _frame(self, image: Pixels) -> tuple[int, int]:
        """Return width and height of the frame of the boxes: OWLv2 pads the image to a square."""
        height, width = image.shape[:2]
        if self.network.config.model_type == "owlv2":
            return max(height, width), max(height, width)
        return width, height

    def _settings(self) -> dict[str, str | int | float]:
        return {"operating_point": self.operating_point, "faintest": MIN_CONFIDENCE, "places": "patches"}
