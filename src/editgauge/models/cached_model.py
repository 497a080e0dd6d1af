"""A model at work: asked in batches, and everything it answers is kept."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Hashable, Sequence
from dataclasses import fields
from typing import Any, NamedTuple

import numpy as np

from editgauge import __version__
from editgauge._util import profiling
from editgauge._util.batching import Request
from editgauge.models.answers import ClassMap, ClassScores, Detections, Faces, Patches, Poses, TextLines
from editgauge.models.cache.memory import Memory
from editgauge.models.cache.packing import Answer, size_of
from editgauge.models.cache.store import Store, TwoLevels
from editgauge.models.interfaces import Model

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
