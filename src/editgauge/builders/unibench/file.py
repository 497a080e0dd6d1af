"""UniBench's annotations as they follow from a review: what was dropped is gone, what was edited is as edited."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from editgauge._util.files import write_text
from editgauge.benchmarks.unibench._annotations import (
    FORMAT,
    AnnotatedImage,
    Annotations,
    ChangeClass,
    ChangeColor,
    Generate,
    MoveTask,
    RelativePlace,
    Task,
    TaskType,
    described,
    forbidden_colors,
)
from editgauge.builders.review.file import CandidateGroup, Review, ReviewCandidate, ReviewPicture, one_per_line
from editgauge.builders.unibench.proposals import FIELDS, relation_of

FORMS: dict[TaskType, type[ChangeClass | ChangeColor | MoveTask | Generate]] = {
    "change_class": ChangeClass,
    "change_color": ChangeColor,
    "move": MoveTask,
    "generate": Generate,
}
PLURAL = {"class": "classes", "color": "colors", "place": "places", "template": "templates"}


def annotations_of(review: Review) -> Annotations | None:
    """Return the annotations, or None if none is left; a task needs a candidate of every kind."""
    candidates = review.by_group()
    images = [image for group in review.groups if (image := _image(group, candidates[group.name])) is not None]
    if not images:
        return None
    people = sorted({decision.by for candidate in review.candidates for decision in candidate.decisions})
    by = f" by {', '.join(people)}" if people else ""
    about = f"Drafted by {review.by}; {review.reviewed} of {len(review.candidates)} candidates reviewed{by}."
    return Annotations.model_construct(format=FORMAT, about=about, images=images)


def write_unibench(review: Review, file: Path) -> None:
    """Write the annotations, or remove the file if none is left.

    Each candidate was checked when it was proposed or edited, so that the whole need not be checked at every answer.
    """
    annotations = annotations_of(review)
    if annotations is None:
        file.unlink(missing_ok=True)
        return
    write_text(file, one_per_line(described(annotations)))


def _image(group: CandidateGroup, candidates: Iterable[ReviewCandidate]) -> AnnotatedImage | None:
    by_task: dict[tuple[str, str | None], list[ReviewCandidate]] = defaultdict(list)
    (picture,) = group.pictures
    for candidate in candidates:
        if candidate.is_kept and fits_picture(candidate, picture):
            by_task[candidate.task, candidate.instance].append(candidate)
    tasks = [
        task for (kind, instance), of_task in by_task.items() if (task := _task(kind, instance, of_task)) is not None
    ]
    if not tasks:
        return None
    # Not checked again: both were when they were read, and run lengths are long.
    fields: dict[str, Any] = {name: getattr(picture, name) for name in type(picture).model_fields if name != "number"}
    return AnnotatedImage.model_construct(**fields, tasks=tasks)


def fits_picture(candidate: ReviewCandidate, picture: ReviewPicture) -> bool:
    """Is there still something to ask for, after a reviewer cropped the picture or corrected a color?"""
    by_id = {instance.id: instance for instance in picture.instances}
    if not {candidate.instance, candidate.anchor} <= {None, *by_id}:
        return False
    return candidate.field != "color" or not forbidden_colors([candidate.value], by_id.get(candidate.instance or ""))


def _task(kind: str, instance: str | None, candidates: list[ReviewCandidate]) -> Task | None:
    form = next(form for form in FORMS if form == kind)
    parts: dict[str, Any] = {"type": kind, **({"instance": instance} if instance else {})}
    for field in FIELDS[form]:
        distinct = {_spelled(candidate): candidate for candidate in reversed(candidates) if candidate.field == field}
        if not distinct:
            return None
        ordered = reversed(distinct.values())
        parts[PLURAL[field]] = [_place(item) if field == "place" else item.value for item in ordered]
    return FORMS[form].model_validate(parts)


def _spelled(candidate: ReviewCandidate) -> str:
    """Return a key that is equal for equivalent candidates."""
    return f"{candidate.anchor} {candidate.value}".casefold().replace("grey", "gray")


def _place(candidate: ReviewCandidate) -> RelativePlace:
    return RelativePlace(anchor=candidate.anchor or "", words=candidate.value, relation=relation_of(candidate.value))
