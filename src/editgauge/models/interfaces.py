"""The roles a model can play, and what a protocol may ask.

Every model answers whole batches, because the service collects what many items ask. Where the architecture allows it
the work is split: `look` does what depends on the picture alone, once, and a second, cheap step answers each question.
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
    Instances,
    Keys,
    Patches,
    Poses,
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
    """Width and height of what the network sees; None when it takes pictures as they are."""
    device: str = "cpu"
    settings: Mapping[str, str | int | float] = field(default_factory=dict)
    """Whatever else decides an answer: operating point, precision, layer …"""


class Model(Protocol):
    """What every model provides.

    Construction must be cheap, because `editgauge list models` constructs all models: load weights at the first
    question. A model is called by one thread at a time. An answer must not depend on what else is in the batch.
    """

    @property
    def card(self) -> ModelCard:
        """Its description; available without the weights."""
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
    """Role `detector`: where are the things that some phrases name?"""

    @property
    def vocabulary(self) -> tuple[str, ...] | None:
        """All the words it knows; None when any phrase may be asked."""
        ...

    @property
    def operating_point(self) -> float:
        """Minimum confidence at which something counts as seen, calibrated on pictures."""
        ...

    def word_for(self, phrase: str) -> str:
        """The model's own word for a phrase; raises `UnscorableError` when it knows none."""
        ...

    def look(self, images: Sequence[Pixels]) -> list[Features]:
        """What it keeps of each picture."""
        ...

    def find(self, questions: Sequence[tuple[Features, tuple[str, ...]]]) -> list[Detections]:
        """Everything that answers the words, also what is far below the operating point."""
        ...


@runtime_checkable
class Segmenter(Model, Protocol):
    """Role `segmenter`: the outline of what is in a box or under a point."""

    def look(self, images: Sequence[Pixels]) -> list[Features]:
        """What it keeps of each picture."""
        ...

    def cut(self, questions: Sequence[tuple[Features, SegmentPrompt]]) -> list[NDArray[np.bool_]]:
        """For each question n masks, n x height x width of the picture."""
        ...


@runtime_checkable
class SemanticSegmenter(Model, Protocol):
    """Role `semantic_segmenter`: the class of every pixel."""

    def label(self, images: Sequence[Pixels]) -> list[ClassMap]:
        """One map per picture, in the picture's size."""
        ...


@runtime_checkable
class JointEmbedder(Model, Protocol):
    """Role `joint_embedder`: pictures and texts in one space, as CLIP does."""

    def embed_images(self, images: Sequence[Pixels]) -> Vector:
        """One unit vector per picture."""
        ...

    def embed_texts(self, texts: Sequence[str]) -> Vector:
        """One unit vector per text."""
        ...

    def explain(self, questions: Sequence[tuple[Pixels, Vector]]) -> list[NDArray[np.float32]]:
        """Where in each picture the similarity with a vector comes from: height x width, at least 0.

        The unit is the network's own, the same for all pictures, so that two maps can be subtracted.
        """
        ...


@runtime_checkable
class ImageEmbedder(Model, Protocol):
    """Roles `image_embedder` (pictures that look alike lie close together) and `fid_features` (for FID and KID)."""

    def embed(self, images: Sequence[Pixels]) -> Vector:
        """One vector per picture, as the network gives it."""
        ...


@runtime_checkable
class PatchEmbedder(ImageEmbedder, Protocol):
    """An `image_embedder` that also tells what is where: one vector per patch of a picture."""

    def patches(self, images: Sequence[Pixels]) -> list[Patches]:
        """The tokens of each picture."""
        ...


@runtime_checkable
class KeyEmbedder(ImageEmbedder, Protocol):
    """An `image_embedder` that also gives the keys of its last attention, which describe layout more than looks."""

    def keys(self, images: Sequence[Pixels]) -> list[Keys]:
        """One row per token of each picture, that of the whole picture first."""
        ...

    def keys_of_bytes(self, images: Sequence[Pixels]) -> list[Keys]:
        """The same for pixels from 0 to 255 instead of 0 to 1: what some released code feeds its network."""
        ...


@runtime_checkable
class Classifier(Model, Protocol):
    """Role `classifier`: which class of a closed list does a picture show?"""

    @property
    def vocabulary(self) -> str:
        """Which list of classes it knows, such as `imagenet`."""
        ...

    @property
    def operating_point(self) -> float:
        """Minimum probability at which a phrase counts as shown, calibrated on pictures."""
        ...

    def classify(self, images: Sequence[Pixels]) -> list[ClassScores]:
        """The probability of every class for each picture."""
        ...


@runtime_checkable
class TextReader(Model, Protocol):
    """Role `text_reader`: which words stand in a picture, and where?"""

    def read(self, images: Sequence[Pixels]) -> list[TextLines]:
        """The lines of text of each picture, in its pixels."""
        ...


@runtime_checkable
class FaceReader(Model, Protocol):
    """Role `face_reader`: where are faces, which of two pictures are alike, and what do they express?"""

    def find_faces(self, images: Sequence[Pixels]) -> list[Faces]:
        """The faces of each picture, in its pixels."""
        ...


@runtime_checkable
class PoseReader(Model, Protocol):
    """Role `pose_reader`: where are people, and how do they hold their bodies?"""

    def find_poses(self, images: Sequence[Pixels]) -> list[Poses]:
        """The people of each picture with their joints, in its pixels."""
        ...


@runtime_checkable
class PerceptualDistance(Model, Protocol):
    """Role `perceptual_distance`: how different two pictures look, as LPIPS does."""

    def compare(self, pairs: Sequence[tuple[Pixels, Pixels]]) -> list[float]:
        """One distance per pair of pictures of the same size; 0 for the same picture."""
        ...


@runtime_checkable
class Captioner(Model, Protocol):
    """Role `captioner`: a sentence that says what is in a picture."""

    def caption(self, images: Sequence[Pixels]) -> list[str]:
        """One sentence per picture."""
        ...


@runtime_checkable
class TextEmbedder(Model, Protocol):
    """Role `text_similarity`: texts that mean the same lie close together."""

    def embed(self, texts: Sequence[str]) -> Vector:
        """One unit vector per text."""
        ...


@runtime_checkable
class Inpainter(Model, Protocol):
    """Role `inpainter`: what could be where something was cut out. No protocol asks it; reference editors do."""

    def fill(self, questions: Sequence[tuple[Pixels, BoolMask]]) -> list[Pixels]:
        """Each picture with its hole filled; every pixel outside of it stays."""
        ...


ROLES: dict[str, type] = {
    "detector": Detector,
    "segmenter": Segmenter,
    "semantic_segmenter": SemanticSegmenter,
    "joint_embedder": JointEmbedder,
    "image_embedder": ImageEmbedder,
    "fid_features": ImageEmbedder,
    "classifier": Classifier,
    "text_reader": TextReader,
    "face_reader": FaceReader,
    "pose_reader": PoseReader,
    "perceptual_distance": PerceptualDistance,
    "captioner": Captioner,
    "text_similarity": TextEmbedder,
    "inpainter": Inpainter,
}


class Perception(Protocol):
    """Access to the models for a protocol. Every call is awaited; `UnscorableError` is raised when there is no answer."""

    def card(self, role: str) -> ModelCard:
        """The model of a role."""
        ...

    def vocabulary(self) -> tuple[str, ...] | None:
        """All words that the detector knows; None if it takes any phrase."""
        ...

    async def detect(
        self, image: Pixels, *phrases: str, least: float | None = None, compete: bool = False
    ) -> Detections:
        """What is seen of the phrases, at the detector's operating point or from another confidence on.

        Args:
            image: the picture that is asked about
            phrases: what to look for
            least: the confidence that counts as seen, instead of the operating point
            compete: whether each box answers only the phrase that it fits best

        """
        ...

    async def detect_all(self, image: Pixels, least: float | None = None) -> Detections:
        """Detections of all classes of a closed vocabulary."""
        ...

    async def segment(self, image: Pixels, prompt: SegmentPrompt) -> NDArray[np.bool_]:
        """One mask per box or point."""
        ...

    async def instances(self, image: Pixels, *phrases: str, least: float | None = None) -> Instances:
        """Detections of the phrases, with masks."""
        ...

    async def classes(self, image: Pixels) -> ClassMap:
        """The class of every pixel."""
        ...

    async def embed_image(self, image: Pixels) -> Vector:
        """The picture as a unit vector of the image embedder."""
        ...

    async def patches(self, image: Pixels) -> Patches:
        """The picture as the tokens of the image embedder, one per patch of a grid; not every embedder has them."""
        ...

    async def keys(self, image: Pixels, *, of_bytes: bool = False) -> Keys:
        """The keys of the image embedder's last attention, one row per token; not every embedder has them.

        `of_bytes` feeds the network pixels from 0 to 255, as some released code does.
        """
        ...

    def knows(self, phrase: str) -> bool:
        """Does the classifier have classes for what a phrase names? False too when there is no classifier."""
        ...

    async def classify(self, image: Pixels, box: Sequence[float] | None = None) -> ClassScores:
        """How likely each class of the classifier is for the whole picture, or for what is in a box of it.

        `ClassScores.share(phrase)` is the probability of a phrase.
        """
        ...

    async def read_text(self, image: Pixels) -> TextLines:
        """The lines of text in a picture; may be empty."""
        ...

    async def faces(self, image: Pixels) -> Faces:
        """The faces in a picture; may be empty."""
        ...

    async def poses(self, image: Pixels) -> Poses:
        """The people in a picture with the joints of their bodies; may be empty."""
        ...

    async def fid_features(self, image: Pixels) -> Vector:
        """The picture as the features from which FID and KID are computed."""
        ...

    async def joint_image(self, image: Pixels) -> Vector:
        """The picture as a unit vector in the space it shares with texts."""
        ...

    async def joint_text(self, text: str) -> Vector:
        """The text as a unit vector in the space it shares with pictures."""
        ...

    async def explain(self, image: Pixels, towards: Vector) -> NDArray[np.float32]:
        """Where in the picture its similarity with a vector of the joint space comes from."""
        ...

    async def distance(self, before: Pixels, after: Pixels) -> float:
        """How different the two pictures look."""
        ...

    async def caption(self, image: Pixels) -> str:
        """A sentence that says what is in the picture."""
        ...

    async def similarity(self, text: str, other: str) -> float:
        """How alike two texts are in meaning, from -1 to 1."""
        ...
