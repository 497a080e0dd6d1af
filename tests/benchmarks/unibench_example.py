"""An image with a cat and a suitcase, annotated for all four types of tasks."""

from __future__ import annotations

from typing import Any

from editgauge.benchmarks._unibench_annotations import FORMAT


def cat_on_suitcase() -> dict[str, Any]:
    """The example of figure 1, in our form."""
    cat = {
        "id": "cat",
        "class": "cat",
        "color": "gray",
        "box": [10, 10, 50, 50],
        "mask": [[10, 10, 49, 10, 49, 49, 10, 49]],
    }
    case = {"id": "suitcase", "class": "suitcase", "box": [5, 50, 91, 91], "mask": [[5, 50, 90, 50, 90, 90, 5, 90]]}
    left = {"anchor": "suitcase", "words": "to the left of", "relation": "left"}
    before = {"anchor": "suitcase", "words": "in front of"}
    tasks = [
        {
            "type": "change_class",
            "instance": "cat",
            "classes": ["dog", "owl"],
            "templates": ["A {target} on a suitcase"],
        },
        {"type": "change_color", "instance": "cat", "colors": ["black", "white"], "templates": ["A {color} cat"]},
        {"type": "move", "instance": "cat", "places": [left, before], "templates": ["A cat {position} a {anchor}"]},
        {
            "type": "generate",
            "classes": ["banana", "book"],
            "places": [{"anchor": "suitcase", "words": "above", "relation": "above"}],
            "templates": ["A {target} {position} a {anchor}"],
        },
    ]
    image = {
        "file": "1.jpg",
        "width": 100,
        "height": 100,
        "captions": ["A cat on a suitcase"],
        "instances": [cat, case],
    }
    return {"format": FORMAT, "images": [{**image, "tasks": tasks}]}
