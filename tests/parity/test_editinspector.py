"""EditInspector's table 2: which reading of BLEU, ROUGE and METEOR gives its printed numbers, and where none can.

The three pairs of captions are those of the table, a fact of a few words each.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from itertools import product
from statistics import fmean
from typing import Any

import pytest

bleu_score = pytest.importorskip("nltk.translate.bleu_score", reason="NOT TESTED: pip install 'editgauge[captions]'")
meteor_score = pytest.importorskip("nltk.translate.meteor_score")
PorterStemmer = pytest.importorskip("nltk.stem").PorterStemmer
rouge_scorer = pytest.importorskip("rouge_score.rouge_scorer")

PAIRS = (
    (
        "The main difference is the first image has a blue vase, and the second image has a brown vase.",
        "The main difference is the first image has a squirrel, and the second image does not.",
    ),
    (
        "A brown squirrel was added to the image.",
        "The difference between the two images is that the first image has a blue vase. The second image has a blue "
        "vase and a squirrel next to it.",
    ),
    (
        "In the first image, the tree was removed, and new flowerbed was added.",
        "In the first image, the flowerbed was removed, and new tree was added.",
    ),
)
REACHED = [[True, True, True], [True, True, False], [True, False, False]]
"""Whether any reading at all gives a row: of BLEU, ROUGE and METEOR."""
PRINTED = ((0.68, 0.81, 0.78), (0.55, 0.60, 0.57), (0.73, 0.79, 0.76))
"""BLEU, ROUGE and METEOR of each pair."""
STOP_WORDS = frozenset(
    re.findall(r"\w+", "a an the is are was were of to in on at and or that this it has does not by for")
)


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


TOKENS: tuple[Callable[[str], list[str]], ...] = (
    str.split,
    lambda text: text.lower().split(),
    words,
    lambda text: re.findall(r"\w+|[^\w\s]", text),
    lambda text: re.findall(r"\w+|[^\w\s]", text.lower()),
    lambda text: [PorterStemmer().stem(word) for word in words(text)],
    lambda text: [word for word in words(text) if word not in STOP_WORDS],
    lambda text: list(text.lower()),
    lambda text: list(text.lower().replace(" ", "")),
)
ROUNDED = 0.0051


class NoSynonyms:
    def synsets(self, word: str) -> list[Any]:
        return []


def bleu(reference: str, caption: str, split: Any, length: int, smoothing: int) -> float:
    smooth = getattr(bleu_score.SmoothingFunction(), f"method{smoothing}")
    return float(bleu_score.sentence_bleu([split(reference)], split(caption), (1 / length,) * length, smooth))


def meteor(reference: str, caption: str, split: Any, alpha: float, gamma: float) -> float:
    given = {"alpha": alpha, "beta": 3.0, "gamma": gamma}
    return float(meteor_score.single_meteor_score(split(reference), split(caption), wordnet=NoSynonyms(), **given))


def shares(matched: float, reference: int, caption: int) -> list[float]:
    """Precision, recall and F with four weights of the recall."""
    if not matched:
        return [0.0] * 6
    precision, recall = matched / caption, matched / reference
    weighted = ((1 + b * b) * precision * recall / (recall + b * b * precision) for b in (0.5, 1, 1.2, 2))
    return [precision, recall, *weighted]


def bleus(reference: str, caption: str) -> list[float]:
    """Up to four words with six ways of smoothing, and the mean over lengths."""
    listed = []
    for split, smoothing in product(TOKENS, (1, 2, 3, 4, 5, 7)):
        lengths = [bleu(reference, caption, split, length, smoothing) for length in (1, 2, 3, 4)]
        listed += [*lengths, *(fmean(lengths[:count]) for count in (2, 3, 4))]
    return listed


def rouges(reference: str, caption: str) -> list[float]:
    """Runs of one to four words, pairs with up to 2, 4 or any number of words between, the longest common sequence."""
    listed = []
    for split in TOKENS:
        sides = split(reference), split(caption)
        counters = [
            *([Counter(zip(*(side[i:] for i in range(n)), strict=False)) for side in sides] for n in (1, 2, 3, 4)),
            *([Counter(pairs(side, between)) for side in sides] for between in (2, 4, 100)),
        ]
        for one, two in counters:
            listed += shares((one & two).total(), one.total(), two.total())
        listed += shares(common_sequence(*sides), len(sides[0]), len(sides[1]))
    return listed


def pairs(side: list[str], between: int) -> list[tuple[str, str]]:
    return [(one, two) for place, one in enumerate(side) for two in side[place + 1 : place + between + 2]]


def common_sequence(one: list[str], two: list[str]) -> int:
    """The length of the longest common subsequence."""
    longest = [0] * (len(two) + 1)
    for word in one:
        before = 0
        for place, other in enumerate(two):
            before, kept = longest[place + 1], before
            longest[place + 1] = kept + 1 if word == other else max(longest[place], longest[place + 1])
    return longest[-1]


def meteors(reference: str, caption: str) -> list[float]:
    """Whole words, with the usual weights and around them."""
    grid = product(TOKENS[:7], (0.5, 0.8, 0.85, 0.9, 0.95), (0.0, 0.2, 0.5, 0.6, 1.0))
    return [meteor(reference, caption, split, alpha, gamma) for split, alpha, gamma in grid]


def rows_reached(metric: Callable[[str, str], list[float]], column: int) -> list[list[bool]]:
    """For every reading, which rows of the table it gives; either caption may be the reference."""
    by_row = [metric(first, second) + metric(second, first) for first, second in PAIRS]
    printed = [row[column] for row in PRINTED]
    return [
        [abs(value - wanted) < ROUNDED for value, wanted in zip(reading, printed, strict=True)]
        for reading in zip(*by_row, strict=True)
    ]


def test_the_first_row_takes_the_generated_caption_for_the_reference() -> None:
    truth, generated = PAIRS[0]
    scored = rouge_scorer.RougeScorer(["rouge1"]).score(truth, generated)["rouge1"]

    assert bleu(generated, truth, str.split, 1, 1) == pytest.approx(0.68, abs=ROUNDED)
    assert scored.precision == pytest.approx(0.81, abs=ROUNDED)  # recall, when the generated caption is the reference
    assert meteor(generated, truth, str.split, 0.8, 0.5) == pytest.approx(0.78, abs=ROUNDED)


def test_no_reading_gives_more_than_one_row() -> None:
    """The page states how many were tried."""
    tried = [rows_reached(metric, column) for column, metric in enumerate((bleus, rouges, meteors))]

    assert [len(item) for item in tried] == [756, 864, 350]
    assert all(sum(rows) <= 1 for item in tried for rows in item)
    assert [[sum(rows[row] for rows in item) > 0 for row in range(3)] for item in tried] == REACHED
