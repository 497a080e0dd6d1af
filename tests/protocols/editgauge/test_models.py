"""The fitted models that come with the package match the features, and never reward what is worse."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from editgauge.protocols.editgauge._models import FEATURES, Curve, CurveModel, LinearModel, Model, fitted

BETTER = ("presence", "presence_gain", "new_seen", "new_by_both", "gone", "color_rank", "style_fit", "place_fit")
WORSE_QUALITY = ("novelty", "most_changed", "clipped", "detail_lost", "detail_gained")
NO_DISTURBANCE = dict.fromkeys(("color", "chroma", "blur", "noise", "structure"), 0.0)
optional = st.none() | st.floats(-1, 2)


def any_values(model: Model) -> st.SearchStrategy[dict[str, float | None]]:
    return st.fixed_dictionaries(dict.fromkeys(FEATURES[model], optional))


def test_the_file_says_how_it_was_made() -> None:
    models = fitted()

    assert set(models.linear) | {"fallback"} == set(FEATURES)
    assert models.provenance["command"] == "python -m editgauge.audits.fit"
    assert models.provenance["photographs"] >= 40
    assert [(level.answer, level.level) for level in models.confidence] == [
        (answer, level) for answer in ("yes", "no") for level in ("high", "medium", "low", "low")
    ]


def test_confidence_levels_keep_their_promise() -> None:
    for level in fitted().confidence:
        promise = {"high": 0.95, "medium": 0.8, "low": 0.0}[level.level]
        assert level.right >= promise * level.total - 1  # counts are means over several divisions into folds


@pytest.mark.parametrize("model", [name for name in FEATURES if name != "fallback"])
@given(data=st.data())
def test_every_answer_is_a_probability(model: Model, data: st.DataObject) -> None:
    assert 0 < fitted().linear[model].predict(data.draw(any_values(model))).value < 1


@given(values=any_values("fallback"))
def test_the_fallback_is_a_probability(values: dict[str, float | None]) -> None:
    assert 0 < fitted().fallback.predict(values).value < 1


@pytest.mark.parametrize("model", ["edit", "success"])
@given(data=st.data(), name=st.sampled_from(BETTER), low=st.floats(-1, 1), more=st.floats(0, 1))
def test_better_evidence_never_speaks_against_the_edit(
    model: Model, data: st.DataObject, name: str, low: float, more: float
) -> None:
    values = data.draw(any_values(model))
    less, greater = (fitted().linear[model].predict({**values, name: level}).value for level in (low, low + more))

    assert greater >= less


@pytest.mark.parametrize("model", ["edit", "success"])
def test_an_object_that_is_not_seen_is_never_done(model: Model) -> None:
    nothing: dict[str, float | None] = dict.fromkeys(FEATURES[model])
    of_presence = ("untouched", "presence", "presence_gain", "new_seen", "new_by_both")
    unseen = {**nothing, **dict.fromkeys(of_presence, 0.0), "asks_presence": 1.0}

    assert fitted().linear[model].predict(unseen).value < 0.5
    assert fitted().linear[model].predict({**unseen, "replaced": 0.0}).value < 0.5
    assert fitted().linear[model].predict({**nothing, "gone": 0.0}).value < 0.5


def test_kept_is_one_for_an_untouched_image_and_falls_with_every_disturbance() -> None:
    models = fitted()
    still: dict[str, float | None] = dict.fromkeys(("mean_changed", "unmatched", "median_changed"), 0.0)

    assert models.kept(still, NO_DISTURBANCE).value == 1
    for name in still:
        values = [models.kept({**still, name: level / 20}, NO_DISTURBANCE).value for level in range(21)]
        assert all(later <= sooner for sooner, later in pairwise(values))
    for name in NO_DISTURBANCE:
        values = [models.kept(still, NO_DISTURBANCE | {name: level / 20}).value for level in range(21)]
        assert all(later < sooner for sooner, later in pairwise(values))
        assert values[-1] == pytest.approx(0.1)


@given(values=any_values("quality"), name=st.sampled_from(WORSE_QUALITY), low=st.floats(0, 1), more=st.floats(0, 1))
def test_no_degradation_raises_quality(values: dict[str, float | None], name: str, low: float, more: float) -> None:
    models = fitted()
    token = np.zeros(384, np.float32)
    less, greater = (
        models.quality({**values, name: level}, token, NO_DISTURBANCE).value for level in (low, low + more)
    )
    untouched = models.quality(dict.fromkeys(FEATURES["quality"], 0.0), None, NO_DISTURBANCE).value

    assert greater <= less <= untouched


def test_a_missing_feature_adds_nothing() -> None:
    model = LinearModel(0.0, {"a": 2.0, "b": -1.0})

    assert model.predict({"a": None, "b": None}).value == 0.5
    assert model.predict({"a": 1.0, "b": None}).effects == {"a": 2.0}


@pytest.mark.parametrize(("value", "effects"), [(None, {}), (0.0, {"a": -1.0}), (0.5, {"a": 0.0}), (1.0, {"a": -0.5})])
def test_a_curve_bends_at_its_knots(value: float | None, effects: dict[str, float]) -> None:
    model = CurveModel(0.0, {"a": Curve((0.0, 0.5), (2.0, -3.0), 1.0)})

    assert model.predict({"a": value}).effects == effects
