"""English for messages: articles, plurals, counts, lists."""

from __future__ import annotations

import pytest

from editgauge.core.text import counted, join_words, plural, with_article


@pytest.mark.parametrize(
    ("noun", "expected"),
    [
        ("glass", "a glass"),
        ("bus", "a bus"),
        ("European car", "a European car"),
        ("sunglasses", "sunglasses"),
        ("skis", "skis"),
        ("hour", "an hour"),
        ("umbrella", "an umbrella"),
    ],
)
def test_with_article(noun: str, expected: str) -> None:
    assert with_article(noun) == expected


def test_plural() -> None:
    assert [plural(noun) for noun in ("sheep", "box", "key", "city")] == ["sheep", "boxes", "keys", "cities"]


def test_counted() -> None:
    assert [counted(count, "outcome") for count in (0, 1, 1000)] == ["0 outcomes", "1 outcome", "1,000 outcomes"]


def test_join_words() -> None:
    assert [join_words(list(words)) for words in ("a", "ab", "abc")] == ["a", "a and b", "a, b and c"]
