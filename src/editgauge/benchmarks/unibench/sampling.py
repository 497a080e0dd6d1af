"""Tasks drawn by chance from annotated candidates: the same seed gives the same tasks, whatever the order of files."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from editgauge.benchmarks.unibench.annotations import (
    AnnotatedImage,
    Annotations,
    ChangeClass,
    ChangeColor,
    Generate,
    Instance,
    MoveTask,
    RelativePlace,
    Task,
)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Drawn:
    """One task: what was drawn, and what it was drawn from."""

    image: AnnotatedImage
    task: Task
    trial: int
    """Which of the task sets it belongs to, counted from 1."""
    template: str
    instance: Instance | None = None
    """The object to edit; none where one is to be generated."""
    target: str | None = None
    """The class or color that was drawn."""
    place: RelativePlace | None = None
    anchor: Instance | None = None

    @property
    def name(self) -> str:
        """The class of the object that should be seen after the edit."""
        if self.instance is None or isinstance(self.task, ChangeClass):
            return str(self.target)
        return self.instance.class_


def draw(annotations: Annotations, seed: int, trials: int = 1) -> list[Drawn]:
    """One task per image, editable instance and type, that many times over; sorted by trial and file.

    What is drawn for an instance depends on the seed, the trial, the file's name, the instance and the type alone.
    """
    images = sorted(annotations.images, key=lambda image: image.file)
    return [drawn for trial in range(1, trials + 1) for image in images for drawn in _of_image(image, seed, trial)]


def _of_image(image: AnnotatedImage, seed: int, trial: int) -> Iterator[Drawn]:
    order = {instance.id: place for place, instance in enumerate(sorted(image.instances, key=lambda each: each.id))}
    for task in sorted(image.tasks, key=lambda each: (order.get(instance_id(each), len(order)), each.type)):
        yield _drawn(image, task, trial, chance_by_key(seed, trial, image.file, instance_id(task), task.type))


def instance_id(task: Task) -> str:
    """The id of the instance a task edits; empty where it edits none."""
    return "" if isinstance(task, Generate) else task.instance


def _drawn(image: AnnotatedImage, task: Task, trial: int, chance: np.random.Generator) -> Drawn:
    by_id = {instance.id: instance for instance in image.instances}
    target = _one(targets_of(task), chance)
    place = _one(places_of(task), chance, _in_words)
    template = _one(task.templates, chance)
    return Drawn(
        image,
        task,
        trial,
        str(template),
        by_id.get(instance_id(task)),
        target,
        place,
        by_id[place.anchor] if place else None,
    )


def targets_of(task: Task) -> Sequence[str]:
    """The classes or colors a task is drawn from; none where the object stays what it is."""
    if isinstance(task, ChangeClass | Generate):
        return task.classes
    return task.colors if isinstance(task, ChangeColor) else ()


def places_of(task: Task) -> Sequence[RelativePlace]:
    """The places a task is drawn from; none where the object stays at its own."""
    return task.places if isinstance(task, MoveTask | Generate) else ()


def _in_words(place: RelativePlace) -> str:
    return f"{place.anchor}\0{place.words}"


def _one(candidates: Iterable[T], chance: np.random.Generator, spelled: Callable[[T], str] = str) -> T | None:
    """One of them, each as likely as any other; which one does not depend on their order."""
    ordered = sorted(candidates, key=spelled)
    return ordered[int(chance.integers(len(ordered)))] if ordered else None


def chance_by_key(*key: object) -> np.random.Generator:
    """Random numbers that are the same on every machine and differ as soon as a part of the key does."""
    digest = hashlib.sha256("\0".join(map(str, key)).encode("utf-8", "surrogatepass")).digest()
    return np.random.default_rng(np.frombuffer(digest, dtype="<u4").tolist())
