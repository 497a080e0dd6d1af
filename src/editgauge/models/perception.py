"""`Perception` is what protocols ask: `await perception.detect(image, "zebra")`.

Every answer is cached by content. What is not cached is batched over all items that ask at the same time. Models that
encode an image once and then answer many questions about it are asked in these two steps.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol, Self, cast

import numpy as np
from numpy.typing import NDArray

from editgauge._util.batching import Ask
from editgauge._util.images import Pixels, pixel_hash
from editgauge.errors import UnscorableError
from editgauge.models import _native
from editgauge.models._cache import CachedModel, new_memory, open_store
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
from editgauge.models.profiles import make_models, models_for
from editgauge.models.roles import Detector, KeyEmbedder, ModelCard, PatchEmbedder
from editgauge.models.vocabulary.imagenet import classes_of
from editgauge.models.vocabulary.places import attributes_of, scenes_of


class Perception(Protocol):
    """Access of protocols to the models of a run; calls raise `UnscorableError` when there is no answer.

    All questions are implemented here. Subclasses say which model plays a role and how it is asked.
    """

    def _has(self, role: str) -> bool:
        """Tell whether a model plays the role."""
        ...

    def _model_for(self, role: str) -> CachedModel:
        """Return the model that plays a role, or raise `UnscorableError`."""
        ...

    async def _answer(
        self, model: CachedModel, question: str, shape: tuple[int, ...], payload: Any, *about: object
    ) -> Any:
        """Return the answer of a model, cached under what the question is about."""
        ...

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

        Args:
            image: the image to search.
            phrases: what to look for.
            least: minimum confidence instead of the detector's operating point.
            compete: whether each box answers only the phrase that it fits best.

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
        """Return the patch tokens of the image embedder; not every embedder has them."""
        model = self._model_for("image_embedder")
        if not model.is_a(PatchEmbedder):
            raise UnscorableError("no_model", f"{model.card.id} has no patches; pass `model=image_embedder=dinov2-s14`")
        return cast(Patches, await self._about(model, "patches", image))

    async def keys(self, image: Pixels, *, of_bytes: bool = False) -> Keys:
        """Return the keys of the image embedder's last attention, one row per token.

        `of_bytes` feeds the network pixels from 0 to 255, as some released code does.
        """
        model = self._model_for("image_embedder")
        if not model.is_a(KeyEmbedder):
            raise UnscorableError("no_model", f"{model.card.id} has no keys; pass `model=image_embedder=dinov2-s14`")
        return cast(Keys, await self._about(model, "keys_of_bytes" if of_bytes else "keys", image))

    def knows(self, phrase: str) -> bool:
        """Tell whether the classifier has classes for a phrase; False when there is no classifier."""
        try:
            return self._has("classifier") and bool(classes_of(phrase))
        except UnscorableError:
            return False

    @in_native_resolution(_native.unchanged, _native.native_box)
    async def classify(self, image: Pixels, box: Sequence[float] | None = None) -> ClassScores:
        """Classify the image or the part of it in a box; `ClassScores.share(phrase)` is the probability of a phrase."""
        part = image if box is None else crop(image, box)
        return cast(ClassScores, await self._about(self._model_for("classifier"), "classify", part))

    def knows_scene(self, phrase: str) -> bool:
        """Tell whether the scene classifier has scenes or attributes for a phrase; False without one."""
        return self._has("scene_classifier") and bool(scenes_of(phrase) or attributes_of(phrase))

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

    def _detector(self) -> tuple[CachedModel, Detector]:
        model = self._model_for("detector")
        return model, cast(Detector, model.model)


class ModelService(Perception):
    """The models of a run, one per role.

    Args:
        names: the name of a model for each role.
        cache: the folder in which answers are kept from run to run; None for no cache on disk.
        ask: an ask layer to share, for example with judges; by default a new one.

    """

    def __init__(self, names: Mapping[str, str], cache: Path | None = None, ask: Ask | None = None) -> None:
        memory, store = new_memory(), open_store(cache)
        models = make_models(names)
        cached = {id(model): CachedModel(model, memory, store) for model in models.values()}
        self._models = {role: cached[id(model)] for role, model in models.items()}
        self._ask = ask or Ask()
        self._owns_ask = ask is None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._owns_ask:
            self._ask.close()

    def for_protocol(self, name: str) -> Self:
        """Return a view of the service with the models of one protocol's paper."""
        if not any("." in role for role in self._models):
            return self
        view = copy(self)
        view._models = {  # noqa: SLF001 - a copy of this very object
            role: self._models[key] for role, key in models_for(name, {key: key for key in self._models}).items()
        }
        return view

    def _has(self, role: str) -> bool:
        return role in self._models

    async def _answer(
        self, model: CachedModel, question: str, shape: tuple[int, ...], payload: Any, *about: object
    ) -> Any:
        """Return the cached answer, or ask the model."""
        key = model.key(question, *about)
        cached = model.recall(key)
        return await self._ask(model, key, payload, model.group(question, shape)) if cached is None else cached

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
        detections: objects under the model's words.
        words: the model's word for each phrase.

    """
    return together(_called(detections.of(word), phrase) for phrase, word in words.items())


def _called(detections: Detections, phrase: str) -> Detections:
    return replace(detections, phrases=(phrase,) * len(detections))
