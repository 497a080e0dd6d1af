"""Fitting the protocol `editgauge`: on the tuning half alone, and written out as plain numbers."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib.resources import files
from typing import Any

import numpy as np
import pytest

from editgauge.audits.fit.features import ProbeFeatures
from editgauge.audits.fit.fit import fit, joined, truth_of_disturbed, truth_of_done, truth_of_flawed
from editgauge.audits.fit.trees import grown
from editgauge.audits.probes.probes import Probe
from editgauge.protocols.editgauge._features import FEATURES
from editgauge.protocols.editgauge._models import RATINGS_FILE, FittedModels, TreeModel, _node, read_fitted

PHOTOS = 10
RATINGS = (files("editgauge.protocols.editgauge") / RATINGS_FILE).read_text("utf-8")


def measured(number: int, chance: np.random.Generator) -> ProbeFeatures:
    """A probe whose truth is reported by one feature of each question, and half of whose other features are missing."""
    tells = chance.random()
    kind, family, severity = ("right", "", 0.0) if number % 3 else ("halo-100", "artifact/halo", 1.0)
    if number % 3 == 1:
        kind, family, severity = "blur-100", "rest/blur", 1.0
    values: dict[Any, Any] = {
        question: {name: chance.random() if chance.random() < 0.5 else None for name in names}
        for question, names in FEATURES.items()
    }
    values["disturbed"]["rest_unlike"] = float(family == "rest/blur") + 0.2 * chance.random()
    values["flawed"] |= {"rim_gain": float(family == "artifact/halo") + 0.2 * chance.random(), "beyond": 0.0}
    probe = Probe(
        id=str(number), edit=str(number), photo=str(number % PHOTOS), type="color", kind=kind, family=family,
        severity=severity, done=tells > 0.5, split="tuning",
    )  # fmt: skip
    return ProbeFeatures(probe, True, values)


@pytest.fixture(scope="module")
def probes() -> list[ProbeFeatures]:
    chance = np.random.default_rng(0)
    return [measured(number, chance) for number in range(240)]


@pytest.fixture(scope="module")
def told(probes: list[ProbeFeatures]) -> dict[str, Any]:
    return fit(probes)


@pytest.fixture(scope="module")
def model(told: dict[str, Any]) -> FittedModels:
    return read_fitted(json.dumps(told), RATINGS)


@pytest.mark.slow
def test_what_is_read_back_tells_true_from_false(model: FittedModels, probes: list[ProbeFeatures]) -> None:
    for question, truth in (("disturbed", truth_of_disturbed), ("flawed", truth_of_flawed)):
        asked = [(each, known) for each in probes if (known := truth(each.probe)) is not None]
        answers = [model.models[question].answer(each.values[question]).value for each, _ in asked]  # type: ignore[index]
        right = [(answer > 0.5) == (known > 0.5) for answer, (_, known) in zip(answers, asked, strict=True)]
        assert np.mean(right) > 0.95, question


def test_effects_and_start_add_up_to_the_answer(model: FittedModels, probes: list[ProbeFeatures]) -> None:
    disturbed = model.models["disturbed"]
    assert isinstance(disturbed, TreeModel)
    for each in probes[:20]:
        answer = disturbed.answer(each.values["disturbed"])
        odds = disturbed.start + sum(answer.effects.values())
        assert answer.value == pytest.approx(1 / (1 + np.exp(-odds)))


def test_what_tells_the_truth_is_what_moves_the_answer(model: FittedModels, probes: list[ProbeFeatures]) -> None:
    effects = [model.models["disturbed"].answer(each.values["disturbed"]).effects for each in probes]
    moved = {name: np.mean([abs(each.get(name, 0.0)) for each in effects]) for name in FEATURES["disturbed"]}

    assert max(moved, key=lambda name: moved[name]) == "rest_unlike"
    assert moved["rest_unlike"] > 5 * sorted(moved.values())[-2]


@pytest.mark.slow
def test_the_held_back_half_changes_nothing(told: dict[str, Any], probes: list[ProbeFeatures]) -> None:
    misleading = [
        replace(each, probe=replace(each.probe, split="held_back", done=not each.probe.done)) for each in probes
    ]

    assert fit([*probes, *misleading]) == told


def test_one_question_is_fitted_alone_and_the_others_stay(told: dict[str, Any], probes: list[ProbeFeatures]) -> None:
    alone = fit(probes[: len(probes) // 2], ["flawed"])

    both = joined(told, alone)

    assert list(alone["models"]) == ["flawed"]
    assert both["models"]["flawed"] == alone["models"]["flawed"] != told["models"]["flawed"]
    assert both["models"]["disturbed"] == told["models"]["disturbed"]


def test_what_is_written_says_what_was_fitted(probes: list[ProbeFeatures]) -> None:
    """The trees as the protocol reads them and as they grew give the same numbers."""
    truths = np.array([truth_of_disturbed(each.probe) for each in probes], float)
    values = np.array([[each.values["disturbed"]["rest_unlike"]] for each in probes])
    known = ~np.isnan(truths)
    trees = grown(values[known], truths[known], [1], 10, ramp=0.1)
    rows = [[list(row) for row in tree] for tree in trees.written()]
    nodes = tuple(tuple(_node(row, ("rest_unlike",)) for row in tree) for tree in rows)
    model = TreeModel(trees.start + sum(tree[0][0] for tree in rows), 1.0, nodes)

    for row, odds in zip(values[known], trees.staged(values[known])[-1], strict=True):
        assert model.answer({"rest_unlike": row[0]}).value == pytest.approx(1 / (1 + np.exp(-odds)), abs=1e-3)


def test_a_model_of_other_features_is_refused(told: dict[str, Any]) -> None:
    other = {**told, "models": {**told["models"], "flawed": {**told["models"]["flawed"], "features": "0"}}}

    with pytest.raises(ValueError, match="'flawed' was fitted on other features"):
        read_fitted(json.dumps(other), RATINGS)


@pytest.mark.parametrize(
    ("probe", "done", "disturbed", "flawed"),
    [
        ({"kind": "right", "done": True, "severity": 0.0}, 1.0, 0.0, 0.0),
        ({"kind": "nothing", "done": False}, 0.0, 0.0, None),
        ({"kind": "blur-50", "done": True, "family": "rest/blur", "severity": 0.5}, 1.0, 0.5, None),
        ({"kind": "halo-75", "done": True, "family": "artifact/halo", "severity": 0.75}, 1.0, 0.0, 0.75),
        ({"kind": "ghost-75", "done": None, "family": "artifact/ghost", "severity": 0.75}, None, 0.0, 0.75),
        ({"kind": "duplicated-25", "done": None, "family": "artifact/duplicated", "severity": 0.25}, None, None, 0.25),
        ({"kind": "black", "done": False}, 0.0, 1.0, None),
        ({"kind": "jpeg-90", "done": True, "family": "jpeg", "severity": 0.1, "harmless": True}, 1.0, 0.0, 0.0),
        ({"kind": "jpeg-30", "done": True, "family": "jpeg", "severity": 0.7}, 1.0, None, None),
    ],
)
def test_what_is_true_of_a_probe(
    probe: dict[str, Any], done: float | None, disturbed: float | None, flawed: float | None
) -> None:
    given = Probe(id="a", edit="a", photo="a", type="color", **probe)

    assert (truth_of_done(given), truth_of_disturbed(given), truth_of_flawed(given)) == (done, disturbed, flawed)
