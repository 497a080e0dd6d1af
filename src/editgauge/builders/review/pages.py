"""Template values of a review page."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

import cv2
import numpy as np

from editgauge._util.datasets import slug
from editgauge._util.masks import BoolMask
from editgauge.benchmarks._unibench_annotations import mask_of
from editgauge.builders._unibench_proposals import FIELDS as TASK_FIELDS
from editgauge.builders.review.file import CandidateGroup, Review, ReviewCandidate, ReviewPicture
from editgauge.builders.unibench import fits_picture

TASKS = {
    "change_class": "Change the class of {}",
    "change_color": "Change the color of {}",
    "move": "Move {}",
    "generate": "Add something",
}
FIELDS = {
    "class": "New class",
    "color": "New color",
    "place": "New place",
    "template": "Caption template",
    "suits": "Does this type of edit make sense for this class?",
    "operation": "Operation",
}


UNFIT_REMARK = "not asked for: it is so already, or the object is no longer in the picture"


def progress_of(candidates: Sequence[ReviewCandidate]) -> dict[str, int]:
    """Count decided candidates and all candidates."""
    return {"done": sum(candidate.status != "proposed" for candidate in candidates), "all": len(candidates)}


def group_page(review: Review, group: CandidateGroup, reviewer: str) -> dict[str, Any]:
    """Return the template values of the page of a group."""
    names = [item.name for item in review.groups]
    index = names.index(group.name)
    candidates = review.by_group()
    rows = [_row(candidate, reviewer, group) for candidate in candidates[group.name]]
    sections: dict[tuple[str, str | None], dict[str, list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        sections[row["candidate"].task, row["candidate"].instance][FIELDS[row["candidate"].field]].append(row)
    return {
        "kind": review.kind,
        "by": review.by,
        "group": group,
        "heading": PurePosixPath(group.name).name,
        "groups": [
            {"name": name, "short": PurePosixPath(name).name, **progress_of(candidates[name])} for name in names
        ],
        "before": names[index - 1] if index else None,
        "after": names[index + 1] if index + 1 < len(names) else None,
        "pictures": [{"picture": image, "outlines": outlines(image)} for image in group.pictures],
        "is_cropped": group.uncropped is not None,
        "sections": [
            {
                "title": _title(task, instance, group),
                "instance": instance,
                "shows": f"{slug(group.name)}-1" if review.kind == "editval" else instance,
                "fields": dict(fields),
            }
            for (task, instance), fields in sections.items()
        ],
        "rows": rows,
        "classes": [] if review.kind == "editval" else review.classes,
        "additions": [] if review.kind == "editval" else list(_additions(group)),
        "anchors": [element.id for element in group.pictures[0].instances],
        "progress": progress_of(candidates[group.name]),
        "whole": progress_of(review.candidates),
        "reviewer": reviewer,
    }


def _row(candidate: ReviewCandidate, reviewer: str, group: CandidateGroup) -> dict[str, Any]:
    mine = next((decision for decision in candidate.decisions if decision.by == reviewer), None)
    status = candidate.status if mine is None else mine.status
    value = mine.value if mine and mine.value else candidate.value
    anchor = mine.anchor if mine and mine.anchor else candidate.anchor
    return {
        "candidate": candidate,
        "is_mine": mine is not None,
        "status": status,
        "value": value,
        "anchor": anchor,
        "remarks": [
            *_remarks(candidate, reviewer, status),
            *([] if candidate.task not in TASKS or fits_picture(candidate, group.pictures[0]) else [UNFIT_REMARK]),
        ],
    }


def _additions(group: CandidateGroup) -> Iterator[dict[str, str]]:
    """Yield what a reviewer may add: a field of a task of an object."""
    for task, fields in TASK_FIELDS.items():
        for instance in [None] if task == "generate" else [item.id for item in group.pictures[0].instances]:
            title = _title(task, instance, group)
            of = f" ({instance})" if instance else ""
            for field in fields:
                yield {"what": " ".join(filter(None, (task, field, instance))), "title": f"{title}{of}: {field}"}


def _remarks(candidate: ReviewCandidate, reviewer: str, status: str) -> Iterator[str]:
    """Yield remarks on a candidate."""
    if status == "edited":
        yield f"was: {candidate.proposed}" + (f" {candidate.proposed_anchor}" if candidate.proposed_anchor else "")
    other_decisions = [
        f"{decision.by} {decision.status}" for decision in candidate.decisions if decision.by != reviewer
    ]
    if other_decisions:
        yield ", ".join(other_decisions)
    if candidate.added_by:
        yield f"added by {candidate.added_by}"
    if candidate.status != status:
        yield f"counts as {candidate.status}"


def _title(task: str, instance: str | None, group: CandidateGroup) -> str:
    if task not in TASKS:
        return task.replace("_", " ").capitalize()
    named = {item.id: item.class_ for item in group.pictures[0].instances}
    return TASKS[task].format(f"the {named.get(instance or '', instance)}")


DETAIL = 0.8
"""Pixels by which a line may depart from the mask."""


@dataclass(frozen=True, slots=True)
class Outline:
    """One object of a picture."""

    id: str
    label: str
    path: str
    """Of an SVG path, in pixels of the picture."""
    left: float
    top: float


def outlines(picture: ReviewPicture) -> list[Outline]:
    """Return the objects of an image, largest first, so that small ones lie on top."""
    shapes = [
        (instance, mask_of(instance.mask).render(picture.width, picture.height))
        for instance in picture.instances
    ]  # fmt: skip
    shapes.sort(key=lambda pair: -int(pair[1].sum()))
    return [
        Outline(item.id, f"{item.color} {item.class_}" if item.color else item.class_, path_of(mask), *item.box[:2])
        for item, mask in shapes
    ]


def path_of(mask: BoolMask) -> str:
    """Return the border of a mask as an SVG path.

    >>> path_of(np.pad(np.ones((2, 3), dtype=bool), 1))
    'M1 1L1 3L4 3L4 1Z'
    """
    doubled = np.kron(mask, np.ones((2, 2), dtype=np.uint8)).astype(np.uint8)
    contours, _ = cv2.findContours(doubled, cv2.RETR_LIST, cv2.CHAIN_APPROX_NONE)
    rings = (cv2.approxPolyDP(ring, 2 * DETAIL, closed=True).reshape(-1, 2) for ring in contours)
    return "".join(f"M{'L'.join(f'{_edge(x)} {_edge(y)}' for x, y in ring.tolist())}Z" for ring in rings)


def _edge(doubled: float) -> int:
    """Return the pixel border nearest to a position in the doubled mask."""
    return int(doubled + 1) // 2
