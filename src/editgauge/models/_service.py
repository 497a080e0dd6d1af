"""A model at work: asked in batches, and everything it answers is kept."""

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
    SegmentPrompt,
    TextLines,
    Vector,
)
from editgauge.models.interfaces import Detector, KeyEmbedder, Model, ModelCard, PatchEmbedder
from editgauge.models.profiles import models_for
from editgauge.models.vocabulary.imagenet import classes_of

__all__ = ["CachedModel", "ModelService", "describe"]

MOST_BYTES_ON_DISK = 4_000_000
"""Larger answers stay in memory. What OWL-ViT keeps of a picture (1.8 MB for a second of work) is worth a place on the
disk; what SAM keeps (4.2 MB and more) would push out ten thousand answers for every few hundred pictures."""
AFTER_THE_ANSWER = {"operating_point"}
"""Settings that are applied to what was answered, so that another value costs nothing."""


class RequestGroup(NamedTuple):
    """Requests that may go into one batch."""

    question: str
    """The method of the model that answers."""
    shape: tuple[int, ...] | None
    """Of the pictures, for models that take them as they are."""


class CachedModel:
    """One model, its thread-safe memory and, if there is one, its place on the disk."""

    def __init__(self, model: Model, memory: Memory, store: Store | TwoLevels | None) -> None:
        self.model = model
        self.card = model.card
        self._memory = memory
        self._store = store
        self._kinds: dict[type, bool] = {}
        self._stage = "load"
        """What a model does besides its forward pass: it loads itself when it is first asked, and prepares pictures."""
        settings = {name: value for name, value in self.card.settings.items() if name not in AFTER_THE_ANSWER}
        card = self.card
        self._identity = [
            __version__,  # another version may prepare pictures in another way
            card.role,
            card.id,
            card.revision,
            card.sha256,
            card.input_size,
            sorted(settings.items()),
        ]

    @property
    def name(self) -> str:
        """What the model is called in a profile."""
        return self.card.id

    @property
    def batch(self) -> int:
        """How many requests the model likes at once."""
        return self.model.batch

    def is_a(self, kind: type) -> bool:
        """Is the model of a kind? Python compares all members of a protocol each time, so the answer is kept."""
        if kind not in self._kinds:
            self._kinds[kind] = isinstance(self.model, kind)
        return self._kinds[kind]

    def key(self, question: str, *about: object) -> str:
        """The identity of an answer: the model with its revision and settings, the question, and what it is about."""
        return hashlib.sha256(json.dumps([self._identity, question, *about]).encode()).hexdigest()

    def group(self, question: str, shape: tuple[int, ...]) -> RequestGroup:
        """Pictures of different shapes fit into one batch if the model brings them to one size itself."""
        return RequestGroup(question, shape if self.card.input_size is None else None)

    def recall(self, key: str) -> Answer | None:
        """What was answered before, in this run or in another."""
        answer = self._memory.get(key)
        if answer is None and self._store:
            with profiling.span("remember", self.name):
                answer = self._store.get(key, self.card.id)
            if answer is not None:
                self._memory.put(key, _frozen(answer))
        profiling.count(self.name, "unknown" if answer is None else "recalled")
        return answer

    def answer(self, group: Hashable, requests: Sequence[Request]) -> list[Answer]:
        """Asks the model, in the thread that is its own, and keeps the answers before anyone sees them."""
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
        if self._store and size_of(answer) <= MOST_BYTES_ON_DISK and not is_picture(answer):
            self._store.put(key, self.card.id, answer)


def _frozen(answer: Any) -> Answer:
    """Many items share an answer, so none may write on it. What a model keeps for itself it may treat as it likes."""
    match answer:
        case np.ndarray():
            alone = answer if answer.base is None else answer.copy()  # a row must not keep its whole batch alive
            alone.setflags(write=False)
            return alone
        case Detections() | ClassMap() | Patches() | ClassScores() | TextLines() | Faces() | Poses():
            for field in fields(answer):
                if isinstance(value := getattr(answer, field.name), np.ndarray):
                    value.setflags(write=False)
        case np.floating():
            return float(answer)
    kept: Answer = answer
    return kept


def is_picture(answer: Answer) -> bool:
    """Some models keep the very picture when they look at it: there is nothing to remember about that."""
    return isinstance(answer, dict) and set(answer) == {"pixels"}


BYTES_IN_MEMORY = 128_000_000
"""What models keep of some thirty pictures, at SAM's four megabytes each."""


class ModelService:
    """The models of a run, one per role.

    Args:
        chosen: the name of a model for each role
        cache: the folder in which answers are remembered from run to run; nowhere when left out
        ask: the ask layer it shares with others, such as judges; one of its own when left out

    """

    def __init__(self, chosen: Mapping[str, str], cache: Path | None = None, ask: Ask | None = None) -> None:
        memory, store = Memory(BYTES_IN_MEMORY), open_store(cache)
        models = make_models(chosen)
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
        """The same models as one protocol sees them: where papers differ, those of its own paper."""
        if not any("." in role for role in self._models):
            return self
        view = copy(self)
        view._models = {
            role: self._models[key] for role, key in models_for(name, {key: key for key in self._models}).items()
        }
        return view

    def card(self, role: str) -> ModelCard:
        """The model of a role."""
        return self._model_for(role).card

    def vocabulary(self) -> tuple[str, ...] | None:
        """All words that the detector knows; None if it takes any phrase."""
        return self._detector()[1].vocabulary

    @in_native_resolution(_native.rescale_detections)
    async def detect(
        self, image: Pixels, *phrases: str, least: float | None = None, compete: bool = False
    ) -> Detections:
        """What is seen of the phrases, at the detector's operating point or from another confidence on.

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
        seen = answered(detections, words).over(detector.operating_point if least is None else least)
        return seen.best_phrase_of_each_box() if compete else seen

    @in_native_resolution(_native.rescale_detections)
    async def detect_all(self, image: Pixels, least: float | None = None) -> Detections:
        """Detections of all classes of a closed vocabulary."""
        model, detector = self._detector()
        if detector.vocabulary is None:
            raise UnscorableError("no_model", f"{model.card.id} has no list of words to look for; ask it for phrases")
        detections = await self._find(model, image, detector.vocabulary)
        return detections.over(detector.operating_point if least is None else least)

    @in_native_resolution(_native.rescale_masks, _native.native_prompt)
    async def segment(self, image: Pixels, prompt: SegmentPrompt) -> NDArray[np.bool_]:
        """One mask per box or point; each is a separate question, so that no object is segmented twice."""
        kind, rows = ("boxes", prompt.boxes) if prompt.points is None else ("points", prompt.points)
        if rows is None or len(rows) == 0:
            return np.zeros((0, *image.shape[:2]), np.bool_)
        model = self._model_for("segmenter")
        alone = [np.asarray(row, np.float32)[np.newaxis] for row in rows]
        masks = await asyncio.gather(
            *(
                self._second_look(model, image, "cut", SegmentPrompt(**{kind: row}), kind, _numbers(row))
                for row in alone
            )
        )
        return np.concatenate(masks)

    @in_native_resolution(_native.rescale_instances)
    async def instances(self, image: Pixels, *phrases: str, least: float | None = None) -> Instances:
        """Detections of the phrases, with masks."""
        detections = await self.detect(image, *phrases, least=least)
        return Instances(detections, await self.segment(image, SegmentPrompt(boxes=detections.boxes)))

    @in_native_resolution(_native.rescale_classes)
    async def classes(self, image: Pixels) -> ClassMap:
        """The class of every pixel."""
        return cast(ClassMap, await self._about(self._model_for("semantic_segmenter"), "label", image))

    @in_native_resolution(_native.unchanged)
    async def embed_image(self, image: Pixels) -> Vector:
        """The picture as a unit vector of the image embedder."""
        model = self._model_for("image_embedder")
        if model.is_a(PatchEmbedder):  # one pass through the network gives both
            return _unit((await self.patches(image)).whole.astype(np.float32))
        return _unit(await self._about(model, "embed", image))

    @in_native_resolution(_native.unchanged)
    async def patches(self, image: Pixels) -> Patches:
        """The picture as the tokens of the image embedder, one per patch of a grid."""
        model = self._model_for("image_embedder")
        if not model.is_a(PatchEmbedder):
            raise UnscorableError(
                "no_model", f"{model.card.id} has no patches; choose --model image_embedder=dinov2-s14"
            )
        return cast(Patches, await self._about(model, "patches", image))

    async def keys(self, image: Pixels, *, of_bytes: bool = False) -> Keys:
        """The keys of the image embedder's last attention, one row per token."""
        model = self._model_for("image_embedder")
        if not model.is_a(KeyEmbedder):
            raise UnscorableError("no_model", f"{model.card.id} has no keys; choose --model image_embedder=dinov2-s14")
        return cast(Keys, await self._about(model, "keys_of_bytes" if of_bytes else "keys", image))

    def knows(self, phrase: str) -> bool:
        """Does the classifier have classes for what a phrase names? False too when there is no classifier."""
        try:
            return "classifier" in self._models and bool(classes_of(phrase))
        except UnscorableError:
            return False

    @in_native_resolution(_native.unchanged, _native.native_box)
    async def classify(self, image: Pixels, box: Sequence[float] | None = None) -> ClassScores:
        """How likely each class of the classifier is for the whole picture, or for what is in a box of it."""
        part = image if box is None else crop(image, box)
        return cast(ClassScores, await self._about(self._model_for("classifier"), "classify", part))

    @in_native_resolution(_native.rescale_text)
    async def read_text(self, image: Pixels) -> TextLines:
        """The lines of text in a picture; may be empty."""
        return cast(TextLines, await self._about(self._model_for("text_reader"), "read", image))

    @in_native_resolution(_native.rescale_faces)
    async def faces(self, image: Pixels) -> Faces:
        """The faces in a picture; may be empty."""
        return cast(Faces, await self._about(self._model_for("face_reader"), "find_faces", image))

    @in_native_resolution(_native.rescale_poses)
    async def poses(self, image: Pixels) -> Poses:
        """The people in a picture with the joints of their bodies; may be empty."""
        return cast(Poses, await self._about(self._model_for("pose_reader"), "find_poses", image))

    @in_native_resolution(_native.unchanged)
    async def fid_features(self, image: Pixels) -> Vector:
        """The picture as the features from which FID and KID are computed."""
        return cast(Vector, await self._about(self._model_for("fid_features"), "embed", image))

    @in_native_resolution(_native.unchanged)
    async def joint_image(self, image: Pixels) -> Vector:
        """The picture as a unit vector in the space it shares with texts."""
        return cast(Vector, await self._about(self._model_for("joint_embedder"), "embed_images", image))

    async def joint_text(self, text: str) -> Vector:
        """The text as a unit vector in the space it shares with pictures."""
        return cast(Vector, await self._answer(self._model_for("joint_embedder"), "embed_texts", (), text, text))

    @in_native_resolution(_native.rescale_map)
    async def explain(self, image: Pixels, towards: Vector) -> NDArray[np.float32]:
        """Where in the picture its similarity with a vector of the joint space comes from."""
        model, about = self._model_for("joint_embedder"), (pixel_hash(image), _numbers(towards))
        return cast(NDArray[np.float32], await self._answer(model, "explain", image.shape, (image, towards), *about))

    async def distance(self, before: Pixels, after: Pixels) -> float:
        """How different the two pictures look."""
        model, about = self._model_for("perceptual_distance"), (pixel_hash(before), pixel_hash(after))
        return cast(float, await self._answer(model, "compare", before.shape, (before, after), *about))

    @in_native_resolution(_native.unchanged)
    async def caption(self, image: Pixels) -> str:
        """A sentence that says what is in the picture."""
        return cast(str, await self._about(self._model_for("captioner"), "caption", image))

    async def similarity(self, text: str, other: str) -> float:
        """How alike two texts are in meaning, from -1 to 1."""
        model = self._model_for("text_similarity")
        one, two = await asyncio.gather(*(self._answer(model, "embed", (), item, item) for item in (text, other)))
        return float(np.clip(np.dot(_unit(one), _unit(two)), -1, 1))

    async def _find(self, model: CachedModel, image: Pixels, words: tuple[str, ...]) -> Detections:
        return cast(Detections, await self._second_look(model, image, "find", words, words))

    async def _second_look(self, model: CachedModel, image: Pixels, question: str, queries: Any, *about: object) -> Any:
        """The answer to a question about what a model kept of a picture."""
        picture = pixel_hash(image)
        known = model.recall(model.key(question, picture, *about))
        if known is not None:
            return known
        kept: Features = await self._about(model, "look", image)
        return await self._answer(model, question, image.shape, (kept, queries), picture, *about)

    async def _about(self, model: CachedModel, question: str, image: Pixels) -> Any:
        """The answer to a question about one whole picture."""
        return await self._answer(model, question, image.shape, image, pixel_hash(image))

    async def _answer(
        self, model: CachedModel, question: str, shape: tuple[int, ...], payload: Any, *about: object
    ) -> Any:
        """What was answered before, or what the model answers now."""
        key = model.key(question, *about)
        known = model.recall(key)
        return await self._ask(model, key, payload, model.group(question, shape)) if known is None else known

    def _detector(self) -> tuple[CachedModel, Detector]:
        model = self._model_for("detector")
        return model, cast(Detector, model.model)

    def _model_for(self, role: str) -> CachedModel:
        if role not in self._models:
            raise UnscorableError("no_model", f"no model plays the role '{role}'; choose one with --model {role}=NAME")
        return self._models[role]


def _numbers(array: NDArray[Any] | None) -> str:
    """The identity of an array that is part of a question."""
    plain = np.ascontiguousarray(array, np.float32)
    return f"{plain.shape} {hashlib.sha256(plain.data).hexdigest()}"


def _unit(vector: Any) -> Vector:
    """The vector at length 1; a network that saw nothing at all has no direction to compare."""
    length = float(np.linalg.norm(vector))
    if not length > 0:
        raise UnscorableError("not_detected", "the embedding has no direction, because all its numbers are zero")
    return np.asarray(vector / length, np.float32)


def crop(image: Pixels, box: Sequence[float]) -> Pixels:
    """The pixels of a picture in a box (left, top, right, bottom); raises `UnscorableError` when there are none.

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
    """The objects of several answers as one, most confident first."""
    parts = [Detections.none(), *detections]
    confidences = np.concatenate([part.confidences for part in parts])
    order = np.argsort(-confidences, kind="stable").tolist()
    phrases = [phrase for part in parts for phrase in part.phrases]
    words = [word for part in parts for word in part.words]
    places = [part.places for part in parts if len(part)]
    known = [position for position in places if position is not None]
    return Detections(
        np.concatenate([part.boxes for part in parts])[order],
        confidences[order],
        tuple(phrases[place] for place in order),
        tuple(words[place] for place in order),
        np.concatenate(known)[order] if known and len(known) == len(places) else None,
    )


def answered(detections: Detections, words: Mapping[str, str]) -> Detections:
    """The objects under the phrases as they were asked; one that answers two phrases is there for each.

    Args:
        found: objects under the model's words
        words: the model's word for each phrase

    """
    return together(_called(detections.of(word), phrase) for phrase, word in words.items())


def _called(detections: Detections, phrase: str) -> Detections:
    return replace(detections, phrases=(phrase,) * len(detections))
