"""MP and HR of difference triplets: the paper's own examples, and laws that hold for any lists."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from editgauge.protocols.difference._triplets import ACTIONS, Triplet, agreement, object_pairs

NAMES = st.sampled_from(("cup", "dog", "red dog", "lamp"))
TRIPLETS = st.lists(
    st.builds(Triplet, st.none() | NAMES, st.none() | NAMES, st.sampled_from(ACTIONS)), max_size=6
)  # fmt: skip
FLAGS = st.fixed_dictionaries({"soft": st.booleans(), "released": st.booleans()})


def alike(one: str, other: str) -> bool:
    """Attributes aside."""
    return one.split()[-1] == other.split()[-1]


@given(TRIPLETS, TRIPLETS, FLAGS, st.randoms())
def test_the_order_of_differences_does_not_matter(
    human: list[Triplet], model: list[Triplet], flags: dict[str, bool], random: object
) -> None:
    turned = agreement(human[::-1], model[::-1], alike, **flags)
    assert turned == agreement(human, model, alike, **flags)


@given(TRIPLETS, TRIPLETS, FLAGS)
def test_both_rates_are_shares_and_undefined_only_of_nothing(
    human: list[Triplet], model: list[Triplet], flags: dict[str, bool]
) -> None:
    found = agreement(human, model, alike, **flags)
    for rate, of in ((found.precision, human), (found.hallucination, model)):
        assert (rate is None) == (not of)
        assert rate is None or 0 <= rate <= 1


@given(TRIPLETS.filter(bool), FLAGS)
def test_the_same_list_is_found_whole(told: list[Triplet], flags: dict[str, bool]) -> None:
    found = agreement(told, told, alike, **flags)
    assert (found.precision, found.hallucination) == (1.0, 0.0)


@given(TRIPLETS.filter(bool), TRIPLETS.filter(bool), st.booleans())
def test_soft_and_released_matches_are_never_fewer(human: list[Triplet], model: list[Triplet], soft: bool) -> None:
    strict = agreement(human, model, alike, soft=soft)
    for wider in (agreement(human, model, alike, soft=True), agreement(human, model, alike, soft=soft, released=True)):
        assert wider.matched_count >= strict.matched_count
        assert wider.made_up <= strict.made_up


@given(TRIPLETS, TRIPLETS, FLAGS)
def test_only_announced_objects_are_compared(
    human: list[Triplet], model: list[Triplet], flags: dict[str, bool]
) -> None:
    announced = set(object_pairs(human, model))

    def watched(one: str, other: str) -> bool:
        assert (one, other) in announced
        return alike(one, other)

    agreement(human, model, watched, **flags)


def test_pairs_are_chosen_so_that_most_differences_find_one() -> None:
    """The first of the human's could take either; greedily it would take the only one that fits the second."""
    human = [Triplet(None, "dog", "Add"), Triplet(None, "red dog", "Add")]
    model = [Triplet(None, "red dog", "Add"), Triplet(None, "dog", "Add")]
    found = agreement(human, model, lambda one, other: one == "dog" or other == "red dog")
    assert found.matched_count == 2


def test_two_of_one_kind_count_for_one_only() -> None:
    dogs = [Triplet(None, "dog", "Add"), Triplet(None, "red dog", "Add")]
    assert agreement(dogs, dogs[:1], alike).precision == 0.5
    assert agreement(dogs, dogs[:1], alike, released=True).precision == 1.0
    assert agreement(dogs[:1], dogs, alike).hallucination == 0.5
    assert agreement(dogs[:1], dogs, alike, released=True).hallucination == 0.0


@pytest.mark.parametrize(
    ("human", "model", "strict", "soft", "released"),
    [
        (Triplet("cup", "lamp", "Replace"), Triplet("lamp", "cup", "Replace"), 0, 1, 0),
        (Triplet("cup", "lamp", "Replace"), Triplet("cup", "lamp", "Change Attribute"), 0, 0, 1),
        (Triplet(None, "dog", "Add"), Triplet("lamp", "dog", "Add"), 0, 0, 1),
        (Triplet("dog", None, "Remove"), Triplet("dog", "lamp", "Remove"), 0, 0, 1),
        (Triplet("dog", None, "Remove"), Triplet(None, "dog", "Add"), 0, 0, 0),
    ],
)
def test_what_each_reading_forgives(human: Triplet, model: Triplet, strict: int, soft: int, released: int) -> None:
    assert agreement([human], [model], alike).matched_count == strict
    assert agreement([human], [model], alike, soft=True).matched_count == soft
    assert agreement([human], [model], alike, released=True).matched_count == released
