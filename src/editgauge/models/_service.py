"""`ModelService` answers the questions of protocols with the models of a run.

Every answer is cached by content. What is not cached is batched over all items that ask at the same time. Models that
encode an image once and then answer many questions about it are asked in these two steps.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Hashable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, NamedTuple, Self, cast

import numpy as np
from numpy.typing import NDArray

from editgauge import __version__
from editgauge._util import profiling
from editgauge._util.batching import Ask, Request
from editgauge._util.images import Pixels, pixel_hash
from editgauge.errors import UnscorableError
from editgauge.models import _native
from editgauge.models._cache import Answer, Memory, Store, TwoLevels, open_store, size_of
from editgauge.models._factory import describe, make_models
from editgauge.models._native import in_native_resolution
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
    SceneScores,
    SegmentPrompt,
    TextLines,
    Vector,
)
from editgauge.models.interfaces import Detector, KeyEmbedder, Model, ModelCard, PatchEmbedder
from editgauge.models.profiles import models_for
from editgauge.models.vocabulary.imagenet import classes_of
from editgauge.models.vocabulary.places import attributes_of, scenes_of

__all__ = ["CachedModel", "ModelService", "describe"]

MAX_BYTES_ON_DISK = 4_000_000
"""Larger answers stay in memory. What OWL-ViT keeps of an image (1.8 MB for a second of work) is worth a place on the
disk; what SAM keeps (4.2 MB and more) would push out ten thousand answers for every few hundred images."""
POSTPROCESSING_SETTINGS = {"operating_point"}
"""Settings that are applied to what was answered, so that another value costs nothing."""


class RequestGroup(NamedTuple):
    """Requests that may go into one batch."""

    question: str
    """The method of the model that answers."""
    shape: tuple[int, ...] | None
    """Of the images, for models that take them as they are."""


class CachedModel:
    """A model with its answer cache in memory and, optionally, on disk."""

    def __init__(self, model: Model, memory: Memory, store: Store | TwoLevels | None) -> None:
        self.model = model
        self.card = model.card
        self._memory = memory
        self._store = store
        self._kinds: dict[type, bool] = {}
        self._stage = "load"
        """What a model does besides its forward pass: it loads itself when it is first asked, and prepares images."""
        settings = {name: value for name, value in self.card.settings.items() if name not in POSTPROCESSING_SETTINGS}
        card = self.card
        self._identity = [
            __version__,  # another version may prepare images in another way
            card.role,
            card.id,
            card.revision,
            card.sha256,
            card.input_size,
            sorted(settings.items()),
        ]

    @property
    def name(self) -> str:
        """Model id, as shown in profiles."""
        return self.card.id

    @property
    def batch(self) -> int:
        """Preferred batch size."""
        return self.model.batch

    def is_a(self, kind: type) -> bool:
        """Check a protocol with `isinstance`, memoized because runtime protocols are slow to check."""
        if kind not in self._kinds:
            self._kinds[kind] = isinstance(self.model, kind)
        return self._kinds[kind]

    def key(self, question: str, *about: object) -> str:
        """Hash model, revision, settings, question and subject to a cache key."""
        return hashlib.sha256(json.dumps([self._identity, question, *about]).encode()).hexdigest()

    def group(self, question: str, shape: tuple[int, ...]) -> RequestGroup:
        """Return the batch group: models that resize images themselves accept mixed shapes."""
        return RequestGroup(question, shape if self.card.input_size is None else None)

    def recall(self, key: str) -> Answer | None:
        """Return an answer from memory or disk; None if there is none."""
        answer = self._memory.get(key)
        if answer is None and self._store:
            with profiling.span("remember", self.name):
                answer = self._store.get(key, self.card.id)
            if answer is not None:
                self._memory.put(key, _frozen(answer))
        profiling.count(self.name, "unknown" if answer is None else "recalled")
        return answer

    def answer(self, group: Hashable, requests: Sequence[Request]) -> list[Answer]:
        """Ask the model, in its own thread, and cache the answers."""
        assert isinstance(group, RequestGroup)  # noqa: S101 - the service makes no others
        with profiling.span(self._stage, self.name):
            answered = getattr(self.model, group.question)([request.payload for request in requests])
        self._stage = "prepare"
        with profiling.span("remember", self.name):
            answers = [_frozen(item) for item in answered]
            for request, answer in zip(requests, answers, strict=True):
                self._keep(str(request.key), answer)
        return answers

    def _keep(self, key: str, answer: Answer) -> None:
        self._memory.put(key, answer)
        if self._store and size_of(answer) <= MAX_BYTES_ON_DISK and not is_image(answer):
            self._store.put(key, self.card.id, answer)


def _frozen(answer: Any) -> Answer:
    """Make an answer read-only, because items share it; features stay writable for the model."""
    match answer:
        case np.ndarray():
            alone = answer if answer.base is None else answer.copy()  # a row must not keep its whole batch alive
            alone.setflags(write=False)
            return alone
        case Detections() | ClassMap() | Patches() | ClassScores() | SceneScores() | TextLines() | Faces() | Poses():
            for field in fields(answer):
                if isinstance(value := getattr(answer, field.name), np.ndarray):
                    value.setflags(write=False)
        case np.floating():
            return float(answer)
    result: Answer = answer
    return result


def is_image(answer: Answer) -> bool:
    """Tell whether features are the image itself, which is not worth caching."""
    return isinstance(answer, dict) and set(answer) == {"pixels"}


MAX_BYTES_IN_MEMORY = 128_000_000
"""What models keep of some thirty images, at SAM's four megabytes each."""


class ModelService:
    """The models of a run, one per role.

    Args:
        names: the name of a model for each role
        cache: the folder in which answers are remembered from run to run; nowhere when left out
        ask: the ask layer it shares with others, such as judges; one of its own when left out

    """

    def __init__(self, names: Mapping[str, str], cache: Path | None = None, ask: Ask | None = None) -> None:
        memory, store = Memory(MAX_BYTES_IN_MEMORY), open_store(cache)
        models = make_models(names)
        cached = {id(model): CachedModel(model, memory, store) for model in models.values()}
        self._models = {role: cached[id(model)] for role, model in models.items()}
        self._ask = ask or Ask()
        self._ask_is_mine = ask is None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._ask_is_mine:
            self._ask.close()

    def for_protocol(self, name: str) -> Self:
        """Return a view of the service with the models of one protocol's paper."""
        if not any("." in role for role in self._models):
            return self
        view = copy(self)
        view._models = {
            role: self._models[key] for role, key in models_for(name, {key: key for key in self._models}).items()
        }
        return view

    def card(self, role: str) -> ModelCard:
        """Return the card of the model that plays a role."""
        return self._model_for(role).card

    def vocabulary(self) -> tuple[str, ...] | None:
        """Return the detector's vocabulary; None if it takes any phrase."""
        return self._detector()[1].vocabulary

    @in_native_resolution(_native.rescale_detections)
    async def detect(
        self, image: Pixels, *phrases: str, least: float | None = None, compete: bool = False
    ) -> Detections:
        """Detect objects that match the phrases.
        With `compete`, each box answers only the phrase that it fits best.
        """
        model, detector = self._detector()
        words = {phrase: detector.word_for(phrase) for phrase in phrases}
        if not words:
            return Detections.none()
        queries = sorted(set(words.values()))
        if getattr(detector, "words_are_independent", False):
            detections = together(await asyncio.gather(*(self._find(model, image, (word,)) for word in queries)))
        else:
            detections = await self._find(model, image, tuple(queries))
        matches = answered(detections, words).over(detector.operating_point if least is None else least)
        return matches.best_phrase_of_each_box() if compete else matches

    @in_native_resolution(_native.rescale_detections)
    async def detect_all(self, image: Pixels, least: float | None = None) -> Detections:
        """Detect all classes of a closed vocabulary."""
        model, detector = self._detector()
        if detector.vocabulary is None:
            raise UnscorableError("no_model", f"{model.card.id} has no list of words to look for; ask it for phrases")
        detections = await self._find(model, image, detector.vocabulary)
        return detections.over(detector.operating_point if least is None else least)

    @in_native_resolution(_native.rescale_masks, _native.native_prompt)
    async def segment(self, image: Pixels, prompt: SegmentPrompt) -> NDArray[np.bool_]:
        """Segment one mask per box or point; each is cached on its own."""
        kind, rows = ("boxes", prompt.boxes) if prompt.points is None else ("points", prompt.points)
        if rows is None or len(rows) == 0:
            return np.zeros((0, *image.shape[:2]), np.bool_)
        model = self._model_for("segmenter")
        alone = [np.asarray(row, np.float32)[np.newaxis] for row in rows]
        masks = await asyncio.gather(
            *(
                self._ask_features(model, image, "cut", SegmentPrompt(**{kind: row}), kind, _numbers(row))
                for row in alone
            )
        )
        return np.concatenate(masks)

    @in_native_resolution(_native.rescale_instances)
    async def instances(self, image: Pixels, *phrases: str, least: float | None = None) -> Instances:
        """Detect the phrases and segment each detection."""
        detections = await self.detect(image, *phrases, least=least)
        return Instances(detections, await self.segment(image, SegmentPrompt(boxes=detections.boxes)))

    @in_native_resolution(_native.rescale_classes)
    async def classes(self, image: Pixels) -> ClassMap:
        """Return the class of every pixel."""
        return cast(ClassMap, await self._about(self._model_for("semantic_segmenter"), "label", image))

    @in_native_resolution(_native.unchanged)
    async def embed_image(self, image: Pixels) -> Vector:
        """Embed an image as a unit vector of the image embedder."""
        model = self._model_for("image_embedder")
        if model.is_a(PatchEmbedder):  # one pass through the network gives both
            return _unit((await self.patches(image)).class_token.astype(np.float32))
        return _unit(await self._about(model, "embed", image))

    @in_native_resolution(_native.unchanged)
    async def patches(self, image: Pixels) -> Patches:
        """Return the patch tokens of the image embedder."""
        model = self._model_for("image_embedder")
        if not model.is_a(PatchEmbedder):
            raise UnscorableError("no_model", f"{model.card.id} has no patches; pass `model=image_embedder=dinov2-s14`")
        return cast(Patches, await self._about(model, "patches", image))

    async def keys(self, image: Pixels, *, of_bytes: bool = False) -> Keys:
        """Return the keys of the image embedder's last attention, one row per token."""
        model = self._model_for("image_embedder")
        if not model.is_a(KeyEmbedder):
            raise UnscorableError("no_model", f"{model.card.id} has no keys; pass `model=image_embedder=dinov2-s14`")
        return cast(Keys, await self._about(model, "keys_of_bytes" if of_bytes else "keys", image))

    def knows(self, phrase: str) -> bool:
        """Tell whether the classifier has classes for a phrase; False when there is no classifier."""
        try:
            return "classifier" in self._models and bool(classes_of(phrase))
        except UnscorableError:
            return False

    @in_native_resolution(_native.unchanged, _native.native_box)
    async def classify(self, image: Pixels, box: Sequence[float] | None = None) -> ClassScores:
        """Classify the image, or the part of it in a box."""
        part = image if box is None else crop(image, box)
        return cast(ClassScores, await self._about(self._model_for("classifier"), "classify", part))

    def knows_scene(self, phrase: str) -> bool:
        """Tell whether the scene classifier has scenes or attributes for a phrase; False without one."""
        return "scene_classifier" in self._models and bool(scenes_of(phrase) or attributes_of(phrase))

    @in_native_resolution(_native.unchanged)
    async def scenes(self, image: Pixels) -> SceneScores:
        """Classify the surroundings in an image."""
        return cast(SceneScores, await self._about(self._model_for("scene_classifier"), "classify_scenes", image))

    @in_native_resolution(_native.rescale_text)
    async def read_text(self, image: Pixels) -> TextLines:
        """Read the lines of text in an image; may be empty."""
        return cast(TextLines, await self._about(self._model_for("text_reader"), "read", image))

    @in_native_resolution(_native.rescale_faces)
    async def faces(self, image: Pixels) -> Faces:
        """Detect the faces in an image; may be empty."""
        return cast(Faces, await self._about(self._model_for("face_reader"), "find_faces", image))

    @in_native_resolution(_native.rescale_poses)
    async def poses(self, image: Pixels) -> Poses:
        """Detect people with their body joints; may be empty."""
        return cast(Poses, await self._about(self._model_for("pose_reader"), "find_poses", image))

    @in_native_resolution(_native.unchanged)
    async def fid_features(self, image: Pixels) -> Vector:
        """Return the features from which FID and KID are computed."""
        return cast(Vector, await self._about(self._model_for("fid_features"), "embed", image))

    @in_native_resolution(_native.unchanged)
    async def joint_image(self, image: Pixels) -> Vector:
        """Embed an image as a unit vector in the space shared with texts."""
        return cast(Vector, await self._about(self._model_for("joint_embedder"), "embed_images", image))

    async def joint_text(self, text: str) -> Vector:
        """Embed a text as a unit vector in the space shared with images."""
        return cast(Vector, await self._answer(self._model_for("joint_embedder"), "embed_texts", (), text, text))

    @in_native_resolution(_native.rescale_map)
    async def explain(self, image: Pixels, towards: Vector) -> NDArray[np.float32]:
        """Return the relevance of every pixel for the similarity with a vector of the joint space."""
        model, about = self._model_for("joint_embedder"), (pixel_hash(image), _numbers(towards))
        return cast(NDArray[np.float32], await self._answer(model, "explain", image.shape, (image, towards), *about))

    async def distance(self, before: Pixels, after: Pixels) -> float:
        """Return the perceptual distance of two images."""
        model, about = self._model_for("perceptual_distance"), (pixel_hash(before), pixel_hash(after))
        return cast(float, await self._answer(model, "compare", before.shape, (before, after), *about))

    @in_native_resolution(_native.unchanged)
    async def caption(self, image: Pixels) -> str:
        """Describe the image in one sentence."""
        return cast(str, await self._about(self._model_for("captioner"), "caption", image))

    async def similarity(self, text: str, other: str) -> float:
        """Return the similarity of meaning of two texts, from -1 to 1."""
        model = self._model_for("text_similarity")
        one, two = await asyncio.gather(*(self._answer(model, "embed", (), item, item) for item in (text, other)))
        return float(np.clip(np.dot(_unit(one), _unit(two)), -1, 1))

    async def _find(self, model: CachedModel, image: Pixels, words: tuple[str, ...]) -> Detections:
        return cast(Detections, await self._ask_features(model, image, "find", words, words))

    async def _ask_features(
        self, model: CachedModel, image: Pixels, question: str, queries: Any, *about: object
    ) -> Any:
        """Ask about the features of an image, computing them first if necessary."""
        image_hash = pixel_hash(image)
        cached = model.recall(model.key(question, image_hash, *about))
        if cached is not None:
            return cached
        features: Features = await self._about(model, "look", image)
        return await self._answer(model, question, image.shape, (features, queries), image_hash, *about)

    async def _about(self, model: CachedModel, question: str, image: Pixels) -> Any:
        """Ask about one whole image."""
        return await self._answer(model, question, image.shape, image, pixel_hash(image))

    async def _answer(
        self, model: CachedModel, question: str, shape: tuple[int, ...], payload: Any, *about: object
    ) -> Any:
        """Return the cached answer, or ask the model."""
        key = model.key(question, *about)
        cached = model.recall(key)
        return await self._ask(model, key, payload, model.group(question, shape)) if cached is None else cached

    def _detector(self) -> tuple[CachedModel, Detector]:
        model = self._model_for("detector")
        return model, cast(Detector, model.model)

    def _model_for(self, role: str) -> CachedModel:
        if role not in self._models:
            raise UnscorableError("no_model", f"no model plays the role '{role}'; pass `model={role}=NAME`")
        return self._models[role]


def _numbers(array: NDArray[Any] | None) -> str:
    """Hash an array for use in a cache key."""
    plain = np.ascontiguousarray(array, np.float32)
    return f"{plain.shape} {hashlib.sha256(plain.data).hexdigest()}"


def _unit(vector: Any) -> Vector:
    """Normalize a vector; raise `UnscorableError` for a zero vector."""
    length = float(np.linalg.norm(vector))
    if not length > 0:
        raise UnscorableError("not_detected", "the embedding has no direction, because all its numbers are zero")
    return np.asarray(vector / length, np.float32)


def crop(image: Pixels, box: Sequence[float]) -> Pixels:
    """Crop a box (left, top, right, bottom); raise `UnscorableError` when it has no pixels.

    No margin and no square: on 75 boxes of photographs a classifier named things no better with either.
    """
    height, width = image.shape[:2]
    left, right = (round(min(max(side, 0), width)) for side in (box[0], box[2]))
    top, bottom = (round(min(max(side, 0), height)) for side in (box[1], box[3]))
    if right <= left or bottom <= top:
        raise UnscorableError(
            "not_detected", f"the box {[round(item, 1) for item in box]} holds no pixel of the picture"
        )
    return np.ascontiguousarray(image[top:bottom, left:right])


def together(detections: Iterable[Detections]) -> Detections:
    """Concatenate detections, most confident first."""
    parts = [Detections.none(), *detections]
    confidences = np.concatenate([part.confidences for part in parts])
    order = np.argsort(-confidences, kind="stable").tolist()
    phrases = [phrase for part in parts for phrase in part.phrases]
    words = [word for part in parts for word in part.words]
    indices = [part.output_indices for part in parts if len(part)]
    available = [position for position in indices if position is not None]
    return Detections(
        np.concatenate([part.boxes for part in parts])[order],
        confidences[order],
        tuple(phrases[index] for index in order),
        tuple(words[index] for index in order),
        np.concatenate(available)[order] if available and len(available) == len(indices) else None,
    )


def answered(detections: Detections, words: Mapping[str, str]) -> Detections:
    """Relabel detections by the phrases of the caller; one per matching phrase.

    Args:
        found: objects under the model's words
        words: the model's word for each phrase

    """
    return together(_called(detections.of(word), phrase) for phrase, word in words.items())


def _called(detections: Detections, phrase: str) -> Detections:
    return replace(detections, phrases=(phrase,) * len(detections))
