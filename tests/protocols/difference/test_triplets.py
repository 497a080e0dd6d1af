"""MP and HR of difference triplets: the paper's own examples, and laws that hold for any lists."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from editgauge.protocols.difference._triplets import (
    ACTIONS,
    Triplet,
    agreement,
    first_change,
    object_name,
    object_names,
    object_pairs,
    read_triplets,
    same_nouns,
)

NAMES = st.sampled_from(("cup", "dog", "red dog", "lamp"))
TRIPLETS = st.lists(
    st.builds(Triplet, st.none() | NAMES, st.none() | NAMES, st.sampled_from(ACTIONS)), max_size=6
)  # fmt: skip
FLAGS = st.fixed_dictionaries({"soft": st.booleans(), "released": st.booleans()})


def alike(one: str, other: str) -> bool:
    """Attributes aside."""
    return one.rsplit(maxsplit=1)[-1] == other.rsplit(maxsplit=1)[-1]


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
    result = agreement(human, model, alike, **flags)
    for rate, of in ((result.precision, human), (result.hallucination, model)):
        assert (rate is None) == (not of)
        assert rate is None or 0 <= rate <= 1


@given(TRIPLETS.filter(bool), FLAGS)
def test_the_same_list_is_found_whole(told: list[Triplet], flags: dict[str, bool]) -> None:
    result = agreement(told, told, alike, **flags)
    assert (result.precision, result.hallucination) == (1.0, 0.0)


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
    result = agreement(human, model, lambda one, other: one == "dog" or other == "red dog")
    assert result.matched_count == 2


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


CASES = {
    "The red car was replaced by a blue truck.": ["Replace: red car → blue truck"],
    "A dog has been added on the left.": ["Add: nothing → dog"],
    "The lamp that stood on the desk is no longer visible.": ["Remove: lamp → nothing"],
    "The cup was removed and replaced with a vase of flowers.": ["Replace: cup → vase"],
    "Two tall trees appeared behind the barn.": ["Add: nothing → tall trees"],
    "A white line replaced the two dots.": ["Replace: dots → white line"],
    "The white plate was changed to blue.": ["Change Attribute: white plate → blue plate"],
    "The wooden wall has been converted into a curtain.": ["Replace: wooden wall → curtain"],
    "The color of the cat was changed from black to white.": ["Change Attribute: cat → white cat"],
    "The grass is blurred.": ["Change Attribute: grass → blurred grass"],
    "The man is now wearing a hat.": ["Add: nothing → hat"],
    "The bowl now contains nuts instead of berries.": ["Replace: berries → nuts"],
    "The dog had its collar removed.": ["Remove: collar → nothing"],
    "Hat added to the snowman": ["Add: nothing → hat"],
    "The sky was enhanced with the addition of a rainbow.": ["Add: nothing → rainbow"],
    "The tree was removed, and a new bench was added.": ["Remove: tree → nothing", "Add: nothing → bench"],
    "A fork and a knife were removed. The plate became smaller.": [
        "Remove: fork → nothing",
        "Remove: knife → nothing",
        "Change Attribute: plate → smaller plate",
    ],
    "The frisbee that the boys were playing with was replaced with a ball, which is now seen in the air.": [
        "Replace: frisbee → ball"
    ],
    "The main difference is that the first image has a cup, and the second image does not.": ["Remove: cup → nothing"],
    "The first image has a bed. The second image has a bed and a cat next to it.": ["Add: nothing → cat"],
    "In the first image there is a green chair, while in the second image there is a red chair.": [
        "Change Attribute: green chair → red chair"
    ],
    "There is no difference between the images.": [],
    "Nothing was added, and no objects were removed.": [],
    "The cup was not removed.": [],
    "The sofa is unchanged.": [],
    "": [],
}


@pytest.mark.parametrize("caption", CASES)
def test_the_rules_read(caption: str) -> None:
    assert [str(result) for result in read_triplets(caption)] == CASES[caption]


@given(st.text(max_size=200))
def test_no_text_breaks_them(text: str) -> None:
    for result in read_triplets(text):
        assert result.action in ACTIONS
        assert result.source or result.target


@given(
    st.lists(st.sampled_from(("was", "added", "replaced", "with", "a", "dog", ",", "and", "that", ".")), max_size=60)
)
def test_a_heap_of_the_words_they_know_is_read_too(words: list[str]) -> None:
    first_change(" ".join(words))
    read_triplets(" ".join(words))


def test_the_first_change_is_the_first_sentence_that_tells_one() -> None:
    assert first_change("Both show a kitchen. A pan was added. The wall is blurred.") == "A pan was added."
    assert first_change("Nothing to see here.") == "Nothing to see here."
    assert first_change(" ") == ""


def test_names_lose_what_only_says_where_and_which() -> None:
    assert object_name("the other two people standing in the rain") == "people"
    assert list(object_names("his hat, the scarf and a pair of gloves")) == ["hat", "scarf", "gloves"]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("carpet floor", "the wooden floors", True),
        ("sofa", "a grey couch near the wall", True),
        ("bottle of wine", "red bottle", True),
        ("cat", "caterpillar", False),
        ("text", "image", False),
    ],
)
def test_nouns_decide_whether_two_names_are_of_one_kind(one: str, other: str, same: bool) -> None:
    assert same_nouns(one, other) is same
    assert same_nouns(other, one) is same
