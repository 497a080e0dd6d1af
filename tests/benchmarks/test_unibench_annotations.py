"""Tasks drawn from UniBench annotations: the same for a seed, every candidate as likely, none that is forbidden."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from editgauge.benchmarks._unibench_annotations import Annotations, Drawn, described, draw, faults_of
from editgauge.benchmarks.unibench import shipped_annotations
from tests.benchmarks.unibench_example import cat_on_suitcase

CLASSES = ("cat", "dog", "bird", "teddy bear", "suitcase", "couch")
COLORS = ("black", "brown", "white", "gray")


def test_the_order_of_files_instances_tasks_and_candidates_changes_nothing() -> None:
    annotations = shipped_annotations()
    shuffled = described(annotations)
    chance = random.Random(3)
    chance.shuffle(shuffled["images"])
    for image in shuffled["images"]:
        for key in ("instances", "tasks"):
            chance.shuffle(image[key])
        for task in image["tasks"]:
            for key in {"classes", "colors", "places", "templates"} & set(task):
                chance.shuffle(task[key])
    one, other = (draw(each, seed=5, trials=2) for each in (annotations, Annotations.model_validate(shuffled)))
    assert [_fields(task) for task in one] == [_fields(task) for task in other]
    assert [_fields(task) for task in draw(annotations, seed=6, trials=2)] != [_fields(task) for task in one]
    fewer = annotations.model_copy(update={"images": annotations.images[:3]})
    files = {image.file for image in fewer.images}
    assert [_fields(t) for t in draw(fewer, 5)] == [_fields(t) for t in draw(annotations, 5) if t.image.file in files]


def _fields(task: Drawn) -> tuple[object, ...]:
    position = (task.position.anchor, task.position.words) if task.position else None
    return task.image.file, task.task.type, task.trial, task.template, task.target, position


@pytest.mark.slow
def test_every_candidate_is_as_likely_as_any_other() -> None:
    """Chi-square over 1,500 trials with a fixed seed, for every list of candidates of the shipped annotations."""
    drawn: dict[tuple[str, ...], Counter[object]] = {}
    possible: dict[tuple[str, ...], int] = {}
    annotations = shipped_annotations().model_copy(update={"images": shipped_annotations().images[:4]})
    for task in draw(annotations, seed=11, trials=1500):
        key = task.image.file, task.task.type, task.instance.id if task.instance else ""
        lists = {
            "target": (task.target, getattr(task.task, "classes", getattr(task.task, "colors", []))),
            "position": (
                (task.position.anchor, task.position.words) if task.position else None,
                getattr(task.task, "positions", []),
            ),
            "template": (task.template, task.task.templates),
        }
        for name, (chosen, candidates) in lists.items():
            drawn.setdefault((*key, name), Counter())[chosen] += 1
            possible[*key, name] = len(candidates)
    tested = [place for place, count in possible.items() if count > 1]
    assert len(tested) > 15
    for place in tested:
        assert len(drawn[place]) == possible[place]
        assert chisquare(list(drawn[place].values())).pvalue > 0.001, place


@st.composite
def _annotations(chosen: st.DrawFn) -> dict[str, Any]:
    """Annotations with candidates of any kind, forbidden ones among them."""
    told = cat_on_suitcase()
    cat, case = told["images"][0]["instances"]
    cat["class"], case["class"] = chosen(st.sampled_from(CLASSES)), chosen(st.sampled_from(CLASSES))
    cat["color"] = chosen(st.sampled_from(COLORS))
    some = st.lists(st.sampled_from(CLASSES), min_size=1, max_size=4, unique=True)
    change_class, change_color, _, generate = told["images"][0]["tasks"]
    change_class["classes"], generate["classes"] = chosen(some), chosen(some)
    change_color["colors"] = chosen(st.lists(st.sampled_from(COLORS), min_size=1, max_size=4, unique=True))
    return told


@given(_annotations(), st.integers(0, 2**32))
def test_no_forbidden_candidate_is_ever_drawn(told: dict[str, Any], seed: int) -> None:
    """Annotations that hold one are refused; from all others none can come."""
    instances = told["images"][0]["instances"]
    present = {instance["class"] for instance in instances}
    wishes = [word for task in told["images"][0]["tasks"] for word in task.get("classes", ())]
    colors = told["images"][0]["tasks"][1]["colors"]
    is_forbidden = bool(present & set(wishes)) or instances[0]["color"] in colors
    assert bool(faults_of(told)) == is_forbidden
    if is_forbidden:
        return
    for task in draw(Annotations.model_validate(told), seed):
        assert task.target not in {*present, instances[0]["color"]}
        assert task.anchor is None or task.anchor is not task.instance
