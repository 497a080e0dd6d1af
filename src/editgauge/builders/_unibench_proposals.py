"""Propose UniBench edits by rules or with a judge."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar, cast, get_args

from pydantic import BaseModel, Field

from editgauge._util.coco import Coco
from editgauge._util.fields import describe_unknown, format_value
from editgauge._util.phrases import read_position
from editgauge._vision.colors import rgb_of
from editgauge._vision.geometry import direction_score, middle
from editgauge.benchmarks._unibench_annotations import (
    AnnotatedImage,
    Instance,
    TaskType,
    chance_by_key,
    forbidden_classes,
    forbidden_colors,
    template_problem,
)
from editgauge.builders._common import Ask, OmittedTask, OpenPrompt, similar_classes
from editgauge.builders._unibench_scenes import (
    UNPAINTED,
    EditableScene,
    mention_of,
    plain_caption,
    with_addition,
    with_color,
    with_place,
    with_slot,
)
from editgauge.builders.review.file import MAX_VALUE_LENGTH, FieldName, ReviewCandidate, ReviewPicture
from editgauge.errors import UnscorableError
from editgauge.judges import LabeledImage, NoAnswerError, Question
from editgauge.judges._questions import Structured
from editgauge.judges.prompts import RenderedPrompt
from editgauge.recipes import COLORS
from editgauge.types import PlaneRelation, Relation

FIELDS: dict[TaskType, tuple[FieldName, ...]] = {
    "change_class": ("class", "template"),
    "change_color": ("color", "template"),
    "move": ("place", "template"),
    "generate": ("class", "place", "template"),
}
"""What a task of each type is made of; it needs one of each."""
SIDES = ("left", "right", "above", "below")
CURRENT_RELATIONS = 0.5
"""Minimum `direction_score` at which an object is in that direction already: 45 degrees off."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """One candidate for one task."""

    task: TaskType
    instance: str | None
    """None for what is generated."""
    field: FieldName
    value: str
    anchor: str | None = None

    @property
    def description(self) -> str:
        """The proposal in a few words, for a report."""
        whose = f" of {self.instance}" if self.instance else ""
        return f"{self.task}{whose}, {self.field} {format_value(self.value)}" + (
            f" {self.anchor}" if self.anchor else ""
        )


def fault_of(proposal: Proposal, picture: ReviewPicture, classes: Sequence[str]) -> str | None:
    """Return why a candidate is invalid by the rules of section 3.2, or None."""
    if not proposal.value.strip() or len(proposal.value) > MAX_VALUE_LENGTH:
        return f"a {proposal.field} has 1 to {MAX_VALUE_LENGTH} signs, got {format_value(proposal.value)}"
    by_id = {instance.id: instance for instance in picture.instances}
    if proposal.instance is not None and proposal.instance not in by_id:
        return describe_unknown("instance", proposal.instance, by_id)
    image = AnnotatedImage.model_construct(instances=picture.instances)
    match proposal.field:
        case "class":
            if proposal.value not in classes:
                return f"'{proposal.value}' is not in the class list"
            return f"'{proposal.value}' is in the image already" if forbidden_classes([proposal.value], image) else None
        case "color":
            instance = by_id.get(proposal.instance or "")
            if forbidden_colors([proposal.value], instance):
                return f"'{proposal.value}' is the color of '{proposal.instance}' already"
            return color_fault(proposal.value)
        case "place":
            if proposal.anchor is None or proposal.anchor not in by_id:
                return describe_unknown("instance", proposal.anchor or "", by_id)
            if proposal.anchor == proposal.instance:
                return f"'{proposal.anchor}' cannot move relative to itself"
            instance = by_id.get(proposal.instance or "")
            is_satisfied = instance is not None and _already_holds(instance, by_id[proposal.anchor], proposal.value)
            return f"'{proposal.instance}' is {proposal.value} '{proposal.anchor}' already" if is_satisfied else None
        case "template":
            problem = template_problem(proposal.value, proposal.task)
            return f"the template {format_value(proposal.value)} {problem}" if problem else None
        case _:
            return f"a task of UniBench has no '{proposal.field}'"


def sorted_out(
    proposals: Iterable[Proposal], picture: ReviewPicture, classes: Sequence[str]
) -> tuple[tuple[Proposal, ...], tuple[OmittedTask, ...]]:
    """Split proposals into valid ones and omitted ones with reasons."""
    judged = [(proposal, fault_of(proposal, picture, classes)) for proposal in dict.fromkeys(proposals)]
    wrong = (OmittedTask(f"{picture.file}: {element.description}", fault) for element, fault in judged if fault)
    return tuple(item for item, fault in judged if not fault), tuple(wrong)


def relation_of(words: str) -> PlaneRelation | None:
    """Return the relation that a position denotes in the image plane.

    >>> relation_of("to the left of"), relation_of("in front of"), relation_of("on top of")
    ('left', None, 'on')
    """
    try:
        return cast("PlaneRelation", read_position(f"{words} it").relation)
    except UnscorableError:
        return None


def _already_holds(instance: Instance, anchor: Instance, words: str) -> bool:
    """Return whether an object clearly lies where the words place it."""
    relation = relation_of(words)
    if relation is None or relation not in SIDES:
        return False
    start, end = (middle((box[0], box[1], box[2], box[3])) for box in (anchor.box, instance.box))
    return direction_score(start, end, relation, diagonal=0.0) >= CURRENT_RELATIONS


def color_fault(word: str) -> str | None:
    """Return why a word is no measurable color, or None."""
    try:
        rgb_of(word)
    except UnscorableError as unable:
        return unable.detail
    return None


def candidates_of(proposals: Iterable[Proposal], group: str) -> list[ReviewCandidate]:
    """Convert proposals to review candidates without duplicates."""
    counts: Counter[str] = Counter()
    candidates = []
    for proposal in dict.fromkeys(proposals):
        name = "/".join(part for part in (group, proposal.instance or "", proposal.task, proposal.field) if part)
        counts[name] += 1
        candidates.append(
            ReviewCandidate(
                id=f"{name}/{counts[name]}",
                group=group,
                task=proposal.task,
                instance=proposal.instance,
                field=proposal.field,
                proposed=proposal.value,
                proposed_anchor=proposal.anchor,
                value=proposal.value,
                anchor=proposal.anchor,
            )
        )
    return candidates


def proposal_of(candidate: ReviewCandidate, value: str, anchor: str | None) -> Proposal:
    """Return the candidate with other words, to be checked."""
    task = next(kind for kind in get_args(TaskType) if kind == candidate.task)
    return Proposal(task, candidate.instance, candidate.field, value, anchor)


PROMPTS = ("unibench_annotation", "unibench_correction")
SLOTS = {name: f"{{{name}}}" for name in ("target", "color", "position", "anchor")}
"""What the judge is to write with braces must come through the prompt as it is."""
MAX_CORRECTIONS = 2
"""How often a draft that does not fit is asked for again; what is wrong even then is left out."""
REPAIRABLE_FAULTS = ("unparsable", "truncated")


class DraftPlace(BaseModel, extra="forbid"):
    """A position relative to an anchor."""

    anchor: str
    words: str


class DraftInstance(BaseModel, extra="forbid"):
    """Response of a judge: what one object could become."""

    instance: str
    color: str | None = None
    classes: list[str] = []
    colors: list[str] = []
    positions: list[DraftPlace] = Field([], alias="places")
    class_templates: list[str] = []
    color_templates: list[str] = []
    move_templates: list[str] = []


class DraftGenerate(BaseModel, extra="forbid"):
    """Response of a judge: what could be added."""

    classes: list[str] = []
    positions: list[DraftPlace] = Field([], alias="places")
    templates: list[str] = []


class TaskProposal(BaseModel, extra="forbid"):
    """Response of a judge."""

    instances: list[DraftInstance]
    generate: DraftGenerate | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Drafted:
    """Result of asking a judge about one image."""

    scene: EditableScene
    """With the colors that the judge sees."""
    proposals: tuple[Proposal, ...]
    left_out: tuple[OmittedTask, ...]
    """What was wrong with the last draft."""


async def draft(scene: EditableScene, classes: Sequence[str], ask: Ask, prompt: OpenPrompt, number: int) -> Drafted:
    """Ask a judge for `number` candidates of each kind; raise `NoAnswerError`."""
    first, again = (prompt(name) for name in PROMPTS)
    request = first.render(**_slots(scene, classes, number), **SLOTS)
    question = _question(request, scene)
    for correction in range(MAX_CORRECTIONS + 1):
        try:
            proposal: TaskProposal = (await ask(question)).value
        except NoAnswerError as unable:
            if unable.fault not in REPAIRABLE_FAULTS or correction == MAX_CORRECTIONS:
                raise
            written, faults = "(nothing that could be read)", [unable.message]
        else:
            corrected = _with_colors(scene, proposal)
            fit, wrong = sorted_out(_proposals(proposal, scene), corrected.picture, classes)
            wrong += tuple(_unknown_objects(proposal, scene))
            if not wrong or correction == MAX_CORRECTIONS:
                return Drafted(corrected, fit, wrong)
            written, faults = (
                json.dumps(proposal.model_dump(by_alias=True), ensure_ascii=False),
                [item.why for item in wrong],
            )
        lines = "\n".join(f"- {fault}" for fault in dict.fromkeys(faults))
        question = _question(again.render(asked=request.text, draft=written, faults=lines), scene)
    raise AssertionError("the last round returns or raises")


def _question(words: RenderedPrompt, scene: EditableScene) -> Question[TaskProposal]:
    return Question(words=words, form=Structured(TaskProposal), images=(LabeledImage("The picture:", scene.pixels),))


def _slots(scene: EditableScene, classes: Sequence[str], number: int) -> dict[str, object]:
    objects = [f"{name} ({_where(scene, name)})" for name in scene.editable]
    return {
        "number": number,
        "classes": ", ".join(classes),
        "objects": "; ".join(objects),
        "present": ", ".join(sorted(scene.classes)),
        "caption": json.dumps(scene.caption or "none", ensure_ascii=False),
    }


def _where(scene: EditableScene, name: str) -> str:
    """Describe class and position of an object in percent of the image."""
    instance = scene.instance(name)
    left, top, right, bottom = (round(100 * side / scene.picture.width) for side in instance.box)
    return f"{instance.class_}, from {left}% to {right}% across and {top}% to {bottom}% down"


def _with_colors(scene: EditableScene, proposal: TaskProposal) -> EditableScene:
    """Return the scene with the colors that the judge reports."""
    colors = {
        instance.instance: instance.color
        for instance in proposal.instances
        if instance.color and instance.color.strip()
    }
    instances = [
        item.model_copy(update={"color": colors[item.id].strip()}) if item.id in colors else item
        for item in scene.picture.instances
    ]
    return replace(scene, picture=scene.picture.model_copy(update={"instances": instances}))


def _unknown_objects(proposal: TaskProposal, scene: EditableScene) -> Iterator[OmittedTask]:
    for instance in proposal.instances:
        if instance.instance not in scene.editable:
            yield OmittedTask(
                f"{scene.picture.file}: {instance.instance}", f"'{instance.instance}' is no object of the list"
            )


def _proposals(proposal: TaskProposal, scene: EditableScene) -> Iterator[Proposal]:
    for draft in proposal.instances:
        name = draft.instance
        if name in scene.editable:
            yield from (Proposal("change_class", name, "class", word) for word in _texts(draft.classes))
            yield from (Proposal("change_class", name, "template", text) for text in _texts(draft.class_templates))
            yield from (Proposal("change_color", name, "color", word) for word in _texts(draft.colors))
            yield from (Proposal("change_color", name, "template", text) for text in _texts(draft.color_templates))
            yield from (Proposal("move", name, "place", *_position(position)) for position in draft.positions)
            yield from (Proposal("move", name, "template", text) for text in _texts(draft.move_templates))
    if proposal.generate:
        addition = proposal.generate
        yield from (Proposal("generate", None, "class", word) for word in _texts(addition.classes))
        yield from (Proposal("generate", None, "place", *_position(position)) for position in addition.positions)
        yield from (Proposal("generate", None, "template", text) for text in _texts(addition.templates))


def _position(position: DraftPlace) -> tuple[str, str | None]:
    return " ".join(position.words.split()), position.anchor


def _texts(words: Sequence[str]) -> list[str]:
    """Normalize blanks and drop empty texts."""
    return [" ".join(word.split()) for word in words if word.strip()]


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
SIDE_PHRASES: dict[Relation, str] = {
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
    """Propose at most `number` candidates of each kind for every possible task."""
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
        for words in map(SIDE_PHRASES.__getitem__, _free_sides(scene.instance(name), new_side, new_side, scene))
    ]
    if often and positions:
        yield from (Proposal("generate", None, "class", word) for word in often[:number])
        yield from positions
        yield Proposal("generate", None, "template", with_addition(caption))


def _sides(instance: Instance, anchor: Instance, scene: EditableScene) -> list[str]:
    """Return the sides of an anchor with room where the object does not lie yet."""
    free = _free_sides(anchor, instance.box[2] - instance.box[0], instance.box[3] - instance.box[1], scene)
    start, end = scene.centers[anchor.id], scene.centers[instance.id]
    return [SIDE_PHRASES[side] for side in free if direction_score(start, end, side, diagonal=0.0) == 0]


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
        """Draw at most `number` items, in their original order."""
        indices = self._chance.permutation(len(words))[:number]
        return [words[index] for index in sorted(indices)]

    def first(self, ranked: Sequence[Sequence[str]], number: int) -> list[str]:
        """Draw at most `number` items, those of earlier lists first."""
        selected: list[str] = []
        for words in ranked:
            selected += self.some(words, number - len(selected))
        return selected
