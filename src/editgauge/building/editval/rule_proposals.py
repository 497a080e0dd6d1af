"""EditVal's classes and operations by rules: a small table, and what the annotations themselves tell."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib import resources
from typing import Any

import yaml

from editgauge.benchmarks.editval import TYPES
from editgauge.building.coco.annotations import Coco
from editgauge.core.errors import CannotTell
from editgauge.models.vocabulary import siblings

BY = "rules.v1"
ALL = "*"


@cache
def table() -> dict[str, dict[str, Any]]:
    """The table `rule_proposals.yaml`."""
    text = (resources.files(__package__) / "rule_proposals.yaml").read_text(encoding="utf-8")
    rules: dict[str, dict[str, Any]] = yaml.safe_load(text)
    return {kind: rules[kind] for kind in TYPES}


def classes_for(edit_type: str, coco: Coco, among: Iterable[str]) -> list[str]:
    """The classes for which an edit type makes sense."""
    suited = table()[edit_type]["classes"]
    return [each for each in among if ALL in suited or each in suited or coco.classes[each] in suited]


def operations_for(edit_type: str, class_: str, coco: Coco, number: int) -> list[str]:
    """What can be asked of a class, at most that many."""
    rule = table()[edit_type]
    by: dict[str, list[str]] = rule.get("by", {})
    operations = [*rule.get("operations", []), *by.get(class_, by.get(coco.classes[class_], []))]
    if operations:
        return operations[:number]
    if edit_type == "object_replacement":
        return _alike(class_, coco)[:number]
    company = [word for word, _ in coco.together.get(class_, {}).items()]
    often = sorted(company, key=lambda word: (-coco.together[class_][word], word)) or _alike(class_, coco)
    if edit_type == "positional_addition":
        places: list[str] = rule["places"]
        return [f"{word} {places[place % len(places)]}" for place, word in enumerate(often[:number])]
    return often[:number]


def _alike(class_: str, coco: Coco) -> list[str]:
    """WordNet's siblings among the classes, then those of the same supercategory."""
    try:
        beside = set(siblings(class_))
    except CannotTell:
        beside = set()
    others = [word for word in coco.classes if word != class_]
    near = [word for word in others if word in beside]
    return near + [word for word in others if word not in beside and coco.classes[word] == coco.classes[class_]]
