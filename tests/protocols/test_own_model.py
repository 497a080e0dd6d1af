"""The fitted models that come with the package: they fit the features, and never reward what is beyond doubt worse."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from editgauge.core.types import EDIT_TYPES
from editgauge.protocols.own import editgauge
from editgauge.protocols.own.features import FEATURES, Question
from editgauge.protocols.own.model import fitted

WORSE = (
    "rest_changed",
    "rest_away",
    "rest_far",
    "rest_cast",
    "rest_unlike",
    "rest_blurred",
    "rest_noisier",
    "frame_lost",
)
BETTER = ("comes_after", "goes_gain", "colour_rank", "style_fit", "place_fit", "size_fit", "editval", "pixlens")
maybe = st.none() | st.floats(-1, 2)


def every(question: Question) -> st.SearchStrategy[dict[str, float | None]]:
    return st.fixed_dictionaries(dict.fromkeys(FEATURES[question], maybe))


def test_the_file_was_made_from_these_features_and_says_how() -> None:
    told = fitted()

    assert set(told.models) == set(FEATURES)
    assert told.provenance["split"] == "tuning"
    assert told.provenance["photographs"] >= 10
    assert told.provenance["command"].startswith("python -m editgauge.auditing.fitting")
    assert set(told.types) < set(EDIT_TYPES)


@pytest.mark.parametrize("question", list(FEATURES))
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_whatever_is_seen_the_answer_is_a_chance(question: Question, data: st.DataObject) -> None:
    answer = fitted().models[question].answer(data.draw(every(question)))

    assert 0 < answer.value < 1


def test_when_nothing_is_known_the_answer_is_no_certainty() -> None:
    for question, names in FEATURES.items():
        assert 0.02 < fitted().models[question].answer(dict.fromkeys(names)).value < 0.98


@settings(max_examples=60, deadline=None)
@given(values=every("disturbed"), name=st.sampled_from(WORSE), low=st.floats(0, 1), more=st.floats(0, 1))
def test_a_worse_rest_is_never_better_preserved(
    values: dict[str, float | None], name: str, low: float, more: float
) -> None:
    model = fitted().models["disturbed"]
    one, other = (model.answer({**values, name: level}).value for level in (low, low + more))

    assert other >= one - 1e-4  # the numbers are rounded


@settings(max_examples=60, deadline=None)
@given(values=every("done"), name=st.sampled_from(BETTER), low=st.floats(-1, 1), more=st.floats(0, 1))
def test_a_better_sign_never_speaks_against_the_edit(
    values: dict[str, float | None], name: str, low: float, more: float
) -> None:
    model = fitted().models["done"]
    one, other = (model.answer({**values, name: level}).value for level in (low, low + more))

    assert other >= one - 1e-4


def test_the_protocol_says_for_which_types_it_knows_nothing() -> None:
    without = {"alter_parts", "shape", "action", "viewpoint"}

    assert not without & set(fitted().types)
    assert all(any(name in text for text in editgauge.deviations) for name in without)
