"""Drawn tasks as edits: their words, regions, and what the protocol needs to know of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from editgauge._util.datasets import Ids
from editgauge._util.images import ImageFile
from editgauge._util.masks import Dilated, Mask
from editgauge._util.text import with_article
from editgauge.benchmarks.unibench._annotations import (
    ChangeClass,
    ChangeColor,
    Drawn,
    Instance,
    filled,
    mask_of,
    places_of,
    targets_of,
)
from editgauge.edit_types import vocabulary
from editgauge.recipes import MARGIN, Recipe
from editgauge.types import Edit, Position

EXTRA = "unibench"
"""Under this key of an edit's extras lies what was drawn, from what, and which objects it is about."""
TRIAL = "trial"
"""And under this one, to which of several sets of tasks it belongs; `analysis.trials` reads it."""
RecipeOf = Callable[[Drawn], Recipe | None]
"""How the right outcome of a task can be made, where that is known."""


def as_edits(tasks: Sequence[Drawn], pictures: Mapping[str, ImageFile], recipe_of: RecipeOf) -> tuple[Edit, ...]:
    """An edit for every task. Ids name the trial where there are several."""
    ids = Ids()
    several = any(task.trial > 1 for task in tasks)
    return tuple(
        _edit(task, ids.give(*_id_parts(task, several)), pictures[task.image.file], recipe_of(task)) for task in tasks
    )


def _id_parts(task: Drawn, several: bool) -> list[str]:
    whose = [task.instance.id] if task.instance else []
    return [PurePosixPath(task.image.file).stem, *whose, task.task.type, *([f"trial{task.trial}"] if several else [])]


def _edit(task: Drawn, name: str, source: ImageFile, recipe: Recipe | None) -> Edit:
    relation = task.place.relation if task.place else None
    captions = task.image.captions
    return Edit(
        id=name,
        source=source,
        type=vocabulary("unibench")[task.task.type],
        instruction=_instruction(task),
        subject=task.instance.class_ if task.instance else task.name,
        from_=_before(task),
        to=_after(task),
        position=Position(relation, task.anchor.class_) if relation and task.anchor else None,
        source_caption=captions[0] if captions else None,
        target_caption=filled(task.template, _words(task)),
        mask=_region(task, recipe),
        objects={instance.id: mask_of(instance.mask) for instance in task.image.instances},
        recipe=recipe,
        groups={"task": task.task.type},
        extras={EXTRA: _fields(task), TRIAL: task.trial},
    )


def _instruction(task: Drawn) -> str:
    at = f"{task.place.words} the {task.anchor.class_}" if task.place and task.anchor else ""
    if task.instance is None:
        return f"Add {with_article(task.name)} {at}."
    own = task.instance.class_
    if isinstance(task.task, ChangeClass):
        return f"Replace the {own} with {with_article(task.name)}."
    if isinstance(task.task, ChangeColor):
        return f"Make the {own} {task.target}."
    return f"Move the {own} {at}."


def _before(task: Drawn) -> str | None:
    if task.instance is None:
        return None
    return {"change_class": task.instance.class_, "change_color": task.instance.color}.get(task.task.type)


def _after(task: Drawn) -> str:
    if task.target is None and task.place and task.anchor:
        return f"{task.place.words} the {task.anchor.class_}"
    return str(task.target)


def _words(task: Drawn) -> dict[str, str]:
    """What comes to stand in the slots of the caption."""
    words = {"target": task.name}
    if isinstance(task.task, ChangeColor):
        words["color"] = str(task.target)
    if task.place and task.anchor:
        words |= {"position": task.place.words, "anchor": task.anchor.class_}
    return words


def _region(task: Drawn, recipe: Recipe | None) -> Mask | None:
    """What the edit may change. Where a moved or new object comes to lie is up to the method, so there is none."""
    if recipe is not None:
        return recipe.footprint()
    if task.instance is None or task.place is not None:
        return None
    return Dilated(mask_of(task.instance.mask), MARGIN)


def _fields(task: Drawn) -> dict[str, Any]:
    """Plain values, for they are written into runs."""
    fields: dict[str, Any] = {"task": task.task.type, "template": task.template, "name": task.name}
    if task.instance:
        fields |= {"object": task.instance.id, "class": task.instance.class_}
        fields |= {"color": task.instance.color} if task.instance.color else {}
    if task.target:
        fields |= {"target": task.target, "candidates": sorted(targets_of(task.task))}
    if task.place and task.anchor:
        fields |= {"anchor": task.anchor.id, "anchor_class": task.anchor.class_, "words": task.place.words}
        fields |= {"relation": task.place.relation} if task.place.relation else {}
        fields["anchor_others"] = _others(task, task.anchor.class_, task.anchor)
        fields["places"] = [[_class_of(place.anchor, task), place.words] for place in places_of(task.task)]
    fields["classes"] = sorted({instance.class_ for instance in task.image.instances})
    fields["others"] = _others(task, task.name, task.instance)
    return fields


def _others(task: Drawn, name: str, meant: Instance | None) -> list[str]:
    """Objects of the same class that are not meant: they must not be taken for the one that is."""
    return [instance.id for instance in task.image.instances if instance.class_ == name and instance is not meant]


def _class_of(anchor: str, task: Drawn) -> str:
    return next(instance.class_ for instance in task.image.instances if instance.id == anchor)
