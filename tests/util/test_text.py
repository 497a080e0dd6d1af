"""English for messages: articles, plurals, counts, lists."""

from __future__ import annotations

import pytest

from editgauge._util.text import csv_text, format_count, from_csv_text, join_words, plural, printable, with_article


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
    assert [format_count(count, "outcome") for count in (0, 1, 1000)] == ["0 outcomes", "1 outcome", "1,000 outcomes"]


def test_join_words() -> None:
    assert [join_words(list(words)) for words in ("a", "ab", "abc")] == ["a", "a and b", "a, b and c"]


@pytest.mark.parametrize(
    "text",
    [
        "\x1b[2J\x1b[1;1Hgone",
        "\x1b]0;title\x07gone",
        "\x1b]8;;http://evil\x1b\\gone",
        "\x1bPq\x1b\\gone",
        "\x9b2Jgone",
        "\x08\x08\x00gone\r",
        "\u202egone\u2066",
        "gone\ud800",
    ],
)
def test_nothing_that_steers_a_terminal_is_printed(text: str) -> None:
    assert printable(text).removeprefix("2J") == "gone"
    assert printable(text, colors=True).removeprefix("2J") == "gone"


def test_letters_of_all_scripts_stay() -> None:
    text = "猫 és кот 🐈 \u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 👩\u200d👩\u200d👧\tand\nmore"

    assert printable(text) == text


def test_colors_stay_where_they_are_ours() -> None:
    assert printable("\x1b[1;31mred\x1b[0m\x1b[2J", colors=True) == "\x1b[1;31mred\x1b[0m"


@pytest.mark.parametrize(
    "text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "'=1", "''-1", "'tis", "a=b", "", "5"]
)
def test_formulas_are_texts_in_a_spreadsheet_and_come_back_as_they_were(text: str) -> None:
    cell = csv_text(text)

    assert not cell.startswith(("=", "+", "-", "@", "\t", "\r"))
    assert from_csv_text(cell) == text
