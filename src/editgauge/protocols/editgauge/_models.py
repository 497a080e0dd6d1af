"""The fitted models, written out as numbers: boosted trees whose answer is a sum over features, so it can be explained.

Where an answer has degrees the trees have no steps: near its threshold a question is answered partly both ways, so that
a little more of a feature moves the answer a little.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from editgauge.protocols.editgauge._features import FEATURES, fingerprint

if TYPE_CHECKING:
    from editgauge.protocols.editgauge._features import Question
    from editgauge.protocols.editgauge._request import Values

FILE = "model.json"
TREES: tuple[Question, ...] = ("disturbed", "flawed")
"""Answered by trees fitted on probes; the other questions by sums fitted on people's ratings and probes."""
RATINGS_FILE = "ratings_model.json"


@dataclass(frozen=True, slots=True)
class Node:
    """A place in a tree: an end, or a question about one feature."""

    value: float
    """What the tree says when one stops here."""
    feature: str = ""
    """Empty at an end."""
    low: float = 0.0
    """Up to which value of the feature all goes left."""
    high: float = 0.0
    """From which value on all goes right; in between, the more the nearer."""
    left: int = 0
    right: int = 0
    missing: int = 0
    """Where all goes when the feature is missing: the left or the right node."""

    def ways(self, value: float | None) -> tuple[tuple[int, float], ...]:
        """Where to go on from here, and with what share of the answer."""
        if value is None:
            return ((self.missing, 1.0),)
        right = min(1.0, max(0.0, (value - self.low) / (self.high - self.low)))
        return tuple((place, share) for place, share in ((self.left, 1 - right), (self.right, right)) if share)


@dataclass(frozen=True, slots=True)
class Prediction:
    """A probability, and what each feature added to it in units of log-odds."""

    value: float
    effects: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class TreeModel:
    """Trees for one question."""

    start: float
    """The log-odds before anything is known."""
    slope: float
    """By how much the trees' sum is stretched, so that what is said in n of 100 cases comes true n times."""
    trees: tuple[tuple[Node, ...], ...]

    def answer(self, values: Values) -> Prediction:
        """What the trees make of an item's features."""
        effects: dict[str, float] = {}
        for tree in self.trees:
            going = [(0, 1.0)]
            while going:
                place, share = going.pop()
                node = tree[place]
                if not node.feature:
                    continue
                ways = node.ways(values[node.feature])
                moved = sum(part * tree[way].value for way, part in ways) - node.value
                effects[node.feature] = effects.get(node.feature, 0.0) + self.slope * share * moved
                going += [(way, share * part) for way, part in ways]
        odds = self.start + sum(effects.values())
        return Prediction(1 / (1 + math.exp(-max(-30.0, min(30.0, odds)))), effects)


@dataclass(frozen=True, slots=True)
class Sum:
    """A logistic model: what each feature adds to the log-odds is its weight times its value."""

    intercept: float
    weights: Mapping[str, float]

    def answer(self, values: Values) -> Prediction:
        """The probability; a feature without a value adds nothing."""
        effects = {name: weight * value for name, weight in self.weights.items() if (value := values[name]) is not None}
        odds = self.intercept + sum(effects.values())
        return Prediction(1 / (1 + math.exp(-max(-30.0, min(30.0, odds)))), effects)


@dataclass(frozen=True, slots=True)
class FittedModels:
    """All that was fitted, and on what."""

    models: Mapping[Question, TreeModel | Sum]
    provenance: Mapping[str, Any]


@lru_cache(maxsize=1)
def fitted() -> FittedModels:
    """The models that come with the package."""
    folder = files(__package__)
    return read_fitted((folder / FILE).read_text("utf-8"), (folder / RATINGS_FILE).read_text("utf-8"))


def read_fitted(trees: str, sums: str) -> FittedModels:
    """Models from their JSON forms; refuses those of other features."""
    of_probes, of_ratings = json.loads(trees), json.loads(sums)
    models: dict[Question, TreeModel | Sum] = {}
    for question, names in FEATURES.items():
        content = (of_probes if question in TREES else of_ratings)["models"][question]
        if content["features"] != fingerprint(names):
            raise ValueError(f"the model of '{question}' was fitted on other features; fit it again (audits/fit)")
        models[question] = _read(content, names) if question in TREES else Sum(content["intercept"], content["weights"])
    return FittedModels(models, {"probes": of_probes["provenance"], "ratings": of_ratings["provenance"]})


def _read(fields: dict[str, Any], names: tuple[str, ...]) -> TreeModel:
    trees = tuple(tuple(_node(row, names) for row in tree) for tree in fields["trees"])
    return TreeModel(fields["start"], fields["slope"], trees)


def _node(row: list[float], names: tuple[str, ...]) -> Node:
    """An end is its value; a question adds the feature's place, low, high, left, right, and the way if missing."""
    if len(row) == 1:
        return Node(row[0])
    value, feature, low, high, left, right, missing = row
    return Node(value, names[int(feature)], low, high, int(left), int(right), int(missing))
