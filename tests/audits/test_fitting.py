"""Fitting the protocol `editgauge` on measured outcomes with known labels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from editgauge.audits._fitting import as_models, confidence_levels, fit, out_of_fold, predict
from editgauge.audits._measured import PROBES, SOURCE, MeasuredOutcome
from editgauge.protocols.editgauge._models import FEATURES

PHOTOS = 12
STILL = dict.fromkeys(("color", "chroma", "blur", "noise", "structure"), 0.0)


def outcome(number: int, random: np.random.Generator) -> MeasuredOutcome:
    """Return an outcome whose labels follow from one feature each."""
    presence, change, novelty = random.random(3)
    values: dict[str, dict[str, float | None]] = {
        name: {feature: float(random.random()) for feature in names} for name, names in FEATURES.items()
    }
    request: dict[str, float | None] = dict.fromkeys(FEATURES["success"])
    values["success"] = request | {"untouched": 0.0, "asks_presence": 1.0, "presence": float(presence)}
    values["contained"] = dict.fromkeys(FEATURES["contained"], float(change))
    values["kept"] = dict.fromkeys(FEATURES["kept"], float(change))
    values["quality"]["novelty"] = float(novelty)
    values["fallback"] |= {"mean_changed": float(change), "median_changed": 0.0}
    labels = {
        "success": float(presence > 0.6 and change < 0.5),
        "done": float(presence > 0.6),
        "kept": float(change < 0.5),
        "quality": float(novelty < 0.5),
    }
    token = [float(value) for value in random.normal(size=8)]
    return MeasuredOutcome(
        dataset="text-guided",
        edit=str(number),
        photo=str(number % PHOTOS),
        method=f"m{number % 3}",
        labels=labels,
        is_looked_for=number % 4 > 0,
        is_local=True,
        severities=STILL,
        kept_severities=STILL,
        values=values,
        token=token,
    )


@pytest.fixture(scope="module")
def records() -> list[MeasuredOutcome]:
    random = np.random.default_rng(0)
    return [outcome(number, random) for number in range(360)]


def label(records: list[MeasuredOutcome], name: str) -> np.ndarray:
    return np.array([record.labels[name] for record in records])


def test_every_model_learns_its_own_label(records: list[MeasuredOutcome]) -> None:
    scores = predict(records, as_models(fit(records)))
    looked_for = np.array([record.is_looked_for for record in records])

    assert np.isfinite(scores.edit[looked_for]).all()
    assert np.isnan(scores.edit[~looked_for]).all()
    for name in ("kept", "quality"):
        assert np.corrcoef(getattr(scores, name), label(records, name))[0, 1] > 0.5
    for name in ("edit", "success"):
        target = "done" if name == "edit" else name
        assert np.corrcoef(getattr(scores, name)[looked_for], label(records, target)[looked_for])[0, 1] > 0.5


def test_the_fallback_answers_only_where_it_is_sure(records: list[MeasuredOutcome]) -> None:
    scores = predict(records, as_models(fit(records)))
    unknown = scores.success[[not record.is_looked_for for record in records]]
    answered = unknown[np.isfinite(unknown)]

    assert len(answered)
    assert ((answered < 0.1) | (answered > 0.9)).all()


@pytest.mark.slow
def test_unseen_photographs_are_scored_by_fits_without_them(records: list[MeasuredOutcome]) -> None:
    seen = predict(records, as_models(fit(records)))
    unseen = out_of_fold(records, unseen_methods=False)

    assert not np.allclose(seen.quality, unseen.quality)
    assert np.corrcoef(unseen.kept, label(records, "kept"))[0, 1] > 0.5


def test_levels_of_confidence_are_right_as_often_as_promised(records: list[MeasuredOutcome]) -> None:
    levels = confidence_levels(records, [predict(records, as_models(fit(records)))])

    assert [(level["answer"], level["level"]) for level in levels] == [
        (answer, level) for answer in ("yes", "no") for level in ("high", "medium", "low", "low")
    ]
    for level in levels:
        promise = {"high": 0.95, "medium": 0.8, "low": 0.0}[level["level"]]
        assert level["right"] >= promise * level["total"] - 1


def test_outcomes_that_nobody_rated_weigh_less(records: list[MeasuredOutcome]) -> None:
    assert [replace(records[0], method=method).weight for method in ("m0", SOURCE, PROBES)] == [1.0, 0.3, 0.2]
