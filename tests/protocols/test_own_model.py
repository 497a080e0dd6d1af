"""The fitted models that come with the package: they fit the features, and never reward what is beyond doubt worse."""

from __future__ import annotations

import json
from importlib.resources import files
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from editgauge.protocols.editgauge._features import FEATURES, Question
from editgauge.protocols.editgauge._models import FILE, TREES, Node, TreeModel, fitted

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
PLAINER = ("rim_gain", "rim_change", "soft_beside", "blurred", "shines_through", "again", "beyond_near")
BETTER = (
    "presence",
    "presence_gain",
    "new_seen",
    "new_by_both",
    "gone",
    "color_rank",
    "style_fit",
    "place_fit",
    "size_fit",
)
maybe = st.none() | st.floats(-1, 2)


def every(question: Question) -> st.SearchStrategy[dict[str, float | None]]:
    return st.fixed_dictionaries(dict.fromkeys(FEATURES[question], maybe))


def test_the_file_was_made_from_these_features_and_says_how() -> None:
    models = fitted()

    assert set(models.models) == set(FEATURES)
    assert models.provenance["probes"]["split"] == "tuning"
    written = json.loads((files("editgauge.protocols.editgauge") / FILE).read_text("utf-8"))
    assert all(model["photographs"] >= 10 for model in written["models"].values())
    assert models.provenance["probes"]["command"].startswith("python -m editgauge.audits.fit.fit")
    assert models.provenance["ratings"]["command"].startswith("python -m editgauge.audits.fit.ratings")
    assert models.provenance["ratings"]["photographs"] >= 40


@pytest.mark.parametrize("question", list(FEATURES))
@given(data=st.data())
def test_whatever_is_seen_the_answer_is_a_chance(question: Question, data: st.DataObject) -> None:
    answer = fitted().models[question].answer(data.draw(every(question)))

    assert 0 < answer.value < 1


def test_when_nothing_is_known_the_answer_is_no_certainty() -> None:
    for question in TREES:
        names = FEATURES[question]
        assert 0.02 < fitted().models[question].answer(dict.fromkeys(names)).value < 0.98


@given(values=every("disturbed"), name=st.sampled_from(WORSE), low=st.floats(0, 1), more=st.floats(0, 1))
def test_a_worse_rest_is_never_better_preserved(
    values: dict[str, float | None], name: str, low: float, more: float
) -> None:
    model = fitted().models["disturbed"]
    one, other = (model.answer({**values, name: level}).value for level in (low, low + more))

    assert other >= one - 1e-4  # the numbers are rounded


@given(values=every("asked"), name=st.sampled_from(BETTER), low=st.floats(-1, 1), more=st.floats(0, 1))
def test_a_better_sign_never_speaks_against_the_edit(
    values: dict[str, float | None], name: str, low: float, more: float
) -> None:
    model = fitted().models["asked"]
    one, other = (model.answer({**values, name: level}).value for level in (low, low + more))

    assert other >= one - 1e-4


@given(values=every("flawed"), name=st.sampled_from(PLAINER), low=st.floats(-1, 1), more=st.floats(0, 1))
def test_a_plainer_sign_never_speaks_against_an_artifact(
    values: dict[str, float | None], name: str, low: float, more: float
) -> None:
    model = fitted().models["flawed"]
    one, other = (model.answer({**values, name: level}).value for level in (low, low + more))

    assert other >= one - 1e-4


@pytest.mark.parametrize(
    ("value", "odds"), [(None, 1.0), (-1.0, -1.0), (0.0, -1.0), (0.5, 0.0), (0.75, 0.5), (1.0, 1.0), (2.0, 1.0)]
)
def test_between_two_values_the_answer_goes_from_one_to_the_other(value: float | None, odds: float) -> None:
    ramp = Node(0.0, "a", low=0.0, high=1.0, left=1, right=2, missing=2)
    answer = TreeModel(start=0.0, slope=1.0, trees=((ramp, Node(-1.0), Node(1.0)),)).answer({"a": value})

    assert answer.effects == {"a": pytest.approx(odds)}


def test_a_slightly_more_disturbed_rest_is_slightly_less_preserved() -> None:
    """Degrees have no steps: of a hundred rests, each disturbed a little more, hardly two are reported the same."""
    model, names = fitted().models["disturbed"], FEATURES["disturbed"]
    odds = [sum(model.answer(dict.fromkeys(names, level / 100)).effects.values()) for level in range(100)]
    rises = [later - sooner for sooner, later in pairwise(odds)]

    assert min(rises) >= -1e-3
    assert sum(rise > 1e-6 for rise in rises) > 60
    assert max(rises) < (odds[-1] - odds[0]) / 4


def test_a_thing_that_is_not_seen_is_never_done_whatever_else_changed() -> None:
    """No pass without evidence of what was asked for: `edit` is this chance times one that is at most 1."""
    nothing: dict[str, float | None] = dict.fromkeys(FEATURES["asked"])
    of_presence = ("untouched", "presence", "presence_gain", "new_seen", "new_by_both")
    unseen = {**nothing, **dict.fromkeys(of_presence, 0.0), "asks_presence": 1.0}

    assert fitted().models["asked"].answer(unseen).value < 0.5
    assert fitted().models["asked"].answer({**unseen, "replaced": 0.0}).value < 0.5
    assert fitted().models["asked"].answer({**nothing, "gone": 0.0}).value < 0.5
