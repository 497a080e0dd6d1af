"""Candidates by rules: the class list, WordNet, what is seen together, the words of the caption, the room there is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

from editgauge._util.coco import Coco
from editgauge._vision.geometry import direction_score
from editgauge.benchmarks.unibench._annotations import Instance, chance_by_key
from editgauge.builders.built import similar_classes
from editgauge.builders.unibench.captions import (
    mention_of,
    plain_caption,
    with_addition,
    with_color,
    with_place,
    with_slot,
)
from editgauge.builders.unibench.proposals import Proposal
from editgauge.builders.unibench.scenes import UNPAINTED, EditableScene
from editgauge.recipes import COLORS
from editgauge.types import Relation

T = TypeVar("T")
BY = "rules.v2"
ALIKE = {
    "red": ("orange", "pink"),
    "orange": ("red", "brown", "golden", "yellow"),
    "yellow": ("golden", "orange"),
    "green": (),
    "turquoise": ("blue", "green"),
    "blue": ("purple",),
    "purple": ("blue", "pink"),
    "pink": ("red", "purple"),
    "brown": ("orange", "golden", "black"),
    "black": ("gray", "brown"),
    "white": ("gray",),
    "gray": ("white", "black"),
}
"""Colors that one person calls so and the next otherwise: a change between them would hardly be seen."""
SIDES: dict[Relation, str] = {
    "left": "to the left of",
    "right": "to the right of",
    "above": "above",
    "below": "below",
}
"""Places that can be judged in the picture's plane; 'behind' or 'next to' cannot, so rules propose none of them."""
ROOM: dict[Relation, float] = {"left": 0.8, "right": 0.8, "above": 0.5, "below": 0.5}
"""Of an object's width or height, that must be free next to an anchor; what lies above another may overlap it."""
NEW_WIDTH = 0.15
"""Of the picture: how wide and high something new is taken to be."""


def propose(scene: EditableScene, coco: Coco, number: int, seed: int) -> list[Proposal]:
    """At most that many candidates of each kind for every task that the scene allows."""
    proposals = [
        item for name in scene.editable for item in _of_instance(scene, scene.instance(name), coco, number, seed)
    ]
    return [*proposals, *_generate(scene, coco, number)]


def _of_instance(scene: EditableScene, instance: Instance, coco: Coco, number: int, seed: int) -> Iterator[Proposal]:
    caption = scene.caption or plain_caption([scene.instance(name).class_ for name in scene.editable])
    mention = mention_of(caption, instance.class_, tuple(coco.classes))
    anchors = [scene.instance(name) for name in scene.editable if name != instance.id]
    drawn = _Drawing(seed, scene.picture.number, instance.id)
    words = drawn.first(similar_classes(coco, instance.class_, scene.classes), number)
    if words and mention:
        yield from (Proposal("change_class", instance.id, "class", word) for word in words)
        yield Proposal("change_class", instance.id, "template", with_slot(caption, mention))
    if instance.class_ not in UNPAINTED and mention:
        other = [
            item for item in COLORS if instance.color and item not in (instance.color, *ALIKE.get(instance.color, ()))
        ]
        yield from (Proposal("change_color", instance.id, "color", color) for color in drawn.some(other, number))
        yield Proposal("change_color", instance.id, "template", with_color(caption, mention))
    positions = [
        Proposal("move", instance.id, "place", words, anchor.id)
        for anchor in anchors
        for words in _sides(instance, anchor, scene)
    ]
    if positions:
        mentions = [
            anchor_mention
            for anchor in anchors
            if (anchor_mention := mention_of(caption, anchor.class_, tuple(coco.classes)))
        ]
        template = with_place(caption, mention, mentions) if mention else None
        yield from drawn.some(positions, number)
        yield Proposal("move", instance.id, "template", template or "A {target} {position} the {anchor}")


def _generate(scene: EditableScene, coco: Coco, number: int) -> Iterator[Proposal]:
    """Propose objects that often occur with those in the scene, next to a unique one."""
    caption = scene.caption or plain_caption([scene.instance(name).class_ for name in scene.editable])
    present = {
        word: sum(coco.together[class_name][word] for class_name in scene.classes if class_name in coco.together)
        for word in coco.classes
    }
    free = [word for word in coco.classes if word not in scene.classes]
    kinds = {coco.classes[class_name] for class_name in scene.classes if class_name in coco.classes}
    often = sorted(
        (word for word in free if present[word] or coco.classes[word] in kinds), key=lambda word: -present[word]
    )
    new_side = NEW_WIDTH * scene.picture.width
    positions = [
        Proposal("generate", None, "place", words, name)
        for name in scene.editable
        for words in map(SIDES.__getitem__, _free_sides(scene.instance(name), new_side, new_side, scene))
    ]
    if often and positions:
        yield from (Proposal("generate", None, "class", word) for word in often[:number])
        yield from positions
        yield Proposal("generate", None, "template", with_addition(caption))


def _sides(instance: Instance, anchor: Instance, scene: EditableScene) -> list[str]:
    """Return the sides of an anchor with room where the object does not lie yet."""
    free = _free_sides(anchor, instance.box[2] - instance.box[0], instance.box[3] - instance.box[1], scene)
    start, end = scene.centers[anchor.id], scene.centers[instance.id]
    return [SIDES[side] for side in free if direction_score(start, end, side, diagonal=0.0) == 0]


def _free_sides(anchor: Instance, width: float, height: float, scene: EditableScene) -> list[Relation]:
    left, top, right, bottom = anchor.box
    room: dict[Relation, float] = {
        "left": left / width,
        "right": (scene.picture.width - right) / width,
        "above": top / height,
        "below": (scene.picture.height - bottom) / height,
    }
    return [side for side, free in room.items() if free >= ROOM[side]]


class _Drawing:
    """Chance that depends on the seed, the picture and the object alone."""

    def __init__(self, *key: object) -> None:
        self._chance = chance_by_key(*key)

    def some(self, words: Sequence[T], number: int) -> list[T]:
        """At most that many of them, in their own order."""
        indices = self._chance.permutation(len(words))[:number]
        return [words[index] for index in sorted(indices)]

    def first(self, ranked: Sequence[Sequence[str]], number: int) -> list[str]:
        """At most that many of them, those of the first list before those of the next."""
        selected: list[str] = []
        for words in ranked:
            selected += self.some(words, number - len(selected))
        return selected
