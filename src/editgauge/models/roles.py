"""The roles of models, and the methods that each role requires.

Every model answers batches, because questions of many items are collected. Where the architecture allows it the work is
split: `look` does what depends on the image alone, once, and a second, cheap step answers each question. A new role
needs a class here with its row in `ROLES`, the type of its answer in `answers.py`, and a method of `Perception`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from editgauge._util.images import Pixels
from editgauge._util.masks import BoolMask
from editgauge.models.answers import (
    ClassMap,
    ClassScores,
    Detections,
    Faces,
    Features,
    Keys,
    Patches,
    Poses,
    SceneScores,
    SegmentPrompt,
    TextLines,
    Vector,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCard:
    """Identity of a model: stored in the manifest of a run, and part of the key of cached answers."""

    role: str
    id: str
    """The name under which the world knows it: `google/owlvit-base-patch32`, `EfficientDet-Lite2`."""
    revision: str
    sha256: str
    """Of its weights."""
    license: str
    input_size: tuple[int, int] | None = None
    """Width and height of what the network sees; None when it takes images as they are."""
    device: str = "cpu"
    settings: Mapping[str, str | int | float] = field(default_factory=dict)
    """Whatever else decides an answer: operating point, precision, layer …"""


class Model(Protocol):
    """Interface of every model.

    Construction must be cheap, because `editgauge list models` constructs all models: load weights at the first
    question. A model is called by one thread at a time. An answer must not depend on what else is in the batch.
    """

    @property
    def card(self) -> ModelCard:
        """Identity of the model; available without the weights."""
        ...

    @property
    def weights(self) -> tuple[str, ...]:
        """The sets of weights it needs (`editgauge list models`); empty if it includes its own."""
        ...

    @property
    def batch(self) -> int:
        """Preferred batch size; the service sends smaller batches when memory is low."""
        ...


@runtime_checkable
class Detector(Model, Protocol):
    """Role `detector`: boxes of the objects that phrases name."""

    @property
    def vocabulary(self) -> tuple[str, ...] | None:
        """All known words; None for an open vocabulary."""
        ...

    @property
    def operating_point(self) -> float:
        """Minimum confidence of a detection, calibrated on images."""
        ...

    def word_for(self, phrase: str) -> str:
        """Map a phrase to a word of the model; raise `UnscorableError` when it knows none."""
        ...

    def look(self, images: Sequence[Pixels]) -> list[Features]:
        """Encode each image; the features are reused for all questions about it."""
        ...

    def find(self, questions: Sequence[tuple[Features, tuple[str, ...]]]) -> list[Detections]:
        """Return all candidates for the words, also far below the operating point."""
        ...


@runtime_checkable
class Segmenter(Model, Protocol):
    """Role `segmenter`: the mask of the object in a box or under a point."""

    def look(self, images: Sequence[Pixels]) -> list[Features]:
        """Encode each image; the features are reused for all questions about it."""
        ...

    def cut(self, questions: Sequence[tuple[Features, SegmentPrompt]]) -> list[NDArray[np.bool_]]:
        """Return n x height x width masks for each question."""
        ...


@runtime_checkable
class SemanticSegmenter(Model, Protocol):
    """Role `semantic_segmenter`: the class of every pixel."""

    def label(self, images: Sequence[Pixels]) -> list[ClassMap]:
        """Return one class map per image, in the size of the image."""
        ...


@runtime_checkable
class JointEmbedder(Model, Protocol):
    """Role `joint_embedder`: images and texts in one space, like CLIP."""

    def embed_images(self, images: Sequence[Pixels]) -> Vector:
        """Embed each image as a unit vector."""
        ...

    def embed_texts(self, texts: Sequence[str]) -> Vector:
        """Embed each text as a unit vector."""
        ...

    def explain(self, questions: Sequence[tuple[Pixels, Vector]]) -> list[NDArray[np.float32]]:
        """Return the relevance of every pixel for the similarity with a vector: height x width, at least 0.

        The unit is the network's own, the same for all images, so that two maps can be subtracted.
        """
        ...


@runtime_checkable
class ImageEmbedder(Model, Protocol):
    """Roles `image_embedder` (similar images have similar vectors) and `fid_features` (FID, KID)."""

    def embed(self, images: Sequence[Pixels]) -> Vector:
        """Return one vector per image, not normalized."""
        ...


@runtime_checkable
class PatchEmbedder(ImageEmbedder, Protocol):
    """An `image_embedder` that also returns one vector per patch."""

    def patches(self, images: Sequence[Pixels]) -> list[Patches]:
        """Return the tokens of each image."""
        ...


@runtime_checkable
class KeyEmbedder(ImageEmbedder, Protocol):
    """An `image_embedder` that also returns the keys of its last attention, which describe layout."""

    def keys(self, images: Sequence[Pixels]) -> list[Keys]:
        """Return one row per token of each image, class token first."""
        ...

    def keys_of_bytes(self, images: Sequence[Pixels]) -> list[Keys]:
        """Return the keys for pixels from 0 to 255 instead of 0 to 1, as some released code uses."""
        ...


@runtime_checkable
class Classifier(Model, Protocol):
    """Role `classifier`: probabilities of the classes of a closed list."""

    @property
    def vocabulary(self) -> str:
        """Name of the class list, such as `imagenet`."""
        ...

    @property
    def operating_point(self) -> float:
        """Minimum probability at which a phrase counts as present, calibrated on images."""
        ...

    def classify(self, images: Sequence[Pixels]) -> list[ClassScores]:
        """Return the probability of every class for each image."""
        ...


@runtime_checkable
class SceneClassifier(Model, Protocol):
    """Role `scene_classifier`: the surroundings in an image."""

    def classify_scenes(self, images: Sequence[Pixels]) -> list[SceneScores]:
        """Return scene probabilities and attribute margins of each image."""
        ...


@runtime_checkable
class TextReader(Model, Protocol):
    """Role `text_reader`: the lines of text in an image (OCR)."""

    def read(self, images: Sequence[Pixels]) -> list[TextLines]:
        """Read the lines of text of each image, in its pixels."""
        ...


@runtime_checkable
class FaceReader(Model, Protocol):
    """Role `face_reader`: boxes, embeddings and expressions of faces."""

    def find_faces(self, images: Sequence[Pixels]) -> list[Faces]:
        """Detect the faces in each image, in its pixels."""
        ...


@runtime_checkable
class PoseReader(Model, Protocol):
    """Role `pose_reader`: people and their body joints."""

    def find_poses(self, images: Sequence[Pixels]) -> list[Poses]:
        """Detect people with their joints, in pixels of each image."""
        ...


@runtime_checkable
class PerceptualDistance(Model, Protocol):
    """Role `perceptual_distance`: how different two images look, like LPIPS."""

    def compare(self, pairs: Sequence[tuple[Pixels, Pixels]]) -> list[float]:
        """Return one distance per pair of images of the same size; 0 for identical images."""
        ...


@runtime_checkable
class Captioner(Model, Protocol):
    """Role `captioner`: a sentence that describes an image."""

    def caption(self, images: Sequence[Pixels]) -> list[str]:
        """Write one sentence per image."""
        ...


@runtime_checkable
class TextEmbedder(Model, Protocol):
    """Role `text_similarity`: texts of similar meaning have similar vectors."""

    def embed(self, texts: Sequence[str]) -> Vector:
        """Embed each text as a unit vector."""
        ...


@runtime_checkable
class Inpainter(Model, Protocol):
    """Role `inpainter`: fills holes. Used by reference editors, not by protocols."""

    def fill(self, questions: Sequence[tuple[Pixels, BoolMask]]) -> list[Pixels]:
        """Fill the hole of each image; pixels outside stay unchanged."""
        ...


ROLES: dict[str, type] = {
    "detector": Detector,
    "segmenter": Segmenter,
    "semantic_segmenter": SemanticSegmenter,
    "joint_embedder": JointEmbedder,
    "image_embedder": ImageEmbedder,
    "fid_features": ImageEmbedder,
    "classifier": Classifier,
    "scene_classifier": SceneClassifier,
    "text_reader": TextReader,
    "face_reader": FaceReader,
    "pose_reader": PoseReader,
    "perceptual_distance": PerceptualDistance,
    "captioner": Captioner,
    "text_similarity": TextEmbedder,
    "inpainter": Inpainter,
}
