"""Captions of many shapes, read by rules."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from editgauge.protocols.difference._triplets import (
    ACTIONS,
    first_change,
    object_name,
    object_names,
    read_triplets,
    same_nouns,
)

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
    assert [str(found) for found in read_triplets(caption)] == CASES[caption]


@given(st.text(max_size=200))
def test_no_text_breaks_them(text: str) -> None:
    for found in read_triplets(text):
        assert found.action in ACTIONS
        assert found.source or found.target


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
