"""What a judge or the rules propose for a picture, each candidate on its own, and why one cannot be used."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import cast, get_args

from editgauge._util.fields import describe_unknown, format_value
from editgauge._util.phrases import read_position
from editgauge._vision.colors import rgb_of
from editgauge._vision.geometry import direction_score, middle
from editgauge.benchmarks.unibench._annotations import (
    AnnotatedImage,
    Instance,
    TaskType,
    forbidden_classes,
    forbidden_colors,
    template_problem,
)
from editgauge.builders.built import OmittedTask
from editgauge.builders.review.file import LONGEST_VALUE, FieldName, ReviewCandidate, ReviewPicture
from editgauge.errors import UnscorableError
from editgauge.types import PlaneRelation

FIELDS: dict[TaskType, tuple[FieldName, ...]] = {
    "change_class": ("class", "template"),
    "change_color": ("color", "template"),
    "move": ("place", "template"),
    "generate": ("class", "place", "template"),
}
"""What a task of each type is made of; it needs one of each."""
SIDES = ("left", "right", "above", "below")
THERE = 0.5
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
    """Why a candidate cannot be used, or None when it can: the rules of section 3.2, for machines and people alike."""
    if not proposal.value.strip() or len(proposal.value) > LONGEST_VALUE:
        return f"a {proposal.field} has 1 to {LONGEST_VALUE} signs, got {format_value(proposal.value)}"
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
            is_satisfied = instance is not None and _is_there(instance, by_id[proposal.anchor], proposal.value)
            return f"'{proposal.instance}' is {proposal.value} '{proposal.anchor}' already" if is_satisfied else None
        case "template":
            problem = template_problem(proposal.value, proposal.task)
            return f"the template {format_value(proposal.value)} {problem}" if problem else None
        case _:
            return f"a task of UniBench has no '{proposal.field}'"


def sorted_out(
    proposals: Iterable[Proposal], picture: ReviewPicture, classes: Sequence[str]
) -> tuple[tuple[Proposal, ...], tuple[OmittedTask, ...]]:
    """Those that can be used, and the others with the reason."""
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


def _is_there(instance: Instance, anchor: Instance, words: str) -> bool:
    """Return whether an object clearly lies where the words place it."""
    relation = relation_of(words)
    if relation is None or relation not in SIDES:
        return False
    start, end = (middle((box[0], box[1], box[2], box[3])) for box in (anchor.box, instance.box))
    return direction_score(start, end, relation, diagonal=0.0) >= THERE


def color_fault(word: str) -> str | None:
    """Why a word is no color that can be measured; None when it is one."""
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
